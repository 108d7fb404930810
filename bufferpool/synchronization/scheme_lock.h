// The lock around a replacement algorithm, with the ways of waiting that the papers compare.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "storage/base/thread_annotations.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// How an actor waits for the lock.
enum class LockKind : uint8_t {
  kSleep,  ///< spins briefly, then sleeps (BP-Wrapper's baseline)
  kSpin,   ///< test-and-set without a pause between the tries
  kTtas,   ///< test-and-test-and-set with exponential back-off (Nb-GCLOCK's baseline)
};

/// The names of the kinds, in the order of LockKind.
inline constexpr std::string_view kLockKindNames[] = {"sleep", "spin", "ttas"};

/// Not recursive, not fair. A spinning waiter gives up its processor after some thousand tries,
/// because the holder may need that processor to go on.
class LATCHKEY_CAPABILITY("mutex") SchemeLock {
 public:
  SchemeLock(Runtime& runtime, LockKind kind) : kind_(kind), mutex_(runtime) {}

  bool TryLock() LATCHKEY_TRY_ACQUIRE(true) LATCHKEY_NO_THREAD_SAFETY_ANALYSIS {
    mutex_.runtime().TakeOver(word_);
    return kind_ == LockKind::kSleep ? mutex_.TryLock() : Test(mutex_.runtime());
  }
  /// Returns true when the caller gave up its processor while it waited: a contention, as
  /// BP-Wrapper counts them.
  bool Lock() LATCHKEY_ACQUIRE() LATCHKEY_NO_THREAD_SAFETY_ANALYSIS {  // one of two locks
    Runtime& runtime = mutex_.runtime();
    const auto take_over = [&] { runtime.TakeOver(word_); };
    take_over();
    return kind_ == LockKind::kSleep ? mutex_.Lock(take_over) : !Test(runtime) && Spin();
  }
  void Unlock() LATCHKEY_RELEASE() LATCHKEY_NO_THREAD_SAFETY_ANALYSIS {
    mutex_.runtime().TakeOver(word_);
    if (kind_ == LockKind::kSleep) {
      mutex_.Unlock();
    } else {
      held_.store(false, std::memory_order_release);
      mutex_.runtime().SchedulePoint();
    }
  }

 private:
  static constexpr uint32_t kTriesAtOnce = 4096;
  static constexpr uint32_t kSpinningSteps = 6;  // of Runtime::BackOff, before it yields

  bool Test(Runtime& runtime) {
    runtime.SchedulePoint();
    return !held_.exchange(true, std::memory_order_acquire);
  }

  bool Spin() {
    Runtime& runtime = mutex_.runtime();
    uint32_t step = 0;
    for (uint32_t tries = 0;; ++tries) {
      const bool looks_free = kind_ == LockKind::kSpin || !held_.load(std::memory_order_relaxed);
      if (looks_free) {
        runtime.TakeOver(word_);
        if (!held_.exchange(true, std::memory_order_acquire)) break;
      }
      if (kind_ == LockKind::kTtas || tries >= kTriesAtOnce) {
        runtime.BackOff(step++);
      } else {
        runtime.BackOff(0);
      }
    }
    return step > kSpinningSteps;
  }

  const LockKind kind_;
  Mutex mutex_;                    // kSleep
  std::atomic<bool> held_{false};  // the others
  HotWord word_;                   // of a simulation: mutex_ or held_
};

}  // namespace latchkey
