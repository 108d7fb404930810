// Snapshots: who is running, what each of them sees, and what everybody sees (snapshot isolation).
//
// Pages hold the newest values and one mark, `last_writer`: the id of the newest transaction that
// wrote anything in the page. A Snapshot turns that mark into an answer without any lookup: below
// `all_visible_below` every writer has finished before the snapshot was taken.
//
// Invariants
//  1. A transaction is committed exactly when its record holds a commit timestamp, and the clock
//     reaches a timestamp only after the record holds it: who reads the clock sees the commits.
//  2. Every writer with an id below all_visible_below() has finished; it committed with a timestamp
//     the clock had reached, or every page it wrote has been restored. The bound only rises.
//  3. No snapshot that is not expired, present or future, has a read_ts below oldest_snapshot().
//  The
//     bound only rises.
//  4. A snapshot expires by one change of its slot's word, which a held snapshot does not allow.
//     Whoever misses a version that went because of it finds the slot expired afterwards: the word
//     changes before the bound does, and the bound before the version goes.
//
// How a scan of the slots cannot miss anybody (all these accesses are sequentially consistent):
//  - a writer publishes a lower bound of its id before it draws the id; a scan reads the counter
//    before the slots. Who is missed by the scan drew an id at or above what the scan read;
//  - a reader publishes a lower bound of its read_ts before it reads the clock it will use; a scan
//    reads the clock before the slots. Who is missed reads a clock at or above what the scan read.
#pragma once

#include <absl/status/status.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "engine/txn/read_set.h"
#include "engine/txn/savepoint_log.h"
#include "storage/base/check.h"
#include "storage/base/ids.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

struct WriteRecord;

/// What a transaction sees: commits up to `read_ts`, and its own writes.
struct Snapshot {
  CommitTs read_ts = 0;
  TxnId all_visible_below{0};

  /// Whether everything on a page with this mark is visible, so that no lookup is needed.
  bool SeesAllOf(TxnId page_last_writer) const { return page_last_writer < all_visible_below; }
};

/// One running transaction's place in the published array. Only its transaction writes it.
struct alignas(64) TxnSlot {
  static constexpr uint64_t kFree = UINT64_MAX;
  static constexpr uint64_t kNoSnapshot = UINT64_MAX - 1;
  static constexpr uint64_t kExpired = UINT64_MAX - 2;
  /// Set beside a timestamp: the snapshot may not expire now.
  static constexpr uint64_t kHeld = uint64_t{1} << 62;
  static constexpr uint64_t kNoWriter = UINT64_MAX;

  /// The timestamp in a word of `read_ts`; UINT64_MAX when it holds no snapshot.
  static uint64_t TimestampIn(uint64_t word) { return word >= kExpired ? kFree : word & ~kHeld; }

  /// kFree, kNoSnapshot, kExpired, or a lower bound of the snapshot's read_ts, perhaps with kHeld.
  std::atomic<uint64_t> read_ts{kFree};
  /// kNoWriter, or a lower bound of the id of the running writer.
  std::atomic<uint64_t> writer{kNoWriter};
  /// Counts snapshots taken here while the bounds lagged; touched only by the slot's holder.
  uint32_t lagging_snapshots = 0;
};

/// One transaction, from SnapshotManager::Begin to VersionStore::Commit or Rollback; reusable
/// afterwards. Belongs to one actor at a time. Must be finished before it is destroyed.
class Txn {
 public:
  Txn() = default;
  ~Txn() { LATCHKEY_CHECK(slot_ == nullptr); }
  Txn(const Txn&) = delete;
  Txn& operator=(const Txn&) = delete;

  bool active() const { return slot_ != nullptr; }
  /// TxnId{0} until VersionStore::Install has been called once: then what the tree puts into the
  /// mark of every page it changes for this transaction (the maximum of mark and id).
  TxnId id() const { return id_; }
  bool has_snapshot() const { return has_snapshot_; }
  /// REQUIRES: has_snapshot().
  const Snapshot& snapshot() const { return snapshot_; }
  /// Whether the transaction has learned anything from its snapshot, which is then fixed.
  bool has_read() const { return has_read_; }
  void NoteRead() { has_read_ = true; }

  /// Makes the transaction serializable: what it reads is noted in reads(), by whoever reads for
  /// it, and checked when it commits. REQUIRES: active(), nothing read yet.
  void TrackReads() {
    if (read_set_ == nullptr) read_set_ = std::make_unique<ReadSet>();
    tracks_reads_ = true;
  }
  /// nullptr when the transaction is not serializable.
  ReadSet* reads() { return tracks_reads_ ? read_set_.get() : nullptr; }

 private:
  friend class SnapshotManager;
  friend class VersionStore;
  friend class WaitGraph;

  TxnSlot* slot_ = nullptr;
  Snapshot snapshot_;
  TxnId id_{0};
  WriteRecord* record_ = nullptr;
  bool has_snapshot_ = false;
  bool has_read_ = false;
  bool deadlocked_ = false;  // WaitFor has refused
  bool tracks_reads_ = false;
  std::unique_ptr<ReadSet> read_set_;         // kept for reuse
  std::unique_ptr<SavepointLog> savepoints_;  // null: no savepoint was set
  uint64_t admitted_bytes_ = 0;               // of own undo, as last checked against the bound
  uint64_t charged_read_bytes_ = 0;           // of read_set_, in the store's account
  WriteRecord* waited_for_ = nullptr;         // until the write that waited is tried again
};

/// Thread-safety: every member may be called from every actor at once, each Txn by its own actor.
class SnapshotManager {
 public:
  static constexpr uint32_t kMaxTransactions = 4096;

  /// Ids are drawn from `first_txn_id` on (at least 1): above every mark that pages may still
  /// carry.
  explicit SnapshotManager(Runtime& runtime, TxnId first_txn_id = TxnId{1});
  SnapshotManager(const SnapshotManager&) = delete;
  SnapshotManager& operator=(const SnapshotManager&) = delete;

  /// Starts `txn`; takes no snapshot yet. ResourceExhausted when kMaxTransactions are running.
  /// REQUIRES: !txn.active().
  absl::Status Begin(Txn& txn);

  /// The snapshot that `txn` reads from, taken at the first call. Call it before reading the page
  /// whose mark is compared with it.
  const Snapshot& ForReading(Txn& txn) {
    txn.has_read_ = true;
    return ForWriting(txn);
  }
  /// As ForReading, but the transaction learns nothing yet: a conflict may still move the snapshot.
  const Snapshot& ForWriting(Txn& txn) {
    if (!txn.has_snapshot_) TakeSnapshot(txn);
    return txn.snapshot_;
  }
  /// Moves the snapshot of `txn` to now, and to the commit at `at_least`, which may be so fresh
  /// that the clock has not reached it. REQUIRES: !txn.has_read().
  void RenewSnapshot(Txn& txn, CommitTs at_least);

  /// Whether the versions that `txn` needs may be gone, because the version store was full and its
  /// snapshot the oldest. What it has read before stands.
  static bool Expired(const Txn& txn) {
    return txn.slot_->read_ts.load(std::memory_order_acquire) == TxnSlot::kExpired;
  }
  /// Lets the oldest snapshot expire, if it is older than the newest commit. False when there is
  /// none such, or it is held, or it has ended meanwhile.
  bool ExpireOldest();
  /// Keeps the snapshot of `txn` from expiring until Unhold. False: it has expired.
  static bool Hold(Txn& txn);
  static void Unhold(Txn& txn) {
    std::atomic<uint64_t>& word = txn.slot_->read_ts;
    word.store(word.load(std::memory_order_relaxed) & ~TxnSlot::kHeld, std::memory_order_release);
  }

  /// Pages marked below this hold only what is committed. For a single read outside any
  /// transaction: load it *before* reading the page; it registers nothing and writes nothing
  /// shared.
  TxnId all_visible_below() const {
    return TxnId{bounds_.all_visible_below.load(std::memory_order_acquire)};
  }
  /// A bound below which no snapshot reads or will read; may lag behind the truth.
  CommitTs oldest_snapshot() const {
    return bounds_.oldest_snapshot.load(std::memory_order_acquire);
  }
  /// Timestamp of the newest commit.
  CommitTs clock() const { return clock_.value.load(std::memory_order_acquire); }
  /// The id that the next writer gets (a lower bound while others draw).
  TxnId next_txn_id() const { return TxnId{next_txn_.value.load(std::memory_order_acquire)}; }

  /// Scans the slots and raises both bounds. Does nothing while another actor does the same.
  void RefreshBounds() {
    if (!bounds_.latch.TryLock()) return;
    ScanSlots();
    bounds_.latch.Unlock();
  }
  /// RefreshBounds that waits for its turn: what expired before is out of the bounds after.
  void RefreshBoundsNow() {
    SpinLatchGuard guard(bounds_.latch, runtime_);
    ScanSlots();
  }
  /// RefreshBounds when enough commits have passed to pay for the scan.
  void MaybeRefreshBounds();

  /// Memory of the slots, bytes.
  size_t bytes() const { return kMaxTransactions * sizeof(TxnSlot); }

  // For the VersionStore: the steps of a writer's life.

  /// Publishes `txn` as a writer and gives it its id.
  TxnId DrawTxnId(Txn& txn);
  /// The commit point: stamps `commit_ts` with the next timestamp, then moves the clock to it.
  /// `last_step(timestamp)` runs before, in the critical section that fixes the commit order; if it
  /// returns false nothing is stamped and the result is 0.
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
  /// Runs `body(newest timestamp)` while nobody commits.
  template <typename Body>
  void BetweenCommits(Body body) {
    SpinLatchGuard guard(commit_latch_, runtime_);
    body(clock_.value.load(std::memory_order_relaxed));
  }
  /// Withdraws `txn` from the slots. A writer's pages must be restored or its record stamped.
  void End(Txn& txn) {
    txn.slot_->writer.store(TxnSlot::kNoWriter, std::memory_order_release);
    txn.slot_->read_ts.store(TxnSlot::kFree, std::memory_order_release);
    Forget(txn);
  }
  /// Ends `txn` for its caller but leaves it published for good: its pages could not be restored,
  /// so no bound may ever pass it.
  void Abandon(Txn& txn) {
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
    std::atomic<uint64_t> refreshed_at{0};  // the clock of the last scan
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
    txn.id_ = TxnId{0};
    txn.admitted_bytes_ = txn.charged_read_bytes_ = 0;
    txn.savepoints_.reset();
    if (txn.read_set_ != nullptr) txn.read_set_->Clear();
  }
  void TakeSnapshot(Txn& txn);
  void ScanSlots();
  TxnSlot* TakeSlot();
  void RaiseHighWater(uint32_t slots);

  Runtime& runtime_;
  const std::unique_ptr<TxnSlot[]> slots_;
  alignas(64) std::atomic<uint32_t> high_water_{0};  // slots at or above were never taken
  PaddedCounter next_txn_;
  PaddedCounter clock_;
  Bounds bounds_;
  alignas(64) SpinLatch commit_latch_;
};

/// Holds the snapshot of a transaction for a scope: what follows an overflow chain, whose pages are
/// given to others once nobody needs them, or walks through versions.
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
