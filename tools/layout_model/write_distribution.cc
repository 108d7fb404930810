#include "tools/layout_model/write_distribution.h"

#include <algorithm>

#include "layout/separate/write_cost_model.h"
#include "storage/base/check.h"
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

constexpr size_t kShareSteps = 1000;

CountedWrites::CountedWrites(std::span<const double> writes, uint64_t pages) {
  LATCHKEY_CHECK(!writes.empty() && pages >= writes.size());
  std::vector<double> before(writes.size() + 1);  // writes of the pages before each page
  for (size_t i = 0; i < writes.size(); ++i) before[i + 1] = before[i] + writes[i];
  LATCHKEY_CHECK(before.back() > 0);
  for (size_t step = 0; step <= kShareSteps; ++step) {
    const double rank = static_cast<double>(pages) * static_cast<double>(step) / kShareSteps;
    const auto whole = std::min(writes.size(), static_cast<size_t>(rank));
    double sum = before[whole];
    if (whole < writes.size()) sum += (rank - static_cast<double>(whole)) * writes[whole];
    shares_.push_back(sum / before.back());
  }
}

double CountedWrites::Share(double h) const {
  const double at = std::clamp(h, 0.0, 1.0) * kShareSteps;
  const auto step = std::min(static_cast<size_t>(at), kShareSteps - 1);
  return shares_[step] + (at - static_cast<double>(step)) * (shares_[step + 1] - shares_[step]);
}

}  // namespace latchkey
