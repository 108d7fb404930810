// Snapshots: which transactions run, what each of them sees, and what all of them see.
//
// Pages hold the newest values and one mark, `last_writer`: the id of the newest transaction that
// wrote anything in the page. A Snapshot judges that mark without a lookup: every writer with an id
// below `all_visible_below` had finished before the snapshot was taken.
//
// Invariants
//  1. A transaction is committed exactly when its record holds a commit timestamp. The clock
//     reaches a timestamp only after the record holds it, so an actor that reads the clock sees
//     the commits.
//  2. Every writer with an id below all_visible_below() has finished: it committed with a timestamp
//     that the clock had reached, or every page it wrote has been restored. The bound only rises.
//  3. Except for expired snapshots, no present or future snapshot has a read_ts below
//     oldest_snapshot(). The bound only rises.
//  4. A snapshot expires by one change of its slot's word, which a held snapshot does not allow.
//     The word changes before the bound, and the bound before a version is dropped. So a reader
//     that misses a version dropped for this reason finds its slot expired afterwards.
//
// Why a scan of the slots misses no transaction (all these accesses are sequentially consistent):
//  - A writer publishes a lower bound of its id before it draws the id. A scan reads the id counter
//    before the slots. So a writer that the scan misses drew an id at or above the counter read.
//  - A reader publishes a read_ts, then asks for the clock of the newest scan, and takes a newer
//    read_ts if that clock is above its own. A scan reads the clock and publishes it before the
//    slots. So a reader that the scan misses takes a read_ts at or above the scan's clock. No
//    read_ts appears later between two of those that the scan has seen, only at or above its clock.
//  - StampUnseen publishes the timestamp that it is about to give instead of the clock. A reader that
//    its search misses therefore waits until the clock is there, and sees the commit.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/txn/read_set.h"
#include "engine/txn/savepoint_log.h"
#include "storage/base/check.h"
#include "storage/base/ids.h"
#include "storage/base/reserved_memory.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

struct WriteRecord;
class TransactionImpl;
class SpilledBlocks;

/// Aborted: the version store was full, and the snapshot was the oldest.
absl::Status SnapshotTooOld();

/// A transaction sees the commits up to `read_ts` and its own writes.
struct Snapshot {
  CommitTs read_ts = 0;
  TxnId all_visible_below{0};

  /// Whether everything on a page with this mark is visible. Then the reader needs no lookup.
  bool SeesAllOf(TxnId page_last_writer) const { return page_last_writer < all_visible_below; }
};

/// The place of one running transaction in the published array. Only its transaction writes it.
struct alignas(64) TxnSlot {
  static constexpr uint64_t kFree = UINT64_MAX;
  static constexpr uint64_t kNoSnapshot = UINT64_MAX - 1;
  static constexpr uint64_t kExpired = UINT64_MAX - 2;
  /// Flag beside a timestamp: the snapshot may not expire now.
  static constexpr uint64_t kHeld = uint64_t{1} << 62;
  /// Flag beside a timestamp: the commits after it must stay whole, for the check of what was read.
  static constexpr uint64_t kTracksReads = uint64_t{1} << 61;
  static constexpr uint64_t kNoWriter = UINT64_MAX;

  /// The timestamp in a word of `read_ts`; UINT64_MAX if the word holds no snapshot.
  static uint64_t TimestampIn(uint64_t word) {
    return word >= kExpired ? kFree : word & ~(kHeld | kTracksReads);
  }

  /// kFree, kNoSnapshot, kExpired, or the snapshot's read_ts (for a moment a smaller one), with the
  /// flags kHeld and kTracksReads.
  std::atomic<uint64_t> read_ts{kFree};
  /// kNoWriter, or a lower bound of the id of the running writer.
  std::atomic<uint64_t> writer{kNoWriter};
  /// Number of snapshots taken here while the bounds lagged. Only the slot's holder uses it.
  uint32_t lagging_snapshots = 0;
  /// The first trees that the transaction has written in, then kNoTree. DropTree refuses to drop
  /// them.
  static constexpr uint32_t kListedTrees = 6;
  static constexpr uint32_t kNoTree = UINT32_MAX;
  std::atomic<uint32_t> trees[kListedTrees] = {kNoTree, kNoTree, kNoTree,
                                               kNoTree, kNoTree, kNoTree};
  /// Index of the actor that began the transaction.
  std::atomic<uint32_t> user{UINT32_MAX};
  /// The slot's transaction, for the close of the database; nullptr = the close need not end it.
  TransactionImpl* owner = nullptr;
};
static_assert(sizeof(TxnSlot) == 64);

/// The snapshots of one moment: they say which old versions may be needed. Later the list may name
/// snapshots that have ended, but stays correct for versions that were replaced up to `as_of`.
struct LiveSnapshots {
  std::vector<CommitTs> read_ts;  ///< ascending
  CommitTs as_of = 0;             ///< snapshots that are not in the list read here or later
  CommitTs oldest = 0;            ///< the smallest of all, at most as_of
  CommitTs validated_from = 0;    ///< commits above it may be needed to check read sets

  /// Whether a present or future snapshot may read in [from, to).
  bool AnyIn(CommitTs from, CommitTs to) const;
  /// The smallest timestamp from which on no snapshot may read below `to`; `to` itself if any may.
  CommitTs NoneSince(CommitTs to) const;
};

/// One transaction, from SnapshotManager::Begin to VersionStore::Commit or Rollback; reusable
/// afterwards. One actor at a time may use it. It must be finished before it is destroyed.
class Txn {
 public:
  Txn() = default;
  ~Txn() { LATCHKEY_CHECK(slot_ == nullptr); }
  Txn(const Txn&) = delete;
  Txn& operator=(const Txn&) = delete;

  bool active() const { return slot_ != nullptr; }
  /// TxnId{0} until the first VersionStore::Install. Then the tree puts this id into the mark of
  /// every page it changes for this transaction (the maximum of mark and id).
  TxnId id() const { return id_; }
  bool has_snapshot() const { return has_snapshot_; }
  /// REQUIRES: has_snapshot().
  const Snapshot& snapshot() const { return snapshot_; }
  /// Whether the transaction has learned anything from its snapshot. If so, the snapshot is fixed.
  bool has_read() const { return has_read_; }
  void NoteRead() { has_read_ = true; }

  /// Whether the last wait was refused for a reason that lasts: the transaction, run again at once,
  /// would end in the same way.
  bool is_vain_to_repeat() const { return is_vain_to_repeat_; }

  /// Makes the transaction serializable: its callers note its reads in reads(), and its commit
  /// checks them. REQUIRES: active(), nothing read yet.
  void TrackReads() {
    if (read_set_ == nullptr) read_set_ = std::make_unique<ReadSet>();
    tracks_reads_ = true;
  }
  /// nullptr = the transaction is not serializable.
  ReadSet* reads() { return tracks_reads_ ? read_set_.get() : nullptr; }

 private:
  friend class SnapshotManager;
  // The parts of the version store: what each of them may use is said in its header.
  friend class Committer;
  friend class CommitOrder;
  friend class LockWaits;
  friend class Rollback;
  friend class Savepoints;
  friend class VersionBudget;
  friend class VersionReader;
  friend class VersionSpiller;
  friend class VersionWriter;
  friend class WaitGraph;
  friend class WriteAdmission;
  friend class WriteChecker;

  TxnSlot* slot_ = nullptr;
  Snapshot snapshot_;
  TxnId id_{0};
  WriteRecord* record_ = nullptr;
  bool has_snapshot_ = false;
  bool has_read_ = false;
  bool deadlocked_ = false;         // WaitFor has refused: a deadlock with other transactions
  bool is_vain_to_repeat_ = false;  // WaitFor has refused, and would again
  bool tracks_reads_ = false;
  std::unique_ptr<ReadSet> read_set_;         // kept for reuse
  std::unique_ptr<SavepointLog> savepoints_;  // nullptr = no savepoint was set
  uint64_t admitted_bytes_ = 0;               // own undo when last checked against the bound
  uint64_t charged_read_bytes_ = 0;           // bytes of read_set_ in the store's account
  uint32_t listed_trees_ = 0;                 // listed in the slot
  WriteRecord* waited_for_ = nullptr;         // until the write that waited is tried again
  mutable std::shared_ptr<SpilledBlocks> spilled_blocks_;  // nullptr = has read none
};

/// Thread-safety: every actor may call every member at once, each Txn from its own actor.
class SnapshotManager {
 public:
  static constexpr uint32_t kMaxTransactions = 4096;

  /// Draws ids from `first_txn_id` on (at least 1). It must be above every mark that pages may
  /// still carry.
  explicit SnapshotManager(Runtime& runtime, TxnId first_txn_id = TxnId{1});
  SnapshotManager(const SnapshotManager&) = delete;
  SnapshotManager& operator=(const SnapshotManager&) = delete;

  /// Starts `txn` without a snapshot. ResourceExhausted: kMaxTransactions are running. VisitOwners
  /// passes `owner` to its visitor, unless it is nullptr. REQUIRES: !txn.active().
  absl::Status Begin(Txn& txn, TransactionImpl* owner = nullptr);
  /// Calls `visit` with the owner of every running transaction that has one; `visit` may end it.
  /// REQUIRES: no other call in progress.
  void VisitOwners(absl::FunctionRef<void(TransactionImpl*)> visit);

  /// Lists a tree in which `txn` is about to write, for IsTreeListed. False: the slot has no room.
  static bool ListTree(Txn& txn, TreeId tree) {
    if (txn.listed_trees_ == TxnSlot::kListedTrees) return false;
    txn.slot_->trees[txn.listed_trees_++].store(Raw(tree), std::memory_order_seq_cst);
    return true;
  }
  /// Removes the newest listed tree: nothing was written in it. REQUIRES: ListTree returned true.
  static void UnlistTree(Txn& txn) {
    txn.slot_->trees[--txn.listed_trees_].store(TxnSlot::kNoTree, std::memory_order_release);
  }
  /// Whether the tree is listed by a running transaction or by one that could not be rolled back.
  bool IsTreeListed(TreeId tree) const;
  /// The slots of the running transactions that list the tree.
  std::vector<uint32_t> ListWriters(TreeId tree) const;
  /// Whether the transaction in `slot` lists the tree.
  bool IsTreeListed(uint32_t slot, TreeId tree) const;
  /// Whether the transaction in `slot` was begun by the actor with this index.
  bool IsBegunBy(uint32_t slot, uint32_t actor) const {
    return slots_[slot].user.load(std::memory_order_relaxed) == actor;
  }
  /// Whether a transaction that was begun by one of `actors` has a snapshot below `ts`.
  bool HasSnapshotBelow(CommitTs ts, std::span<const uint32_t> actors) const;
  /// Whether any snapshot reads below `ts` now.
  bool HasSnapshotBelow(CommitTs ts) const;
  /// A snapshot with this many commits behind it is a long one, unless its transaction notes its reads.
  static constexpr uint64_t kCommitsOfLong = 256;
  /// No snapshot reads in [long_below, others_from), and none will.
  struct LongBounds {
    CommitTs long_below = 0;   ///< all long snapshots read below it; 0 = there is none
    CommitTs others_from = 0;  ///< all others read from it on
  };
  /// The bounds of the newest scan of the slots.
  LongBounds long_bounds() const {
    // In this order, the reverse of that in which a scan writes them: see ScanSlots.
    const CommitTs others_from = bounds_.others_from.load(std::memory_order_acquire);
    return {.long_below = bounds_.long_below.load(std::memory_order_acquire),
            .others_from = others_from};
  }
  uint32_t SlotOf(const Txn& txn) const { return static_cast<uint32_t>(txn.slot_ - slots_); }

  /// The snapshot from which `txn` reads, taken at the first call. Call it before reading the page
  /// whose mark is compared with it.
  const Snapshot& ForReading(Txn& txn) {
    txn.has_read_ = true;
    return ForWriting(txn);
  }
  /// As ForReading, but the transaction learns nothing yet: after a conflict its snapshot may still
  /// move.
  const Snapshot& ForWriting(Txn& txn) {
    if (!txn.has_snapshot_) TakeSnapshot(txn);
    return txn.snapshot_;
  }
  /// Moves the snapshot of `txn` to now, at least to the commit `at_least`. Waits if the clock has
  /// not reached that commit yet. REQUIRES: !txn.has_read().
  void RenewSnapshot(Txn& txn, CommitTs at_least);

  /// Whether the versions that `txn` needs may be gone, because the version store was full and this
  /// snapshot was the oldest. Its earlier reads stay valid.
  static bool Expired(const Txn& txn) {
    return txn.slot_->read_ts.load(std::memory_order_acquire) == TxnSlot::kExpired;
  }
  /// Lets the oldest snapshot expire if it is older than the newest commit. False: there is no such
  /// snapshot, it is held, or it has ended meanwhile. `of_validated`: considers only the
  /// transactions that note their reads.
  bool ExpireOldest(bool of_validated = false);
  /// Keeps the snapshot of `txn` from expiring until Unhold. False: it has expired. REQUIRES:
  /// has_snapshot(), not held.
  static bool Hold(Txn& txn);
  static void Unhold(Txn& txn) {
    std::atomic<uint64_t>& word = txn.slot_->read_ts;
    word.store(word.load(std::memory_order_relaxed) & ~TxnSlot::kHeld, std::memory_order_release);
  }

  /// Pages with a mark below this hold only committed values. For a single read outside any
  /// transaction, which then registers nothing and writes nothing shared: load it *before* reading
  /// the page.
  TxnId all_visible_below() const {
    return TxnId{bounds_.all_visible_below.load(std::memory_order_acquire)};
  }
  /// No snapshot reads or will read below this bound. It may lag behind the truth.
  CommitTs oldest_snapshot() const {
    return bounds_.oldest_snapshot.load(std::memory_order_acquire);
  }
  /// Timestamp of the newest commit.
  CommitTs clock() const { return clock_.value.load(std::memory_order_acquire); }
  /// The id of the next writer (a lower bound while other writers draw ids).
  TxnId next_txn_id() const { return TxnId{next_txn_.value.load(std::memory_order_acquire)}; }

  /// Scans the slots and publishes the bounds anew. Has no effect while another actor does the same.
  void RefreshBounds() {
    if (!bounds_.latch.TryLock()) return;
    ScanSlots();
    bounds_.latch.Unlock();
  }
  /// RefreshBounds that waits for its turn. Afterwards the bounds no longer count snapshots that
  /// expired before the call.
  void RefreshBoundsNow() {
    SpinLatchGuard guard(bounds_.latch, runtime_);
    ScanSlots();
  }
  /// RefreshBoundsNow that also lists the snapshots it has met.
  void ListSnapshots(LiveSnapshots* live);
  /// RefreshBounds if there were enough commits since the last scan to pay for it.
  void MaybeRefreshBounds();

  /// Memory of the slots that were ever taken, bytes: in whole 4 KiB, because the rest was never
  /// touched.
  size_t bytes() const {
    return (high_water_.load(std::memory_order_relaxed) * sizeof(TxnSlot) + 4095) / 4096 * 4096;
  }

  // For the VersionStore: the steps of a writer's life.

  /// Publishes `txn` as a writer and gives it its id.
  TxnId DrawTxnId(Txn& txn);
  /// The commit point: stamps `commit_ts` with the next timestamp, then moves the clock to it.
  /// First runs `last_step(timestamp)`, in the critical section that fixes the commit order. If
  /// that returns false, nothing is stamped and the result is 0.
  template <typename LastStep>
  CommitTs StampCommit(std::atomic<uint64_t>& commit_ts, LastStep last_step) {
    SpinLatchGuard guard(commit_latch_, runtime_);
    const CommitTs ts = clock_.value.load(std::memory_order_relaxed) + 1;
    if (!last_step(ts)) return 0;
    commit_ts.store(ts, std::memory_order_release);
    clock_.value.store(ts, std::memory_order_release);
    return ts;
  }
  CommitTs StampCommit(std::atomic<uint64_t>& commit_ts) {
    return StampCommit(commit_ts, [](CommitTs) { return true; });
  }
  /// As StampCommit, for a commit without old versions: fails as well if a snapshot reads before it.
  /// So every running and every later snapshot sees the commit.
  template <typename LastStep>
  CommitTs StampUnseen(LastStep last_step) {
    SpinLatchGuard guard(commit_latch_, runtime_);
    SpinLatchGuard bounds(bounds_.latch, runtime_);
    const CommitTs ts = clock_.value.load(std::memory_order_relaxed) + 1;
    const CommitTs refreshed_at = bounds_.refreshed_at.load(std::memory_order_relaxed);
    // A snapshot that the search misses waits in TakeSnapshot until the clock is there.
    bounds_.refreshed_at.store(ts, std::memory_order_seq_cst);
    if (HasSnapshotBelow(ts) || !last_step(ts)) {
      bounds_.refreshed_at.store(refreshed_at, std::memory_order_seq_cst);
      return 0;
    }
    clock_.value.store(ts, std::memory_order_release);
    return ts;
  }
  /// Runs `body(newest timestamp)` while no transaction commits.
  template <typename Body>
  void BetweenCommits(Body body) {
    SpinLatchGuard guard(commit_latch_, runtime_);
    body(clock_.value.load(std::memory_order_relaxed));
  }
  /// Removes `txn` from the slots. REQUIRES, for a writer: its pages are restored or its record is
  /// stamped.
  void End(Txn& txn) {
    while (txn.listed_trees_ > 0) UnlistTree(txn);
    txn.slot_->writer.store(TxnSlot::kNoWriter, std::memory_order_release);
    txn.slot_->read_ts.store(TxnSlot::kFree, std::memory_order_release);
    Forget(txn);
  }
  /// Ends `txn` for its caller but leaves it published for good: its pages could not be restored,
  /// so no bound may ever pass it.
  void Abandon(Txn& txn) {
    txn.slot_->owner = nullptr;
    txn.slot_->read_ts.store(TxnSlot::kNoSnapshot, std::memory_order_release);
    Forget(txn);
  }

 private:
  struct alignas(64) PaddedCounter {
    std::atomic<uint64_t> value{0};
  };
  struct alignas(64) Bounds {
    std::atomic<uint64_t> all_visible_below{0};
    std::atomic<uint64_t> oldest_snapshot{0};
    std::atomic<uint64_t> refreshed_at{0};  // clock of the newest scan; written before it
    std::atomic<uint64_t> long_below{0};    // see LongBounds
    std::atomic<uint64_t> others_from{0};
    SpinLatch latch;
  };

  static bool TryTake(TxnSlot& slot) {
    uint64_t expected = TxnSlot::kFree;
    return slot.read_ts.load(std::memory_order_relaxed) == TxnSlot::kFree &&
           slot.read_ts.compare_exchange_strong(expected, TxnSlot::kNoSnapshot,
                                                std::memory_order_acq_rel);
  }
  static void Forget(Txn& txn) {
    txn.slot_ = nullptr;
    txn.record_ = nullptr;
    txn.has_snapshot_ = txn.has_read_ = txn.deadlocked_ = txn.tracks_reads_ = false;
    txn.is_vain_to_repeat_ = false;
    txn.id_ = TxnId{0};
    txn.admitted_bytes_ = txn.charged_read_bytes_ = 0;
    txn.listed_trees_ = 0;
    txn.savepoints_.reset();
    txn.spilled_blocks_.reset();
    if (txn.read_set_ != nullptr) txn.read_set_->Clear();
  }
  void TakeSnapshot(Txn& txn);
  void ScanSlots(LiveSnapshots* live = nullptr);
  TxnSlot* TakeSlot();
  /// Makes the first `slots` slots usable. Slots come into use lowest first, so few transactions at
  /// once take little memory.
  void PrepareSlots(uint32_t slots);

  Runtime& runtime_;
  ReservedBuffer slot_memory_;  // of kMaxTransactions slots
  TxnSlot* const slots_;        // those below high_water_ exist
  alignas(64) std::atomic<uint32_t> high_water_{0};
  SpinLatch prepare_latch_;  // held while high_water_ rises
  PaddedCounter next_txn_;
  PaddedCounter clock_;
  Bounds bounds_;
  alignas(64) SpinLatch commit_latch_;
};

/// Holds the snapshot of a transaction for a scope. For walks through versions, and for following
/// an overflow chain, whose pages may be reused once no snapshot needs them.
class [[nodiscard]] SnapshotHold {
 public:
  explicit SnapshotHold(Txn& txn) : txn_(txn), held_(SnapshotManager::Hold(txn)) {}
  ~SnapshotHold() {
    if (held_) SnapshotManager::Unhold(txn_);
  }
  SnapshotHold(const SnapshotHold&) = delete;
  SnapshotHold& operator=(const SnapshotHold&) = delete;
  /// False: the snapshot has expired.
  bool held() const { return held_; }

 private:
  Txn& txn_;
  const bool held_;
};

}  // namespace latchkey
