// Waits for the locks of other transactions: their bound, their errors and their counters. Which
// waits would never end is known to the wait graph.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <vector>

#include "engine/txn/snapshot_manager.h"
#include "engine/txn/version_stats.h"
#include "engine/txn/wait_graph.h"
#include "storage/runtime/runtime.h"
#include "storage/runtime/wait_ledger.h"

namespace latchkey {

/// The waits of one call for the locks of other transactions.
struct LockWait {
  Nanos deadline = 0;  ///< 0: the call has not waited yet
  TxnId first_owner{0};
  bool has_one_owner = true;  ///< all waits were for the first owner
};

/// Thread-safety: every actor may call every member at once, each Txn from its own actor.
class LockWaits {
 public:
  LockWaits(Runtime& runtime, WaitGraph& graph, VersionCounters& counters)
      : runtime_(runtime), graph_(graph), counters_(counters) {}

  /// Waits until `owner` has finished. Aborted: the wait would be a deadlock, would be of the
  /// calling actor for itself, or the call has waited for the longest time that SetMostWait allows.
  /// A repetition is vain only if one owner has kept the lock all that time. REQUIRES: no latches
  /// held.
  absl::Status WaitFor(Txn& txn, const WriterRef& owner, LockWait& wait);
  /// Sets how long one call may wait for other transactions. REQUIRES: no call has waited yet.
  void SetMostWait(Nanos lock_wait) { lock_wait_ = lock_wait; }
  /// Where waits are noted. REQUIRES: no call has waited yet.
  void SetLedger(WaitLedger* ledger) { ledger_ = ledger; }
  /// See WaitGraph.
  std::vector<uint32_t> ActorsBehind(const Txn& txn) const { return graph_.ActorsBehind(txn); }
  /// Counts `txn` as the victim of a deadlock that others have found. Its rollback lets the
  /// transactions that wait for it go first.
  void NoteVictim(Txn& txn);
  /// The time at which a call that begins to wait now gives up.
  Nanos Deadline() const { return lock_wait_ == kForever ? kForever : runtime_.Now() + lock_wait_; }

 private:
  Runtime& runtime_;
  WaitGraph& graph_;
  VersionCounters& counters_;
  Nanos lock_wait_ = kForever;
  WaitLedger* ledger_ = nullptr;
};

}  // namespace latchkey
