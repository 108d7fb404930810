// Runs seeded lists of operations on a database and on an ordered map, over combinations of
// options. One list must give the same history in all of them. A list that fails is shrunk before
// it is printed.
//
// The idea of one list over many configurations is Pebble's metamorphic test.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/runtime/runtime.h"
#include "tools/campaign/model/model_configurations.h"

namespace latchkey {

struct ModelCounts {
  uint64_t operations = 0;  ///< run against databases
  uint64_t lists = 0, runs = 0, reopens = 0, scanned = 0;
  uint64_t power_losses = 0, lost_commits = 0;
  /// For each row of the set of configurations: whether it was used.
  std::vector<bool> rows = std::vector<bool>(ModelRows());
  std::vector<std::string> wrong;  ///< the mistake, shrunk, with the flags that repeat it
};

/// Limit of runs for shrinking a failing list.
inline constexpr int kShrinkRuns = 400;

/// Runs lists of `list_size` operations, each on two configurations, until `operations` have been
/// run, on `cells` actors. Databases lie in `directory`. Stops at the first mistake.
ModelCounts CheckModel(Runtime& runtime, const std::string& directory, uint64_t seed,
                       uint64_t operations, uint32_t list_size, uint32_t cells,
                       int shrink_runs = kShrinkRuns);

/// The campaign `model`.
int RunModelCampaign(const std::vector<std::string>& arguments);

}  // namespace latchkey
