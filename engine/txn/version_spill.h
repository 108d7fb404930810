// The version store's content on the spill device: settled versions that did not fit in memory, and
// the undo of large transactions, which is also their write locks.
//
//   settled runs      oldest first; a key's versions in a newer run are newer. Versions of different
//                     keys are in no order. Eight runs of one level are merged into one of the
//                     next; the merge drops what no snapshot sees.
//   transaction runs  the state before the changes of one transaction: while it runs, and after its
//                     commit until no snapshot is older.
//
// Each run has a filter in memory, which says without I/O that a key is not in the run, or may be.
// Decisions under a page latch rest on the filters alone and err on the safe side: a writer waits
// for a key that may be locked, a key that may have changed counts as a conflict, and a ghost that
// a reader may need stays for now.
//
// Thread-safety: every actor may call every member at once, unless noted.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/txn/settled_versions.h"
#include "engine/txn/snapshot_manager.h"
#include "engine/txn/version_run.h"
#include "engine/txn/write_record.h"
#include "storage/base/ids.h"
#include "storage/device/block_device.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

class VersionSpill {
 public:
  VersionSpill(Runtime& runtime, std::unique_ptr<BlockDevice> device, uint64_t most_bytes);
  ~VersionSpill();

  bool empty() const { return !has_runs_.load(std::memory_order_acquire); }
  /// Whether there are runs of settled versions.
  bool has_settled() const { return has_settled_.load(std::memory_order_acquire); }
  /// At or above the timestamp of every version; UINT64_MAX if there is undo. A snapshot from there
  /// on needs none of them.
  CommitTs newest() const { return newest_.load(std::memory_order_acquire); }
  /// Whether there is undo, of running transactions or committed ones.
  bool has_undo() const { return newest() == UINT64_MAX; }
  /// False: the device has failed, and no more is written to it.
  bool usable() const { return file_->usable(); }
  uint64_t versions() const { return versions_.load(std::memory_order_relaxed); }
  uint64_t disk_bytes() const { return file_->bytes(); }
  /// Memory, bytes.
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  /// Sets the part of this memory that all filters together may take, approximately.
  void SetFilterBytes(uint64_t bytes) { filter_bytes_.store(bytes, std::memory_order_relaxed); }

  // ---- Reading

  /// Looks for an older version of the key than *oldest. `own`: the reader's record; the reader
  /// sees the running changes of that one.
  absl::Status Find(CommitTs read_ts, const WriteRecord* own, uint64_t hash, TreeId tree,
                    std::string_view key, SpilledBlocks* blocks, VersionRun::Oldest* oldest,
                    std::string* old) const;

  /// What a writer learns of a key without a read.
  struct Newest {
    WriterRef running;  ///< writer that may have locked the key; record nullptr = none
    bool undo_failed = false;
    CommitTs ts = 0;  ///< newest commit that may have changed the key; 0 = none
  };
  /// `own`: a record to skip. `after`: commits up to this timestamp do not matter.
  Newest NewestOf(const WriteRecord* own, uint64_t hash, CommitTs after) const;

  // ---- Settled versions. These calls wait for each other, and do I/O.

  /// Writes a run of `versions`, which may be in any order and are the newest of their keys here.
  /// Leaves out those of deletes that no snapshot of `live` needs; `chores` gets their ghosts.
  /// ResourceExhausted: the device is full.
  absl::Status AddSettled(const std::vector<SettlingVersion>& versions, const LiveSnapshots& live,
                          Chores* chores);
  /// Merges runs if there are many of one level. While readers ask few runs, a merge would help
  /// nobody, so it waits until there are more.
  absl::Status Merge(const LiveSnapshots& live, Chores* chores);
  /// Whether DropUnneeded would drop a run.
  bool HasUnneeded(CommitTs oldest) const;
  /// Drops the runs that no snapshot needs.
  void DropUnneeded(CommitTs oldest, Chores* chores);

  // ---- Undo. One actor at a time for one record.

  /// Writes a run of the undo of a running transaction, in any order.
  absl::Status AddUndo(WriteRecord& record, TxnId id, const std::vector<SettlingVersion>& undo);
  /// Calls `restore` for each of its undo entries, those of one key newest first.
  absl::Status ForEachUndo(const WriteRecord& record,
                           absl::FunctionRef<absl::Status(const SettlingVersion&)> restore) const;
  /// Notes that the transaction has committed at `ts`. Call it before the record is reused.
  void Commit(const WriteRecord& record, CommitTs ts);
  /// Notes that the transaction is rolled back. `purge` gets keys whose records may be ghosts
  /// again.
  void Remove(const WriteRecord& record, Chores* purge);

  /// Remembers a ghost whose key may have versions here. It becomes a chore when a run is dropped.
  void PostponeGhost(TreeId tree, std::string_view key);

 private:
  struct TransactionRun {
    std::shared_ptr<VersionRun> run;
    WriteRecord* record = nullptr;
    TxnId id{0};
    std::atomic<CommitTs> ts{0};  // or kRolledBack; 0 = ask the record

    // As WriteRecord::outcome.
    uint64_t Outcome() const;
  };
  struct Runs {
    std::vector<std::shared_ptr<VersionRun>> settled;
    std::vector<std::shared_ptr<TransactionRun>> undo;  // oldest first
  };

  std::shared_ptr<const Runs> Current() const;
  void Change(absl::FunctionRef<void(Runs&)> change);
  uint32_t FilterBits(uint64_t versions) const;
  size_t RunsPerMerge() const;
  absl::Status MergeSettled(size_t first, size_t last, const LiveSnapshots& live, Chores* chores);
  absl::StatusOr<std::shared_ptr<VersionRun>> Write(const std::vector<SettlingVersion>& versions,
                                                    const std::vector<uint32_t>& order);
  void DropDeletesOfInserted(const std::vector<SettlingVersion>& versions,
                             const LiveSnapshots& live, std::vector<uint32_t>* order,
                             Chores* chores) const;
  static bool InsertedForNoSnapshot(const Runs& runs, const SettlingVersion& version,
                                    const LiveSnapshots& live, SpilledBlocks* blocks);
  absl::Status MergeUndo(const WriteRecord& record);
  static void AddChores(const std::shared_ptr<VersionRun>& run, Chores* chores);
  void TakePostponed(Chores* chores);

  Runtime& runtime_;
  const std::shared_ptr<SpillFile> file_;
  std::atomic<bool> has_runs_{false}, has_settled_{false};
  std::atomic<CommitTs> newest_{0};
  mutable std::atomic<uint64_t> runs_asked_{0};  // by readers, since the last merge
  std::atomic<uint64_t> versions_{0}, filter_bytes_{1 << 20};
  std::atomic<size_t> bytes_{0};
  Mutex settled_mutex_;  // held while settled runs change; before the next
  Mutex change_mutex_;   // held while runs_ changes
  mutable SpinLatch latch_;
  std::shared_ptr<const Runs> runs_;  // guarded by latch_
  SpinLatch postponed_latch_;
  std::vector<Chores::Chore> postponed_;
};

}  // namespace latchkey
