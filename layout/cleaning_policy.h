// Segment cleaning choices: which segments are emptied, and whether their live pages go to a fresh
// segment (cleaning) or into the holes of others (hole-plugging).
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "layout/segment_table.h"
#include "layout/write_cost_model.h"

namespace latchkey {

enum class CleaningMethod : uint8_t { kClean, kPlug };

struct CleaningSituation {
  PageCosts costs;
  /// Mean u of the victims of late, and the method they were emptied by; nullopt before there were
  /// any.
  std::optional<double> victim_utilization;
  CleaningMethod method_of_late = CleaningMethod::kClean;
  double space_utilization = 0;  ///< u_d of the partition that is cleaned
};

/// Pure but for a hysteresis in Choose. Not thread-safe.
class CleaningPolicy {
 public:
  virtual ~CleaningPolicy() = default;
  /// How much a segment deserves to be emptied; the highest first. `u` in [0, 1) is its
  /// utilisation, `age` > 0 the number of pages accepted since it was filled.
  virtual double Priority(double u, double age) const = 0;
  virtual CleaningMethod Choose(const CleaningSituation& situation) = 0;
  /// Whether Choose may ever say kPlug.
  virtual bool may_plug() const = 0;
};

/// The policies by name: greedy, cost-benefit, hole-plugging, adaptive.
std::vector<std::string> CleaningPolicyNames();
/// InvalidArgument, with the names there are, for another name.
absl::StatusOr<std::unique_ptr<CleaningPolicy>> NewCleaningPolicy(std::string_view name);

}  // namespace latchkey
