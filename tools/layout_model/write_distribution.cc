#include "tools/layout_model/write_distribution.h"

#include "layout/separate/write_cost_model.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

using Parameters = std::span<const double>;

constexpr ChoiceParameter kSkew[] = {
    {"writes", 80, 1, 99, ParameterKind::kNumber, "% of the writes"},
    {"pages", 20, 1, 99, ParameterKind::kNumber, "% of the pages, the hottest ones, that get them"},
};

double HotColdShare(double h, Parameters p) {
  const double writes = p[0] / 100, pages = p[1] / 100;
  return h <= pages ? writes * h / pages : writes + (1 - writes) * (h - pages) / (1 - pages);
}

constexpr WriteDistributionInfo kDistributions[] = {
    {{"uniform", "all pages alike", {}}, [](double h, Parameters) { return UniformWriteShare(h); }},
    {{"knuth", "self-similar skew", kSkew},
     [](double h, Parameters p) { return KnuthWriteShare(p[0], p[1], h); }},
    {{"hotcold", "hot and cold pages, alike within each part", kSkew}, HotColdShare},
    {{"hill", "the thesis's TPC-C: Hill(105, .528, .546)", {}},
     [](double h, Parameters) { return HillWriteShare(h); }},
};

}  // namespace

const Registry<WriteDistributionInfo>& WriteDistributions() {
  static constexpr Registry<WriteDistributionInfo> registry("distribution", kDistributions);
  return registry;
}

double WriteShare(const WriteDistribution& distribution, double h) {
  return distribution.entry().share(h, distribution.values());
}

absl::StatusOr<WriteDistribution> ParseWriteDistribution(std::string_view text) {
  LATCHKEY_ASSIGN_OR_RETURN(WriteDistribution distribution, WriteDistributions().Parse(text));
  const Parameters p = distribution.values();
  if (p.size() == 2 && p[0] < p[1]) {
    return InvalidArgument(
        "{}: writes is {} and pages {}, but the hottest pages get at least their share: give "
        "writes from {} to 99",
        distribution.name(), p[0], p[1], p[1]);
  }
  return distribution;
}

}  // namespace latchkey
