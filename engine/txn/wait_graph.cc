#include "engine/txn/wait_graph.h"

namespace latchkey {

absl::Status WaitGraph::WaitFor(Txn& txn, const WriterRef& owner) {
  Returned(txn);
  // Who has written nothing holds no lock: nobody waits for it, so it closes no circle.
  if (txn.record_ == nullptr) {
    Sleep(txn, owner);
    return absl::OkStatus();
  }
  absl::Status entered = Enter(*txn.record_, owner);
  if (!entered.ok()) {
    txn.deadlocked_ = true;
    return entered;
  }
  Sleep(txn, owner);
  Leave(*txn.record_);
  return absl::OkStatus();
}

absl::Status WaitGraph::Enter(WriteRecord& waiter, const WriterRef& owner) {
  MutexLock lock(mutex_);
  // A transaction that has ended waits for nobody, and one that waits cannot end meanwhile: the
  // chain holds still while the mutex is held, and no circle is in it yet.
  WriterRef at = owner;
  while (at.record != nullptr && at.record->IsRunning(at.id)) {
    if (at.record == &waiter) {
      return absl::AbortedError(
          "deadlock: this transaction and others wait for each other's keys; roll back and run it "
          "again");
    }
    at = at.record->waits_for;
  }
  waiter.waits_for = owner;
  return absl::OkStatus();
}

void WaitGraph::Leave(WriteRecord& waiter) {
  MutexLock lock(mutex_);
  waiter.waits_for = {};
}

void WaitGraph::Sleep(Txn& txn, const WriterRef& owner) {
  WriteRecord& record = *owner.record;
  record.waiters.fetch_add(1, std::memory_order_seq_cst);
  while (true) {
    // `ends` first: if the owner ends after this, the word differs and the wait returns at once.
    const uint32_t ends = record.ends.load(std::memory_order_seq_cst);
    if (!record.IsRunning(owner.id)) break;
    runtime_.WaitOnWord(record.ends, ends, kForever);
  }
  txn.waited_for_ = &record;
}

void WaitGraph::YieldToWaiters(WriteRecord& record) {
  constexpr uint32_t kMostSteps = 200;  // with threads: about 30 ms, most of it asleep
  Backoff backoff(runtime_);
  while (record.waiters.load(std::memory_order_acquire) != 0 && backoff.attempts() < kMostSteps) {
    backoff.Pause();
  }
}

void WaitGraph::WakeWaiters(WriteRecord& record) {
  // Either this sees the waiter, or the waiter sees the new `ends` and with it the outcome.
  record.ends.fetch_add(1, std::memory_order_seq_cst);
  if (record.waiters.load(std::memory_order_seq_cst) != 0) runtime_.Wake(record.ends, UINT32_MAX);
}

}  // namespace latchkey
