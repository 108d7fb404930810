// Mutex, CondVar and SpinLatch: built once, on the Runtime, for everything above.
#pragma once

#include <atomic>
#include <cstdint>

#include "storage/runtime/runtime.h"

namespace latchkey {

/// A fair-enough mutual exclusion lock: spins briefly, then sleeps in the runtime (a three-state
/// futex mutex: 0 free, 1 held, 2 held with possible sleepers). Not recursive.
class Mutex {
 public:
  explicit Mutex(Runtime& runtime) : runtime_(runtime) {}
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  bool TryLock() {
    runtime_.SchedulePoint();
    return TryAcquire();
  }
  /// Returns true when the caller had to sleep: the "contention" that BP-Wrapper counts.
  bool Lock() { return TryLock() ? false : LockSlow(); }
  void Unlock() {
    if (state_.exchange(0, std::memory_order_release) == 2) {
      runtime_.Wake(state_, 1);
    } else {
      runtime_.SchedulePoint();
    }
  }
  Runtime& runtime() { return runtime_; }

 private:
  friend class CondVar;
  bool TryAcquire() {
    uint32_t free = 0;
    return state_.compare_exchange_strong(free, 1, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  bool LockSlow();

  Runtime& runtime_;
  std::atomic<uint32_t> state_{0};
};

/// Holds a Mutex for a scope.
class [[nodiscard]] MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) : mutex_(mutex) { mutex_.Lock(); }
  ~MutexLock() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

/// Condition variable over a Mutex. Spurious wake-ups happen: wait in a loop on the condition.
class CondVar {
 public:
  /// REQUIRES: `mutex` held; it is released while waiting and held again on return. Returns false
  /// when `timeout` passed.
  bool Wait(Mutex& mutex, Nanos timeout = kForever);
  void NotifyOne(Mutex& mutex) { Notify(mutex.runtime_, 1); }
  void NotifyAll(Mutex& mutex) { Notify(mutex.runtime_, UINT32_MAX); }

 private:
  void Notify(Runtime& runtime, uint32_t count) {
    sequence_.fetch_add(1, std::memory_order_release);
    runtime.Wake(sequence_, count);
  }
  std::atomic<uint32_t> sequence_{0};
};

/// A one-byte lock for critical sections of a few instructions (test-and-test-and-set with the
/// runtime's back-off). Never held across I/O or another wait.
class SpinLatch {
 public:
  bool TryLock() {
    return !held_.load(std::memory_order_relaxed) &&
           !held_.exchange(true, std::memory_order_acquire);
  }
  void Lock(Runtime& runtime) {
    runtime.SchedulePoint();
    if (TryLock()) return;
    Backoff backoff(runtime);
    do {
      backoff.Pause();
    } while (!TryLock());
  }
  void Unlock() { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

/// Holds a SpinLatch for a scope.
class [[nodiscard]] SpinLatchGuard {
 public:
  SpinLatchGuard(SpinLatch& latch, Runtime& runtime) : latch_(latch), runtime_(runtime) {
    latch_.Lock(runtime);
  }
  ~SpinLatchGuard() {
    latch_.Unlock();
    runtime_.SchedulePoint();
  }
  SpinLatchGuard(const SpinLatchGuard&) = delete;
  SpinLatchGuard& operator=(const SpinLatchGuard&) = delete;

 private:
  SpinLatch& latch_;
  Runtime& runtime_;
};

}  // namespace latchkey
