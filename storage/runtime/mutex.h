// Mutex, CondVar and SpinLatch: built once, on the Runtime, for all runtimes.
#pragma once

#include <absl/functional/function_ref.h>

#include <atomic>
#include <cstdint>

#include "storage/base/thread_annotations.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// A mutual exclusion lock: spins briefly, then sleeps in the runtime (a three-state futex mutex: 0
/// free, 1 held, 2 held with possible sleepers). Not recursive. Not strictly fair.
class LATCHKEY_CAPABILITY("mutex") Mutex {
 public:
  explicit Mutex(Runtime& runtime) : runtime_(runtime) {}
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  bool TryLock() LATCHKEY_TRY_ACQUIRE(true) {
    runtime_.SchedulePoint();
    return TryAcquire();
  }
  /// Returns true when the caller had to sleep, which BP-Wrapper counts as a "contention".
  bool Lock() LATCHKEY_ACQUIRE() {
    return Lock([] {});
  }
  /// The same. Calls `before_try` before each further try, if the first one fails.
  bool Lock(absl::FunctionRef<void()> before_try) LATCHKEY_ACQUIRE() {
    return TryLock() ? false : LockSlow(before_try);
  }
  void Unlock() LATCHKEY_RELEASE() {
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
  bool LockSlow(absl::FunctionRef<void()> before_try);

  Runtime& runtime_;
  std::atomic<uint32_t> state_{0};
};

/// Holds a Mutex for a scope.
class [[nodiscard]] LATCHKEY_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) LATCHKEY_ACQUIRE(mutex) : mutex_(mutex) { mutex_.Lock(); }
  ~MutexLock() LATCHKEY_RELEASE() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

/// Condition variable over a Mutex. Spurious wake-ups happen: wait in a loop over the condition.
class CondVar {
 public:
  /// Waits for a notification; returns false when `timeout` passed. Releases `mutex` while waiting
  /// and holds it again on return.
  bool Wait(Mutex& mutex, Nanos timeout = kForever) LATCHKEY_REQUIRES(mutex);
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
class LATCHKEY_CAPABILITY("latch") SpinLatch {
 public:
  bool TryLock() LATCHKEY_TRY_ACQUIRE(true) {
    return !held_.load(std::memory_order_relaxed) &&
           !held_.exchange(true, std::memory_order_acquire);
  }
  void Lock(Runtime& runtime) LATCHKEY_ACQUIRE() {
    runtime.SchedulePoint();
    if (TryLock()) return;
    Backoff backoff(runtime);
    do {
      backoff.Pause();
    } while (!TryLock());
  }
  void Unlock() LATCHKEY_RELEASE() { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

/// Holds a SpinLatch for a scope.
class [[nodiscard]] LATCHKEY_SCOPED_CAPABILITY SpinLatchGuard {
 public:
  SpinLatchGuard(SpinLatch& latch, Runtime& runtime) LATCHKEY_ACQUIRE(latch)
      : latch_(latch), runtime_(runtime) {
    latch_.Lock(runtime);
  }
  ~SpinLatchGuard() LATCHKEY_RELEASE() {
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
