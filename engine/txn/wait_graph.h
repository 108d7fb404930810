// Waiting for another transaction to end, and finding out that it would never end.
//
// A transaction waits for at most one other, so the waits-for graph is a set of chains: who is
// about to wait follows the chain from the owner; a chain that leads back to itself is a deadlock,
// and the one who closes the circle is refused. No time-outs.
#pragma once

#include <absl/status/status.h>

#include "engine/txn/snapshot_manager.h"
#include "engine/txn/write_record.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// Thread-safety: all members from every actor at once.
class WaitGraph {
 public:
  explicit WaitGraph(Runtime& runtime) : runtime_(runtime), mutex_(runtime) {}

  /// Returns when `owner` has ended, however. Aborted when `owner` waits, directly or not, for
  /// `txn`.
  absl::Status WaitFor(Txn& txn, const WriterRef& owner);

  /// Notes that `txn` has come back from its wait to the write that it waited for.
  static void Returned(Txn& txn) {
    if (txn.waited_for_ == nullptr) return;
    txn.waited_for_->waiters.fetch_sub(1, std::memory_order_release);
    txn.waited_for_ = nullptr;
  }

  /// Lets those go first who waited for the transaction of `record`, the victim of a deadlock: it
  /// has ended, and would otherwise run again at once, take its locks before they wake, and meet
  /// the same deadlock. A courtesy: gives up after a while.
  void YieldToWaiters(WriteRecord& record);

  /// Wakes who waits for the transaction of `record`, whose outcome is set.
  void WakeWaiters(WriteRecord& record);

 private:
  absl::Status Enter(WriteRecord& waiter, const WriterRef& owner);
  void Leave(WriteRecord& waiter);
  void Sleep(Txn& txn, const WriterRef& owner);

  Runtime& runtime_;
  Mutex mutex_;  // guards waits_for of every record
};

}  // namespace latchkey
