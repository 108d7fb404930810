// Sweeps: every flag is a list, the cross product of the lists is what is run.
#pragma once

#include <absl/functional/function_ref.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace latchkey {

/// One flag and the values it was given.
struct Dimension {
  std::string flag;
  std::vector<std::string> values;
};

/// One value per flag; nullopt where the engine has no such dimension.
class Combination {
 public:
  void Set(std::string flag, std::optional<std::string> value) {
    values_.emplace_back(std::move(flag), std::move(value));
  }
  /// REQUIRES: the flag is one of the sweep's, and has a value.
  const std::string& Get(std::string_view flag) const;
  bool Has(std::string_view flag) const;

  bool operator==(const Combination&) const = default;

 private:
  std::vector<std::pair<std::string, std::optional<std::string>>> values_;
};

/// What a flag's value means beside the values before it in `so_far`: itself, another value, or
/// nullopt when the engine has no such dimension.
using ResolveValue = absl::FunctionRef<std::optional<std::string>(
    const Combination& so_far, const std::string& flag, const std::string& value)>;

/// The cross product, the first dimension changing slowest. Combinations that `resolve` makes equal
/// are there once, where the first of them was.
std::vector<Combination> ExpandSweep(const std::vector<Dimension>& dimensions,
                                     ResolveValue resolve);

/// One run of a combination.
struct ScheduledRun {
  size_t combination = 0;
  uint32_t repetition = 0;
  bool operator==(const ScheduledRun&) const = default;
};

/// All runs in their order: interleaved, every combination once before any runs again, so that a
/// machine that drifts does so for all of them.
std::vector<ScheduledRun> ScheduleInterleaved(size_t combinations, uint32_t repetitions);

}  // namespace latchkey
