// The bound on the memory of old versions. At the bound the store first collects what no snapshot
// needs, then spills the rest. If the disk has no room either, the oldest snapshot expires, then
// the next. If the undo of running transactions alone fills the store, writes are refused.
#include <algorithm>

#include "engine/txn/version_store.h"
#include "storage/base/check.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

// While the store is full of undo, transactions with less than a kSmallShare-th of the bound go on
// writing within a reserve of a kReserveShare-th of it: a large one must not stop all the small
// ones.
constexpr uint64_t kSmallShare = 16;
constexpr uint64_t kReserveShare = 4;
// A transaction with at most a kAloneShare-th of the bound gets Aborted, for the sake of others.
constexpr uint64_t kAloneShare = 2;
// Read sets together may take a kReadsShare-th of the bound.
constexpr uint64_t kReadsShare = 4;
// The undo of a transaction is spilled if it exceeds a kSpillShare-th of the bound.
constexpr uint64_t kSpillShare = 4;
// The account of read sets changes in steps of at least this many bytes.
constexpr uint64_t kReadsStep = 4096;
// Back-offs before a write is refused for lack of room: less than 0.1 s with threads.
constexpr uint32_t kMostPauses = 512;
// Most snapshots that one call lets expire, so that other calls get their turn.
constexpr int kMostExpired = 64;

}  // namespace

absl::Status SnapshotTooOld() {
  return absl::AbortedError(
      "snapshot too old: the version store was full, and this transaction's snapshot the oldest; "
      "roll back and run it again, or give old versions more room on disk "
      "(Options::snapshot_spill_bytes) or in memory (Options::version_store_bytes)");
}

absl::Status VersionStore::AdmitGrowth(Txn& txn) {
  const uint64_t bound = bound_.load(std::memory_order_relaxed);
  // Savepoints name entries in memory.
  if (bound != 0 && OwnUndoBytes(txn) > bound / kSpillShare && CanSpill() &&
      txn.savepoints_ == nullptr) {
    SpillUndo(txn).IgnoreError();  // if it fails, it stays in memory, within the bound
  }
  const uint64_t own = OwnUndoBytes(txn);
  if (bound != 0 && own > bound) {
    return MakeStatus(
        absl::StatusCode::kResourceExhausted,
        "the undo of this transaction takes {} bytes, more than the {} of the version "
        "store: commit or roll back and use smaller transactions, or raise "
        "Options::version_store_bytes (a transaction with savepoints keeps its undo in memory)",
        own, bound);
  }
  // The store may be too full for a moment only: while another actor collects, or a snapshot is
  // held.
  const uint64_t allowed = own < bound / kSmallShare ? bound + bound / kReserveShare : bound;
  Backoff backoff(runtime_);
  while (bound != 0 && BoundedBytes() > bound) {
    Reclaim();
    const uint64_t total = BoundedBytes();
    if (total <= allowed) break;
    if (backoff.attempts() >= kMostPauses && !spilling_.load(std::memory_order_relaxed)) {
      // A transaction that would find room alone runs again; one that fills most of the store may
      // never find it.
      const bool others_first = own <= bound / kAloneShare;
      return MakeStatus(
          others_first ? absl::StatusCode::kAborted : absl::StatusCode::kResourceExhausted,
          "the undo of the running transactions fills the version store ({} bytes of {}, {} of "
          "them this transaction's): {}, or raise Options::version_store_bytes",
          total, bound, own,
          others_first ? "roll back and run it again, with fewer transactions at once"
                       : "commit or roll back and use smaller transactions");
    }
    backoff.Pause();
  }
  txn.admitted_bytes_ = own;
  return absl::OkStatus();
}

void VersionStore::Reclaim() {
  const uint64_t bound = bound_.load(std::memory_order_relaxed);
  // Starts early, because spilling takes a while, in which other actors go on writing.
  const uint64_t limit = CanSpill() ? bound - bound / 4 : bound;
  if (bound == 0 || BoundedBytes() <= limit) return;
  if (reclaiming_.exchange(true, std::memory_order_acquire)) return;
  for (int expired = 0; expired <= kMostExpired; ++expired) {
    snapshots_.RefreshBoundsNow();
    for (uint32_t queue = 0; queue < kStripes; ++queue) CollectFrom(queue, UINT64_MAX);
    if (BoundedBytes() <= limit) break;
    const bool can_spill = CanSpill();
    SettleAndSweepAll(/*thaw=*/!can_spill);
    if (BoundedBytes() <= bound / 2 || SpillSettled()) break;
    if (can_spill) SettleAndSweepAll(/*thaw=*/true);
    if (BoundedBytes() <= bound) break;
    // Commits that a read set must be checked against cannot settle: they fill the store first.
    if (!snapshots_.ExpireOldest(/*of_validated=*/true) && !snapshots_.ExpireOldest()) break;
    counters().expired.fetch_add(1, std::memory_order_relaxed);
  }
  reclaiming_.store(false, std::memory_order_release);
}

void VersionStore::ChargeReads(Txn& txn) {
  const uint64_t grown = txn.reads()->bytes() - txn.charged_read_bytes_ + kReadsStep;
  const uint64_t total = read_set_bytes_.fetch_add(grown, std::memory_order_relaxed) + grown;
  txn.charged_read_bytes_ += grown;
  const uint64_t bound = bound_.load(std::memory_order_relaxed);
  if (bound == 0 || total <= bound / kReadsShare || grown == txn.charged_read_bytes_) return;
  txn.reads()->Coarsen();
  ReleaseReads(txn);
}

void VersionStore::ReleaseReads(Txn& txn) {
  if (txn.charged_read_bytes_ == 0) return;
  read_set_bytes_.fetch_sub(txn.charged_read_bytes_, std::memory_order_relaxed);
  txn.charged_read_bytes_ = 0;
}

}  // namespace latchkey
