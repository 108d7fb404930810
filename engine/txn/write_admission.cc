#include "engine/txn/write_admission.h"

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
// The undo of a transaction is spilled if it exceeds a kSpillShare-th of the bound.
constexpr uint64_t kSpillShare = 4;
// Back-offs before a write is refused for lack of room: less than 0.1 s with threads.
constexpr uint32_t kMostPauses = 512;

}  // namespace

absl::Status WriteAdmission::AdmitGrowth(Txn& txn) {
  const uint64_t bound = budget_.bound();
  // Savepoints name entries in memory.
  if (bound != 0 && VersionBudget::OwnUndo(txn) > bound / kSpillShare && spiller_.CanSpill() &&
      txn.savepoints_ == nullptr) {
    spiller_.SpillUndo(txn).IgnoreError();  // if it fails, it stays in memory, within the bound
  }
  const uint64_t own = VersionBudget::OwnUndo(txn);
  if (bound != 0 && own > bound) {
    return MakeStatus(
        absl::StatusCode::kResourceExhausted,
        "the undo of this transaction takes {} bytes, more than the {} of the version "
        "store: commit or roll back and use smaller transactions, or raise "
        "Options::version_store_bytes (undo stays in memory if there are savepoints, or if the "
        "transaction has inserted where others appended after its snapshot)",
        own, bound);
  }
  // The store may be too full for a moment only: while another actor collects, or a snapshot is
  // held.
  const uint64_t allowed = own < bound / kSmallShare ? bound + bound / kReserveShare : bound;
  Backoff backoff(runtime_);
  while (bound != 0 && budget_.used() > bound) {
    reclaimer_.Reclaim();
    const uint64_t total = budget_.used();
    if (total <= allowed) break;
    if (backoff.attempts() >= kMostPauses && !spiller_.is_spilling()) {
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

}  // namespace latchkey
