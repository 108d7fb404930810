// Rounds of concurrent transactions over combinations of isolation, contention and options. Each
// history is checked by replay in commit order and by its dependency graph. The workloads bank and
// ring run besides.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/runtime/runtime.h"

namespace latchkey {

struct IsolationCounts {
  uint64_t transactions = 0;  ///< checked in histories
  uint64_t committed = 0, serializable = 0;
  uint64_t edges = 0;  ///< of the dependency graphs
  uint64_t invariant_transactions = 0;
  uint64_t histories = 0;
  std::vector<std::string> wrong;  ///< with the seed that repeats the actors' choices
};

/// Runs at least `transactions` of histories, in `cells` databases at a time. Stops at the first
/// mistake.
IsolationCounts CheckIsolation(Runtime& runtime, uint64_t seed, uint64_t transactions,
                               uint32_t cells);

/// The same in a simulation: equal seeds give equal schedules.
IsolationCounts CheckIsolationSimulated(uint64_t seed, uint64_t transactions, uint32_t cells);

/// The campaign `isolation`.
int RunIsolationCampaign(const std::vector<std::string>& arguments);

}  // namespace latchkey
