// Measures how long a database takes to open after a crash with its cache full of dirty pages.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>

#include "tpcc-lite/bench/kv_bench.h"
#include "tpcc-lite/kv/kv_backend.h"

namespace latchkey {

struct ReopenResult {
  // At the crash.
  uint64_t commits = 0;  ///< since the load was opened
  uint64_t dirty_pages = 0;
  double dirty_share = 0;  ///< of the pages in the cache
  // The open after the crash.
  double open_s = 0;            ///< of the whole call
  Statistics::Recovery phases;  ///< its parts
  double checkpointed_s = 0;    ///< from the begin of the call to the end of the first checkpoint
};

/// A child process opens the database and updates records at random as config.threads sessions
/// until nearly every page in the cache is dirty (kReopenDirtyShare), or until their number has not
/// grown for `kReopenPatience`. Then the child is killed (SIGKILL) during its updates. This process
/// then opens the database, counts its records and closes it. `open` opens the same files each
/// time.
///
/// FailedPrecondition: the backend is not Latchkey, or nothing was logged. DataLoss: records are
/// missing. Cancelled: config.stop was set. REQUIRES: durability other than kNone; no other actor
/// is running (the child is a fork).
absl::StatusOr<ReopenResult> MeasureReopen(
    absl::FunctionRef<absl::StatusOr<std::unique_ptr<KvBackend>>()> open,
    const KvBenchConfig& config);

inline constexpr double kReopenDirtyShare = 0.95;
inline constexpr Nanos kReopenPatience = 10 * kNanosPerSecond;

}  // namespace latchkey
