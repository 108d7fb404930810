#include "layout/separate/separator.h"

#include <cmath>
#include <limits>

#include "layout/separate/hylog_separator.h"
#include "layout/separate/share_separator.h"
#include "layout/separate/wolf_separator.h"

namespace latchkey {
namespace {

/// Overwrite and LFS: one answer for every page.
class UniformSeparator final : public Separator {
 public:
  explicit UniformSeparator(Placement placement) : placement_(placement) {}
  bool writes_in_place() const override { return placement_ == Placement::kInPlace; }
  bool appends() const override { return !writes_in_place(); }
  // A log of users and one of the cleaner; LFS also has the cold log, as a last resort.
  uint32_t most_logs() const override { return writes_in_place() ? 2 : 3; }
  Placement OnWrite(PageId) override { return placement_; }
  Placement OnMove(PageId) const override { return placement_; }
  double hot_page_proportion() const override {
    return placement_ == Placement::kInPlace ? 0.0 : 1.0;
  }

 private:
  const Placement placement_;
};

template <Placement placement>
std::unique_ptr<Separator> MakeUniform(Runtime&, std::span<const double>) {
  return std::make_unique<UniformSeparator>(placement);
}

template <typename Adaptive>
std::unique_ptr<Separator> Make(Runtime& runtime, std::span<const double>) {
  return std::make_unique<Adaptive>(runtime);
}

// Optional: without it, the hot pages are chosen by measured cost.
constexpr ChoiceParameter kHylog[] = {
    {"h", std::numeric_limits<double>::quiet_NaN(), 0, 1, ParameterKind::kNumber,
     "fixed share of the pages, the most written ones, that are appended"},
};

std::unique_ptr<Separator> MakeHylog(Runtime& runtime, std::span<const double> parameters) {
  if (std::isnan(parameters[0])) return std::make_unique<HylogSeparator>(runtime);
  return std::make_unique<ShareSeparator>(runtime, parameters[0]);
}

// One line per layout.
constexpr LayoutInfo kLayouts[] = {
    {{"overwrite", "every page in place", {}}, MakeUniform<Placement::kInPlace>},
    {{"lfs", "every page appended", {}}, MakeUniform<Placement::kHot>},
    {{"wolf", "every page appended, in two streams by update frequency", {}}, Make<WolfSeparator>},
    {{"hylog", "hot pages appended, cold ones in place, by measured cost or a fixed share h",
      kHylog},
     MakeHylog},
};

}  // namespace

const Registry<LayoutInfo>& Layouts() {
  static constexpr Registry<LayoutInfo> registry("layout", kLayouts);
  return registry;
}

}  // namespace latchkey
