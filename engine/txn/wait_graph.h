// Waiting for another transaction to end, and refusing waits that would never end.
//
// An actor waits for at most one transaction. A running transaction can only be ended by an actor,
// in general the one that has used it last. So the waits form chains: actor, the transaction it
// waits for, the last user of that transaction, the transaction that this actor waits for, and so
// on. An actor that is about to wait follows the chain. If the chain leads back to the actor
// itself, the wait is refused:
//
//   - at the transaction that is about to wait: a deadlock with others. Run again, it may succeed.
//   - at another transaction of the same actor: while the actor waits here, it cannot end that one.
//     Run again, the wait would be refused again.
//
// A transaction handed to another actor belongs to that actor from its first call there. The chain
// cannot show an actor that holds a lock and does something else for long; such a wait ends at its
// deadline.
#pragma once

#include <vector>

#include "engine/txn/snapshot_manager.h"
#include "engine/txn/write_record.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

enum class WaitResult : uint8_t {
  kEnded,      ///< the owner has ended, by commit or rollback
  kDeadlock,   ///< refused: the owner waits, directly or not, for this transaction
  kOwnThread,  ///< refused: the chain leads to another transaction of the calling actor
  kTooLong,    ///< the deadline has passed
};

/// Thread-safety: every actor may call every member at once.
class WaitGraph {
 public:
  explicit WaitGraph(Runtime& runtime) : runtime_(runtime), mutex_(runtime) {}

  /// Waits until `owner` has ended or `deadline` (of Runtime::Now; kForever = none) has passed.
  WaitResult WaitFor(Txn& txn, const WriterRef& owner, Nanos deadline);

  /// Indexes of the actors that wait for `txn`, or for a transaction that one of these has used last.
  /// Empty, without a lock, as long as no actor waits for `txn`. std::bad_alloc.
  std::vector<uint32_t> ActorsBehind(const Txn& txn) const;

  /// Notes that `txn` has returned from its wait to the write that it waited for.
  static void Returned(Txn& txn) {
    if (txn.waited_for_ == nullptr) return;
    txn.waited_for_->waiters.fetch_sub(1, std::memory_order_release);
    txn.waited_for_ = nullptr;
  }

  /// Lets the transactions that waited for the one of `record`, the victim of a deadlock, go first.
  /// The victim has ended. Without this it would run again at once, take its locks before they
  /// wake, and meet the same deadlock. Gives up after a while.
  void YieldToWaiters(WriteRecord& record);

  /// Wakes the actors that wait for the transaction of `record`, whose outcome is set.
  void WakeWaiters(WriteRecord& record);

 private:
  /// An actor in WaitFor; lives on its stack.
  struct Waiter {
    const uint32_t actor;
    const WriterRef owner;
    Waiter* next = nullptr;
    Waiter** link = nullptr;  // the pointer that points to this one
  };

  WaitResult Enter(const Txn& txn, Waiter& waiter);
  void Leave(Waiter& waiter);
  const Waiter* Find(uint32_t actor) const;
  bool Sleep(Txn& txn, const WriterRef& owner, Nanos deadline);  // false = too long

  Runtime& runtime_;
  mutable Mutex mutex_;
  Waiter* waiters_ = nullptr;  // guarded by mutex_
};

}  // namespace latchkey
