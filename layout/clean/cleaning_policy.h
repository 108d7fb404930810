// Segment cleaning policies: a policy chooses which segments are emptied, and whether their live
// pages go to a fresh segment (cleaning) or into the holes of other segments (hole-plugging).
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "layout/map/segment_table.h"
#include "layout/separate/separator.h"
#include "layout/separate/write_cost_model.h"
#include "storage/base/registry.h"

namespace latchkey {

enum class CleaningMethod : uint8_t { kClean, kPlug };

struct CleaningSituation {
  PageCosts costs;
  /// Mean u of recent victims (nullopt before the first), and the method that emptied them.
  std::optional<double> victim_utilization;
  CleaningMethod method_of_late = CleaningMethod::kClean;
  double space_utilization = 0;  ///< u_d of the partition that is cleaned
};

/// Stateless except for a hysteresis in Choose. Not thread-safe.
class CleaningPolicy {
 public:
  virtual ~CleaningPolicy() = default;
  /// The segment of the highest priority is emptied first. `u` in [0, 1) is its utilisation,
  /// `age` > 0 the number of pages accepted since it was filled.
  virtual double Priority(double u, double age) const = 0;
  virtual CleaningMethod Choose(const CleaningSituation& situation) = 0;
  /// Whether Choose may ever return kPlug. Constant.
  virtual bool may_plug() const = 0;
};

/// One policy of the list.
struct CleaningPolicyInfo {
  ChoiceDescription description;
  std::unique_ptr<CleaningPolicy> (*make)(std::span<const double> parameters);
  /// Appended pages, users' and moved ones, are divided among streams by DeathTimes.
  bool by_death_time = false;
};

/// The list of segment cleaning policies: greedy, cost-benefit, hole-plugging, adaptive, by-pass,
/// death-time.
/// To add one: its class and one line in cleaning_policy.cc.
const Registry<CleaningPolicyInfo>& CleaningPolicies();
using CleaningPolicyChoice = Choice<CleaningPolicyInfo>;
/// The name that stands for the layout's own policy (LayoutInfo::segment_cleaning).
inline constexpr std::string_view kAutoCleaning = "auto";
/// The names that users may write: `auto`, and those of the list.
std::vector<std::string> SegmentCleaningNames();
/// The policy of that name, for `layout`. InvalidArgument names the known ones.
absl::StatusOr<CleaningPolicyChoice> ParseSegmentCleaning(std::string_view text,
                                                          const LayoutChoice& layout);

}  // namespace latchkey
