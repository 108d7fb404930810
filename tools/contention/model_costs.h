// What things cost in the model of a machine with several processors (processor_model.h). Measured
// by calibration.h on a real machine.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "tpcc-lite/report/json.h"

namespace latchkey {

/// Processor time of a replacement algorithm under the scheme's lock, in ns.
struct AlgorithmCosts {
  double hit = 0;          ///< OnHit, alone
  double batched_hit = 0;  ///< OnHit in a batch of 32, after its prefetch
  double load = 0;         ///< OnLoad and the choice of a victim
  double moved = 0;        ///< more for an OnHit or OnLoad after a call of another processor
  double batch_moved = 0;  ///< as `moved`, for each further hit of a batch
  double moved_load = 0;   ///< more for a load, at its Victim, after a call of another processor
};

/// Processor times in ns.
struct ModelCosts {
  double access = 0;      ///< drawing a page and fixing it, resident, without a policy's work
  double pin = 0;         ///< more for a fix that takes the shared latch, and its unfix
  double work = 0;        ///< beyond the time that was asked for between two accesses
  double lock = 0;        ///< locking and unlocking without contention
  double queue = 0;       ///< bp-wrapper: noting an access in the queue, and its prefetch
  double miss = 0;        ///< more for a fix of a page that is not resident, outside any lock
  double moved_miss = 0;  ///< more for such a fix after one of another processor
  double sweep = 0;       ///< nb-gclock: more for such a fix, the sweep of the clock hand
  double transfer = 0;    ///< a cache line that another processor has written
  double sleep = 0;       ///< falling asleep
  double wake = 0;        ///< waking a sleeper, for the actor that wakes
  double switching = 0;   ///< from a wake-up until the woken actor runs
  double spin = 0;        ///< shortest first step of a back-off
  std::map<std::string, AlgorithmCosts> algorithms;  ///< by name
  std::string source;  ///< the machine and the load that they were measured with

  bool operator==(const ModelCosts&) const;
};

/// A cost that a sensitivity analysis changes by itself.
struct NamedCost {
  std::string_view name;
  double ModelCosts::*common = nullptr;                 ///< or
  double AlgorithmCosts::*of_algorithms = nullptr;      ///< of all algorithms together
  double AlgorithmCosts::*of_algorithms_too = nullptr;  ///< may be nullptr
};
std::span<const NamedCost> NamedCosts();
/// `costs` with one of them multiplied.
ModelCosts Scaled(const ModelCosts& costs, const NamedCost& which, double factor);

/// The costs that are built in. README.md says how they came about.
const ModelCosts& DefaultModelCosts();

inline constexpr const char* kModelCostsSchema = "latchkey.contention-costs/2";
Json ToJson(const ModelCosts& costs);
/// InvalidArgument: not such a document, a cost is missing, or is not a number from 0 to 1e9.
absl::StatusOr<ModelCosts> ModelCostsFrom(const Json& document);
/// ModelCostsFrom of a file. The message names the file.
absl::StatusOr<ModelCosts> ReadModelCosts(const std::string& path);

/// InvalidArgument: no costs for that algorithm; says which there are.
absl::StatusOr<AlgorithmCosts> CostsOf(const ModelCosts& costs, std::string_view algorithm);

}  // namespace latchkey
