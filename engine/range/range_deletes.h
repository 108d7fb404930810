// The range deletes of a database that are under way: which writers wait for them, which writers
// they wait for, and which records they hide from readers until the records are gone.
//
//   waiting --WritersAreGone--> closed --Hide--> committed --Leave--> gone
//      |                          |
//      '--------Leave-------------'      (given up: nothing has happened)
//
//   waiting    a writer that had written in the tree before may go on; the others wait if their key
//              lies in the range. The range delete waits for the former. If one of those waits for a
//              lock of one of the others, it waits for that other one, too, which may go on.
//   closed     no transaction holds a write in the range; writers in the range wait
//   committed  as closed. Snapshots from commit_ts on see no record of the range. The range delete
//              waits for older snapshots. A writer that waits for it while the transaction of such a
//              snapshot waits for a lock of the writer is refused: a deadlock.
//
// Why no writer is missed: a writer lists the tree in its slot, then loads any(). Enter raises any(),
// then reads the slots. All these accesses are sequentially consistent, so one of the two sees the
// other. Which of both happened is decided under mutex_: a writer may pass exactly as long as its
// slot is among those that the range delete waits for.
//
// Thread-safety: every actor may call every member at once; a RangeDelete's owner alone calls those
// that take one.
#pragma once

#include <absl/status/status.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/latchkey.h"
#include "engine/log/log_txn.h"
#include "engine/tree_impl.h"
#include "engine/txn/snapshot_manager.h"
#include "engine/txn/version_store.h"
#include "storage/base/ids.h"
#include "storage/base/thread_annotations.h"
#include "storage/runtime/mutex.h"

namespace latchkey {

/// What a range delete has done so far to the pages, for the next attempt.
struct RangeProgress {
  std::vector<PageId> detached;               ///< roots of subtrees that no page refers to any more
  std::unordered_set<uint64_t> freed;         ///< inner pages of these
  std::unordered_set<uint64_t> freed_chains;  ///< first pages of overflow chains
};

/// One range delete, from RangeDeletes::Enter to Leave.
struct RangeDelete {
  RangeDelete(TreeImpl& of, KeyRange keys) : tree(of), range(std::move(keys)) {}
  bool Covers(std::string_view key) const {
    return (!range.from || *range.from <= key) && (!range.to || key < *range.to);
  }

  TreeImpl& tree;
  const KeyRange range;
  std::atomic<CommitTs> commit_ts{0};  ///< 0 = not committed
  // Used by the actor that finishes the range delete.
  LogTxn log_txn;
  TxnId id{0};
  RangeProgress progress;
  // Guarded by RangeDeletes::mutex_.
  std::vector<uint32_t> awaited;  ///< slots of writers
  bool closed = false;
};

class RangeDeletes {
 public:
  RangeDeletes(Runtime& runtime, const SnapshotManager& snapshots)
      : runtime_(runtime), snapshots_(snapshots), mutex_(runtime) {}

  /// Whether there is any. Readers ask it before they read a page, and after they have taken their
  /// snapshot; writers before each write, and after they have listed the tree.
  bool any() const { return count_.load(std::memory_order_seq_cst) != 0; }

  // ---- Readers, if any()

  /// Whether the records of `key` are deleted for a snapshot at `read_ts`, whatever pages say.
  bool Hides(const TreeImpl& tree, std::string_view key, CommitTs read_ts) const;
  /// The ranges of which this is true.
  std::vector<KeyRange> HiddenIn(const TreeImpl& tree, CommitTs read_ts) const;

  // ---- Writers, if any(). REQUIRES: `txn` lists the tree, or the tree counts it; no latches held.

  /// Waits until `txn` may write `key`, until the deadline of lock waits at most. Aborted: that takes
  /// too long, or would be a deadlock, or the range was deleted after the snapshot of `txn`. *is_vain:
  /// repeating `txn` at once is vain. std::bad_alloc.
  absl::Status Pass(SnapshotManager& snapshots, VersionStore& versions, Txn& txn,
                    const TreeImpl& tree, std::string_view key, bool* is_vain);
  /// Called by writers that wait: finishes what can be finished. REQUIRES: no other call yet.
  void SetFinish(std::function<void()> finish) { finish_ = std::move(finish); }

  // ---- Range deletes

  /// Adds one. FailedPrecondition, and nothing has happened: the calling actor has begun a
  /// transaction that has written in the tree, so a wait for it would never end.
  absl::Status Enter(std::shared_ptr<RangeDelete> entered);
  /// Whether every writer that `entered` waits for has ended. From then on no writer may pass.
  bool WritersAreGone(RangeDelete& entered);
  /// Commits it: called where the order of commits is fixed.
  static void Hide(RangeDelete& entered, CommitTs ts) {
    entered.commit_ts.store(ts, std::memory_order_seq_cst);
  }
  /// Lets writers in: nothing was deleted, or all is gone.
  void Leave(const RangeDelete& entered);
  /// The committed range delete that committed first; nullptr = none.
  std::shared_ptr<RangeDelete> Oldest() const;

 private:
  enum class Verdict { kGo, kWait, kConflict, kDeadlock };
  Verdict Judge(const Txn& txn, const TreeImpl& tree, std::string_view key,
                std::span<const uint32_t> behind, CommitTs* committed);
  bool MayPass(const RangeDelete& entered, uint32_t slot) const LATCHKEY_REQUIRES(mutex_);
  bool WaitsForOneOf(const RangeDelete& entered, std::span<const uint32_t> actors) const
      LATCHKEY_REQUIRES(mutex_);

  Runtime& runtime_;
  const SnapshotManager& snapshots_;
  std::function<void()> finish_;
  mutable Mutex mutex_;
  std::vector<std::shared_ptr<RangeDelete>> entered_ LATCHKEY_GUARDED_BY(mutex_);
  std::atomic<uint32_t> count_{0};
};

}  // namespace latchkey
