// The bound on the memory of old versions, and what happens at it: first what nobody needs is
// collected, then the oldest snapshot expires, then the next, and when running transactions alone
// fill the store, writes are refused.
#include <algorithm>

#include "engine/txn/version_store.h"
#include "storage/base/check.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

// While the store is full of undo, transactions with less than this part of the bound go on writing
// within a reserve of that part of it: a large one must not stop all the small ones.
constexpr uint64_t kSmallShare = 16;
constexpr uint64_t kReserveShare = 4;
// A transaction with at most this part of the bound is refused for the sake of others.
constexpr uint64_t kAloneShare = 2;
// Read sets together may take this part of the bound.
constexpr uint64_t kReadsShare = 4;
// The account of read sets is changed in steps of at least this, bytes.
constexpr uint64_t kReadsStep = 4096;
// Steps of waiting for room before a write is refused: with threads less than 0.1 s.
constexpr uint32_t kMostPauses = 512;
// Snapshots that one call lets expire at most: then others have had their turn.
constexpr int kMostExpired = 64;

}  // namespace

absl::Status SnapshotTooOld() {
  return absl::AbortedError(
      "snapshot too old: the version store was full, and this transaction's snapshot the oldest; "
      "roll back and run it again, or give the store more memory "
      "(Options::version_store_bytes)");
}

absl::Status VersionStore::AdmitGrowth(Txn& txn) {
  const uint64_t own = OwnUndoBytes(txn);
  const uint64_t bound = bound_.load(std::memory_order_relaxed);
  if (bound != 0 && own > bound) {
    return MakeStatus(
        absl::StatusCode::kResourceExhausted,
        "the undo of this transaction takes {} bytes, more than the {} of the version "
        "store: commit or roll back and use smaller transactions, or raise "
        "Options::version_store_bytes",
        own, bound);
  }
  // What is too much may be so for a moment only: while another actor collects, or a snapshot is
  // held.
  const uint64_t allowed = own < bound / kSmallShare ? bound + bound / kReserveShare : bound;
  Backoff backoff(runtime_);
  while (bound != 0 && BoundedBytes() > bound) {
    Reclaim();
    const uint64_t total = BoundedBytes();
    if (total <= allowed) break;
    if (backoff.attempts() >= kMostPauses) {
      // Whoever would find room alone runs again; what fills most of the store may never.
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
  if (bound == 0 || BoundedBytes() <= bound) return;
  if (reclaiming_.exchange(true, std::memory_order_acquire)) return;
  for (int expired = 0; expired <= kMostExpired; ++expired) {
    snapshots_.RefreshBoundsNow();
    for (uint32_t queue = 0; queue < kStripes; ++queue) CollectFrom(queue, UINT64_MAX);
    if (BoundedBytes() <= bound || !snapshots_.ExpireOldest()) break;
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
