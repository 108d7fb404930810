// The counters of the version store. Each actor counts in a stripe of its own.
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/txn/record_pool.h"
#include "engine/txn/write_record.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// Counters since construction, unless noted.
struct VersionStoreStats {
  uint64_t versions = 0;        ///< now; entries of running transactions are counted in batches
  uint64_t version_bytes = 0;   ///< now: memory of the versions in use
  uint64_t spilled_bytes = 0;   ///< now: bytes in use on the spill device
  uint64_t reserved_bytes = 0;  ///< now: all memory of the store, recycled memory included
  uint64_t oldest_snapshot_age = 0;  ///< now, in commits
  uint64_t commits = 0, rollbacks = 0;
  uint64_t conflicts = 0;  ///< refused writes, without deadlocks
  uint64_t deadlocks = 0;
  uint64_t waits = 0;
  uint64_t snapshots_expired = 0;     ///< the oldest ones, because the store was full
  uint64_t serializable_refused = 0;  ///< commits refused because a commit changed what was read
  uint64_t bound_bytes = 0;           ///< see VersionBudget::SetBound
};

/// Thread-safety: every actor may call every member at once.
class VersionCounters {
 public:
  struct alignas(64) Stripe {
    std::atomic<int64_t> versions{0};  ///< linked entries; one stripe alone may be negative
    std::atomic<uint64_t> commits{0}, rollbacks{0}, conflicts{0}, deadlocks{0}, waits{0};
    std::atomic<uint64_t> expired{0}, refused{0};
  };

  explicit VersionCounters(Runtime& runtime) : runtime_(runtime) {}

  /// The calling actor's stripe.
  Stripe& Here() { return of(runtime_.ActorIndex() % FinishedQueues::kQueues); }
  /// The stripe of the actor whose finished queue is `queue`.
  Stripe& of(uint32_t queue) { return stripes_[queue]; }

  /// Counts the entries that `record` got since its last report.
  void Report(WriteRecord& record);
  /// Counts `entries` that are no longer linked.
  void CountUnlinked(uint64_t entries) {
    Here().versions.fetch_sub(static_cast<int64_t>(entries), std::memory_order_relaxed);
  }
  /// Linked entries, without those not yet reported.
  uint64_t CountVersions() const;
  /// Adds the events of all stripes to `stats`.
  void AddTo(VersionStoreStats* stats) const;

 private:
  Runtime& runtime_;
  Stripe stripes_[FinishedQueues::kQueues];
};

}  // namespace latchkey
