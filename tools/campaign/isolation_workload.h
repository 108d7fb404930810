// Users that append to lists in a database, side by side, and write down what they saw.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>

#include "engine/latchkey.h"
#include "storage/runtime/runtime.h"
#include "tools/campaign/isolation_history.h"

namespace latchkey {

struct IsolationRound {
  uint64_t seed = 1;
  uint32_t actors = 3;
  uint32_t transactions = 2000;  ///< of all actors together; those that end in Aborted included
  uint32_t keys = 400;
  uint32_t appends_per_key = 24;  ///< then the key is left alone, so that lists stay short
  /// Of 256 transactions, so many are serializable; the others have snapshot isolation.
  uint32_t serializable_of_256 = 256;
  uint64_t version_store_bytes = 0;  ///< small: snapshots expire
  Techniques techniques;
  uint32_t page_size = 4096;
};

/// Runs one round in a database of its own, in memory. The last transaction of the history reads
/// every key. Any error but Aborted is returned. Which transactions meet depends on the machine, so
/// that only the choices of each actor repeat with the seed.
absl::StatusOr<ListHistory> RunIsolationRound(Runtime& runtime, const IsolationRound& round);

}  // namespace latchkey
