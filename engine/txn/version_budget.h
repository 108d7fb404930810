// The account of the memory that the bound of the version store limits: entries, settled versions, the
// table of known writes, gaps and the read sets of serializable transactions.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/txn/empty_gaps.h"
#include "engine/txn/record_pool.h"
#include "engine/txn/settled_versions.h"
#include "engine/txn/snapshot_manager.h"

namespace latchkey {

/// Thread-safety: every actor may call every member at once, each Txn from its own actor.
class VersionBudget {
 public:
  VersionBudget(const RecordPool& pool, const KnownWrites& known, const SettledVersions& settled,
                const EmptyGaps& gaps)
      : pool_(pool), known_(known), settled_(settled), gaps_(gaps) {}

  /// Sets the memory that old versions, undo and read sets may take, bytes; 0 = no bound.
  void SetBound(uint64_t bytes) { bound_.store(bytes, std::memory_order_relaxed); }
  uint64_t bound() const { return bound_.load(std::memory_order_relaxed); }
  /// Bytes in use of what the bound limits.
  uint64_t used() const {
    return pool_.used_bytes() + known_.bytes() + settled_.bytes() + gaps_.bytes() +
           read_set_bytes_.load(std::memory_order_relaxed);
  }
  /// Bytes of the undo of `txn` in memory. REQUIRES: `txn` is a writer.
  static uint64_t OwnUndo(const Txn& txn) {
    return txn.record_->arena.bytes() + (txn.savepoints_ == nullptr ? 0 : txn.savepoints_->bytes());
  }

  /// Call it after `txn.reads()` has grown. A read set that lets all read sets together exceed
  /// their share of the bound is coarsened: it then counts whole trees as read.
  void AccountReads(Txn& txn) {
    if (txn.reads()->bytes() > txn.charged_read_bytes_) ChargeReads(txn);
  }
  /// Takes the read set of `txn` off the account.
  void ReleaseReads(Txn& txn);

 private:
  void ChargeReads(Txn& txn);

  const RecordPool& pool_;
  const KnownWrites& known_;
  const SettledVersions& settled_;
  const EmptyGaps& gaps_;
  std::atomic<uint64_t> bound_{0};
  std::atomic<uint64_t> read_set_bytes_{0};
};

}  // namespace latchkey
