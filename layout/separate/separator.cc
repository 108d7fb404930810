#include "layout/separate/separator.h"

#include <cmath>
#include <limits>
#include <optional>

#include "layout/separate/hylog_separator.h"
#include "layout/separate/share_separator.h"
#include "layout/separate/thesis_separator.h"
#include "layout/separate/wolf_separator.h"
#include "storage/base/status_macros.h"

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

// All are optional: without them, the hot pages are chosen by measured cost.
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr std::string_view kSeparations[] = {"thesis"};
constexpr std::string_view kColdWrites[] = {"in-place", "holes"};
constexpr double kShortestInterval = 1e6, kLongestInterval = 86'400e9;  // a millisecond, a day
constexpr ChoiceParameter kHylog[] = {
    {"h", kNone, 0, 1, ParameterKind::kNumber,
     "fixed share of the pages, the most written ones, that are appended"},
    {"by", kNone, 0, 0, ParameterKind::kWord, "thesis: separates as published (6.2.2)",
     kSeparations},
    {"interval", kNone, kShortestInterval, kLongestInterval, ParameterKind::kDuration,
     "of the thesis's measurements, 1200s if not given"},
    {"cold", kNone, 0, 1, ParameterKind::kWord,
     "where the store would write cold pages twice: over their slots, or once into holes; by "
     "default hylog decides by cost, and with h or thesis it writes in place",
     kColdWrites},
};

// Without `cold_writes` our own HyLog decides by cost where cold pages go.
std::unique_ptr<Separator> MakeHylogOf(Runtime& runtime, std::span<const double> parameters,
                                       std::optional<ColdWrites> cold_writes) {
  const double h = parameters[0], interval = parameters[2];
  if (!std::isnan(parameters[1])) {
    return std::make_unique<ThesisSeparator>(
        runtime, std::isnan(h) ? std::nullopt : std::optional(h),
        std::isnan(interval) ? ThesisSeparator::kInterval : static_cast<Nanos>(interval));
  }
  if (std::isnan(h)) return std::make_unique<HylogSeparator>(runtime, !cold_writes.has_value());
  return std::make_unique<ShareSeparator>(runtime, h);
}

std::unique_ptr<Separator> MakeHylog(Runtime& runtime, std::span<const double> parameters) {
  std::optional<ColdWrites> cold_writes;
  if (!std::isnan(parameters[3])) cold_writes = static_cast<ColdWrites>(parameters[3]);
  std::unique_ptr<Separator> separator = MakeHylogOf(runtime, parameters, cold_writes);
  if (cold_writes) separator->SetColdWrites(*cold_writes);
  return separator;
}

// One line per layout.
constexpr LayoutInfo kLayouts[] = {
    {{"overwrite", "every page in place", {}}, MakeUniform<Placement::kInPlace>, "adaptive"},
    {{"lfs", "every page appended", {}}, MakeUniform<Placement::kHot>, "death-time"},
    {{"wolf", "every page appended, in two streams by update frequency", {}},
     Make<WolfSeparator>,
     "adaptive"},  // death-time would replace its two streams
    {{"hylog",
      "hot pages appended, cold ones in place or into holes, by measured cost, as published, or a "
      "fixed share h",
      kHylog},
     MakeHylog,
     "death-time"},
};

}  // namespace

absl::StatusOr<LayoutChoice> ParseLayout(std::string_view text) {
  LATCHKEY_ASSIGN_OR_RETURN(LayoutChoice choice, Layouts().Parse(text));
  const std::span<const double> values = choice.values();
  if (choice.name() == "hylog" && std::isnan(values[1]) && !std::isnan(values[2])) {
    return InvalidArgument(
        "layout {}: interval is the thesis's, and this is our own HyLog: write "
        "hylog:thesis:interval=..., or leave it out",
        text);
  }
  return choice;
}

const Registry<LayoutInfo>& Layouts() {
  static constexpr Registry<LayoutInfo> registry("layout", kLayouts);
  return registry;
}

}  // namespace latchkey
