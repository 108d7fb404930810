// The value flags of the experiment verbs, with defaults and help.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tools/cli/sweep.h"

namespace latchkey {

struct FlagSpec {
  std::string name;  ///< without dashes
  std::string default_value;
  std::string help;
};

/// The flags of every experiment: engines, techniques and devices, in the order of the sweep. The
/// engine changes slowest.
std::vector<FlagSpec> EngineFlags();
/// Flags of `tpcc-lite`: EngineFlags and those of the workload.
std::vector<FlagSpec> TpccFlags();
/// Flags of `bench`: EngineFlags and those of the workload.
std::vector<FlagSpec> BenchFlags();

/// The flags of an experiment that the user gave, each as written.
using FlagTexts = std::map<std::string, std::string>;

/// The values of every flag, the given or the default ones. A flag with the default "" has the one
/// value "". InvalidArgument: an empty list or item.
absl::StatusOr<std::vector<Dimension>> DimensionsOf(std::span<const FlagSpec> specs,
                                                    const FlagTexts& texts);

/// The combinations for the flags, each resolved for its engine: a dimension that the engine does
/// not have is absent (see KvTraits). InvalidArgument, with the remedy, for
///  - an unknown engine;
///  - a flag that was given and that no combination has;
///  - a device or a durability that one of the engines does not have: with another one in its place
///    it would be another experiment;
///  - a policy together with one of its parts.
absl::StatusOr<std::vector<Combination>> ExpandFlags(std::span<const FlagSpec> specs,
                                                     const FlagTexts& texts);

/// InvalidArgument if a flag of `given` is in none of the combinations. The message has the remedy:
/// what must be given as well so that the flag has an effect.
absl::Status CheckNoneIgnored(
    std::span<const Combination> combinations, const FlagTexts& given,
    absl::FunctionRef<std::string_view(const std::string& flag)> remedy_for);

/// The plan of each combination: `plan_of` checks one and returns absl::StatusOr of its plan. Returns
/// the first error, of `combinations` or of a plan.
template <typename PlanOf>
auto PlanAll(const absl::StatusOr<std::vector<Combination>>& combinations, PlanOf plan_of)
    -> absl::StatusOr<std::vector<std::decay_t<decltype(*plan_of(combinations->front()))>>> {
  if (!combinations.ok()) return combinations.status();
  std::vector<std::decay_t<decltype(*plan_of(combinations->front()))>> plans;
  for (const Combination& combination : *combinations) {
    auto plan = plan_of(combination);
    if (!plan.ok()) return plan.status();
    plans.push_back(*std::move(plan));
  }
  return plans;
}

/// "latchkey, memory, rocksdb": the engines of this build.
std::string KnownEngines();

}  // namespace latchkey
