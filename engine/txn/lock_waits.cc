#include "engine/txn/lock_waits.h"

#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

absl::Status Deadlock() {
  return absl::AbortedError(
      "deadlock: this transaction and others wait for each other's keys; roll back and run it "
      "again");
}

absl::Status WaitsForItself() {
  return absl::AbortedError(
      "this thread would wait for itself: the key is locked by a transaction that this thread has "
      "used last, or that waits for one; commit or roll back that transaction first, or make the "
      "change through it");
}

absl::Status LockWaitTooLong(Nanos lock_wait, bool has_one_owner) {
  if (!has_one_owner) {
    return MakeStatus(absl::StatusCode::kAborted,
                      "other transactions have kept the key locked, one after another, for {} ms: "
                      "roll back and run it again",
                      lock_wait / kNanosPerMilli);
  }
  return MakeStatus(absl::StatusCode::kAborted,
                    "another transaction has kept the key locked for {} ms: roll back and run it "
                    "again, end the other transaction, or raise Options::lock_wait_ms",
                    lock_wait / kNanosPerMilli);
}

}  // namespace

absl::Status LockWaits::WaitFor(Txn& txn, const WriterRef& owner, LockWait& wait) {
  if (wait.deadline == 0) wait = {.deadline = Deadline(), .first_owner = owner.id};
  wait.has_one_owner = wait.has_one_owner && owner.id == wait.first_owner;
  counters_.Here().waits.fetch_add(1, std::memory_order_relaxed);
  const WaitResult result = [&] {
    const WaitTimer timer(ledger_, Waited::kLock);
    return graph_.WaitFor(txn, owner, wait.deadline);
  }();
  txn.is_vain_to_repeat_ =
      result == WaitResult::kOwnThread || (result == WaitResult::kTooLong && wait.has_one_owner);
  if (result == WaitResult::kEnded) return absl::OkStatus();
  if (result == WaitResult::kTooLong) {
    counters_.Here().conflicts.fetch_add(1, std::memory_order_relaxed);
    return LockWaitTooLong(lock_wait_, wait.has_one_owner);
  }
  counters_.Here().deadlocks.fetch_add(1, std::memory_order_relaxed);
  return result == WaitResult::kDeadlock ? Deadlock() : WaitsForItself();
}

void LockWaits::NoteVictim(Txn& txn) {
  txn.deadlocked_ = true;
  txn.is_vain_to_repeat_ = false;
  counters_.Here().deadlocks.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace latchkey
