// Concurrent users append to lists in a database and record what each transaction read.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>

#include "engine/latchkey.h"
#include "storage/runtime/runtime.h"
#include "tools/campaign/isolation/isolation_history.h"

namespace latchkey {

struct IsolationRound {
  uint64_t seed = 1;
  uint32_t actors = 3;
  uint32_t transactions = 2000;  ///< of all actors together; those that end in Aborted included
  uint32_t keys = 400;
  uint32_t appends_per_key = 24;  ///< longer lists get no appends, so that lists stay short
  /// Number of serializable ones in 256 transactions; the others have snapshot isolation.
  uint32_t serializable_of_256 = 256;
  uint64_t version_store_bytes = 0;  ///< small: versions are spilled, or snapshots expire
  /// Long read-only snapshots that an actor of its own holds, and reads again and again, beside the
  /// users. With them, the first user waits in some of its transactions for hundreds of others.
  uint32_t held_snapshots = 0;
  Durability durability = Durability::kNone;
  /// Requests of the disks take time, and the cache is small. REQUIRES: a simulated runtime.
  bool slow_disks = false;
  uint32_t filler_bytes = 6000;  ///< behind the list of one key in 16
  Techniques techniques;
  uint32_t page_size = 4096;
};

/// Runs one round in a database of its own. The last transaction of the history reads every key. A
/// held snapshot is a transaction of the history, with what it has read first of each key.
/// Internal: a held snapshot has read one key twice, and found two lists.
/// Returns any error but Aborted. The schedule depends on the machine, so the seed repeats only the
/// choices of each actor.
absl::StatusOr<ListHistory> RunIsolationRound(Runtime& runtime, const IsolationRound& round);

}  // namespace latchkey
