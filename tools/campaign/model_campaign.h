// Seeded lists of operations against an ordered map, over combinations of options: the same list
// gives the same history in all of them, and a list that fails is shrunk before it is shown.
//
// The idea of one list over many configurations is Pebble's metamorphic test.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/runtime/runtime.h"
#include "tools/campaign/model_configurations.h"

namespace latchkey {

struct ModelCounts {
  uint64_t operations = 0;  ///< run against databases
  uint64_t lists = 0, runs = 0, reopens = 0, scanned = 0;
  uint64_t power_losses = 0, lost_commits = 0;
  /// The rows of the set of configurations that were used.
  std::vector<bool> rows = std::vector<bool>(ModelRows());
  std::vector<std::string> wrong;  ///< what failed, shrunk, and what repeats it
};

/// Runs that a failing list may take at most until it is small enough to be shown.
inline constexpr int kShrinkRuns = 400;

/// Runs lists of `list_size` operations, each on two configurations, until `operations` have been
/// run, on `cells` actors; databases lie in `directory`. Stops at the first mistake.
ModelCounts CheckModel(Runtime& runtime, const std::string& directory, uint64_t seed,
                       uint64_t operations, uint32_t list_size, uint32_t cells,
                       int shrink_runs = kShrinkRuns);

/// The campaign `model`.
int RunModelCampaign(const std::vector<std::string>& arguments);

}  // namespace latchkey
