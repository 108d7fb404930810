// Spilling: moves settled versions and the undo of large transactions to the spill device, if the
// store has one, and answers for the store what is there (version_spill.h).
//
// Invariant: a version is readable on the device before it leaves memory.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/txn/empty_gaps.h"
#include "engine/txn/gc_client.h"
#include "engine/txn/record_change.h"
#include "engine/txn/settled_versions.h"
#include "engine/txn/snapshot_manager.h"
#include "engine/txn/version_spill.h"
#include "engine/txn/version_stats.h"
#include "engine/txn/version_table.h"
#include "storage/base/ids.h"
#include "storage/device/block_device.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// Thread-safety: every actor may call every member at once, unless noted.
class VersionSpiller {
 public:
  VersionSpiller(Runtime& runtime, SnapshotManager& snapshots, VersionTable& table,
                 SettledVersions& settled, EmptyGaps& gaps, VersionCounters& counters,
                 GcClient& gc_client)
      : runtime_(runtime),
        snapshots_(snapshots),
        table_(table),
        settled_(settled),
        gaps_(gaps),
        counters_(counters),
        gc_client_(gc_client) {}

  /// Gives the store `most_bytes` of `device`, which no other part may use. What exceeds the bound
  /// is spilled there, and snapshots expire only when the device is full or has failed. Filters of
  /// the spilled versions take memory in addition to the bound, usually less than half of it.
  /// REQUIRES: no other call has been made.
  void SetDevice(std::unique_ptr<BlockDevice> device, uint64_t most_bytes) {
    spill_ = std::make_unique<VersionSpill>(runtime_, std::move(device), most_bytes);
  }
  /// See VersionSpill::SetFilterBytes.
  void SetFilterBytes(uint64_t bytes) {
    if (spill_ != nullptr) spill_->SetFilterBytes(bytes);
  }

  // ---- What is on the device. Without a device: nothing.

  bool HasAny() const { return spill_ != nullptr && !spill_->empty(); }
  /// Whether there are settled versions.
  bool HasSettled() const { return spill_ != nullptr && spill_->has_settled(); }
  /// Whether versions above `ts` may be there.
  bool HasAfter(CommitTs ts) const { return spill_ != nullptr && spill_->newest() > ts; }
  /// Whether there is undo, of running transactions or committed ones.
  bool HasUndo() const { return spill_ != nullptr && spill_->has_undo(); }
  /// Whether there is a device that has not failed.
  bool CanSpill() const { return spill_ != nullptr && spill_->usable(); }
  /// Whether some actor is in SpillSettled: there may be room soon.
  bool is_spilling() const { return spilling_.load(std::memory_order_relaxed); }
  uint64_t versions() const { return spill_ == nullptr ? 0 : spill_->versions(); }
  uint64_t disk_bytes() const { return spill_ == nullptr ? 0 : spill_->disk_bytes(); }
  /// Memory, bytes.
  size_t bytes() const { return spill_ == nullptr ? 0 : spill_->bytes(); }

  /// See VersionSpill::Find; `txn` reads. REQUIRES: HasAfter of its snapshot was true.
  absl::Status Find(const Txn& txn, uint64_t hash, TreeId tree, std::string_view key,
                    VersionRun::Oldest* oldest, std::string* old) const;
  /// See VersionSpill::NewestOf. REQUIRES: HasAfter(after) was true.
  VersionSpill::Newest NewestOf(const WriteRecord* own, uint64_t hash, CommitTs after) const {
    return spill_->NewestOf(own, hash, after);
  }
  /// See VersionSpill::PostponeGhost. REQUIRES: there is a device.
  void PostponeGhost(TreeId tree, std::string_view key) { spill_->PostponeGhost(tree, key); }

  // ---- Settled versions. REQUIRES: no latches held.

  /// Writes all settled versions to the device and drops them from memory. False: not all are
  /// written; they stay in memory, some of them frozen. REQUIRES: one actor at a time.
  bool SpillSettled();
  /// Drops what no snapshot needs.
  void DropUnneeded();

  // ---- The undo of one transaction, by its actor. REQUIRES: no latches held.

  /// Moves the undo of `txn` to the device. Its keys stay locked: the run there says so instead of
  /// the entries. After an error nothing has moved. FailedPrecondition: `txn` has written a key
  /// in a gap that answers for its snapshot (EmptyGaps).
  absl::Status SpillUndo(Txn& txn);
  /// Calls `restore` for each spilled change of `record`, those of one key newest first.
  absl::Status RestoreUndo(WriteRecord& record,
                           absl::FunctionRef<absl::Status(const Undo&)> restore);
  /// Drops the undo of `record` and so unlocks its keys: its transaction is rolled back.
  void ReleaseUndo(WriteRecord& record);
  /// Notes that the transaction has committed at `ts`. Call it before the record is reused.
  void Commit(const WriteRecord& record, CommitTs ts) { spill_->Commit(record, ts); }

 private:
  Runtime& runtime_;
  SnapshotManager& snapshots_;
  VersionTable& table_;
  SettledVersions& settled_;
  EmptyGaps& gaps_;
  VersionCounters& counters_;
  GcClient& gc_client_;
  std::unique_ptr<VersionSpill> spill_;  // nullptr = no device
  std::atomic<bool> spilling_{false};
};

}  // namespace latchkey
