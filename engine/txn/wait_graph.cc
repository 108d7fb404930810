#include "engine/txn/wait_graph.h"

#include <algorithm>

namespace latchkey {

WaitResult WaitGraph::WaitFor(Txn& txn, const WriterRef& owner, Nanos deadline) {
  Returned(txn);
  Waiter waiter{.actor = runtime_.ActorIndex(), .owner = owner};
  const WaitResult entered = Enter(txn, waiter);
  if (entered != WaitResult::kEnded) {
    txn.deadlocked_ = entered == WaitResult::kDeadlock;
    return entered;
  }
  const bool ended = Sleep(txn, owner, deadline);
  Leave(waiter);
  return ended ? WaitResult::kEnded : WaitResult::kTooLong;
}

WaitResult WaitGraph::Enter(const Txn& txn, Waiter& waiter) {
  MutexLock lock(mutex_);
  // The chain ends at the latest when it has met every waiting actor.
  WriterRef at = waiter.owner;
  for (uint32_t met = 0; met <= Runtime::kMaxActors; ++met) {
    if (at.record == nullptr || !at.record->IsRunning(at.id)) break;
    if (at.record == txn.record_) return WaitResult::kDeadlock;
    const uint32_t user = at.record->user.load(std::memory_order_relaxed);
    if (user == waiter.actor) return WaitResult::kOwnThread;
    const Waiter* next = Find(user);
    if (next == nullptr) break;
    at = next->owner;
  }
  waiter.next = waiters_;
  waiter.link = &waiters_;
  if (waiters_ != nullptr) waiters_->link = &waiter.next;
  waiters_ = &waiter;
  return WaitResult::kEnded;
}

const WaitGraph::Waiter* WaitGraph::Find(uint32_t actor) const {
  const Waiter* waiter = waiters_;
  while (waiter != nullptr && waiter->actor != actor) waiter = waiter->next;
  return waiter;
}

std::vector<uint32_t> WaitGraph::ActorsBehind(const Txn& txn) const {
  std::vector<uint32_t> behind;
  if (txn.record_ == nullptr || txn.record_->waiters.load(std::memory_order_acquire) == 0) {
    return behind;
  }
  const auto has = [&](uint32_t actor) {
    return std::find(behind.begin(), behind.end(), actor) != behind.end();
  };
  MutexLock lock(mutex_);
  for (bool found = true; found;) {
    found = false;
    for (const Waiter* waiter = waiters_; waiter != nullptr; waiter = waiter->next) {
      const WriteRecord& owner = *waiter->owner.record;
      const bool waits_for_it =
          owner.IsRunning(waiter->owner.id) && (&owner == txn.record_ || has(owner.user.load()));
      if (!waits_for_it || has(waiter->actor)) continue;
      behind.push_back(waiter->actor);
      found = true;
    }
  }
  return behind;
}

void WaitGraph::Leave(Waiter& waiter) {
  MutexLock lock(mutex_);
  *waiter.link = waiter.next;
  if (waiter.next != nullptr) waiter.next->link = waiter.link;
}

bool WaitGraph::Sleep(Txn& txn, const WriterRef& owner, Nanos deadline) {
  WriteRecord& record = *owner.record;
  record.waiters.fetch_add(1, std::memory_order_seq_cst);
  while (true) {
    // `ends` is loaded first: if the owner ends after this, the word differs and the wait returns
    // at once.
    const uint32_t ends = record.ends.load(std::memory_order_seq_cst);
    if (!record.IsRunning(owner.id)) break;
    const Nanos now = deadline == kForever ? 0 : runtime_.Now();
    if (now >= deadline) {
      record.waiters.fetch_sub(1, std::memory_order_release);
      return false;
    }
    runtime_.WaitOnWord(record.ends, ends, deadline == kForever ? kForever : deadline - now);
  }
  txn.waited_for_ = &record;
  return true;
}

void WaitGraph::YieldToWaiters(WriteRecord& record) {
  constexpr uint32_t kMostSteps = 200;  // with threads about 30 ms, most of it asleep
  Backoff backoff(runtime_);
  while (record.waiters.load(std::memory_order_acquire) != 0 && backoff.attempts() < kMostSteps) {
    backoff.Pause();
  }
}

void WaitGraph::WakeWaiters(WriteRecord& record) {
  // Either this load sees the waiter, or the waiter sees the new `ends` and with it the outcome.
  record.ends.fetch_add(1, std::memory_order_seq_cst);
  if (record.waiters.load(std::memory_order_seq_cst) != 0) runtime_.Wake(record.ends, UINT32_MAX);
}

}  // namespace latchkey
