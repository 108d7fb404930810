// Sweeps: every flag is a list, and the runs are the cross product of the lists.
#pragma once

#include <absl/functional/function_ref.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace latchkey {

/// One flag and its values.
struct Dimension {
  std::string flag;
  std::vector<std::string> values;
};

/// One value per flag; nullopt: the engine has no such dimension.
class Combination {
 public:
  void Set(std::string flag, std::optional<std::string> value) {
    values_.emplace_back(std::move(flag), std::move(value));
  }
  /// REQUIRES: the sweep has the flag, and the combination has a value for it.
  const std::string& Get(std::string_view flag) const;
  bool Has(std::string_view flag) const;

  bool operator==(const Combination&) const = default;

 private:
  std::vector<std::pair<std::string, std::optional<std::string>>> values_;
};

/// Resolves a flag's value beside the values before it in `so_far`: returns it, another value, or
/// nullopt if the engine has no such dimension.
using ResolveValue = absl::FunctionRef<std::optional<std::string>(
    const Combination& so_far, const std::string& flag, const std::string& value)>;

/// The cross product; the first dimension changes slowest. Of combinations that `resolve` makes
/// equal only the first remains.
std::vector<Combination> ExpandSweep(const std::vector<Dimension>& dimensions,
                                     ResolveValue resolve);

/// One run of a combination.
struct ScheduledRun {
  size_t combination = 0;
  uint32_t repetition = 0;
  bool operator==(const ScheduledRun&) const = default;
};

/// All runs in interleaved order: every combination once before any runs again. So a machine whose
/// speed drifts affects all of them.
std::vector<ScheduledRun> ScheduleInterleaved(size_t combinations, uint32_t repetitions);

}  // namespace latchkey
