#include "storage/runtime/mutex.h"

#include <catch2/catch.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "storage/runtime/testing/every_runtime.h"
#include "storage/runtime/testing/forwarding_runtime.h"

namespace latchkey::mutex_test {
namespace {

void RunActors(Runtime& runtime, int count, const std::function<void(int)>& body) {
  std::vector<std::unique_ptr<Actor>> actors;
  for (int i = 0; i < count; ++i) {
    actors.push_back(runtime.Spawn("actor", [&body, i] { body(i); }));
  }
  for (auto& actor : actors) actor->Join();
}

TEST_CASE("A mutex excludes: increments of a plain counter are never lost") {
  OnEveryRuntime([](Runtime& runtime) {
    Mutex mutex(runtime);
    uint64_t counter = 0;
    RunActors(runtime, 4, [&](int) {
      for (int i = 0; i < 20'000; ++i) {
        MutexLock lock(mutex);
        ++counter;
      }
    });
    CHECK(counter == 80'000);
  });
}

TEST_CASE("A held mutex cannot be taken a second time, and a free one can") {
  OnEveryRuntime([](Runtime& runtime) {
    Mutex mutex(runtime);
    CHECK(mutex.TryLock());
    CHECK_FALSE(mutex.TryLock());
    mutex.Unlock();
    CHECK_FALSE(mutex.Lock());  // free: the caller did not sleep
    mutex.Unlock();
    CHECK(&mutex.runtime() == &runtime);
  });
}

TEST_CASE("Lock calls before_try before each try but the first") {
  OnEveryRuntime([](Runtime& runtime) {
    Mutex mutex(runtime);
    int told = 0;
    CHECK_FALSE(mutex.Lock([&] { ++told; }));
    CHECK(told == 0);  // it was free
    const auto waiter = runtime.Spawn("waiter", [&] {
      mutex.Lock([&] { ++told; });
      mutex.Unlock();
    });
    runtime.SleepFor(20 * kNanosPerMilli);
    mutex.Unlock();
    waiter->Join();
    CHECK(told >= 1);  // how often depends on the schedule
  });
}

// Counts the sleeps of all actors.
class CountingSleeps final : public ForwardingRuntime {
 public:
  using ForwardingRuntime::ForwardingRuntime;
  bool WaitOnWord(std::atomic<uint32_t>& word, uint32_t expected, Nanos timeout) override {
    ++sleeps;
    return ForwardingRuntime::WaitOnWord(word, expected, timeout);
  }
  std::atomic<int> sleeps{0};
};

TEST_CASE("A mutex held for long puts its waiters to sleep and wakes every one of them") {
  OnEveryRuntime([](Runtime& runtime) {
    CountingSleeps counting(runtime);
    Mutex mutex(counting);
    mutex.Lock();
    std::atomic<int> entered{0}, slept{0};
    std::vector<std::unique_ptr<Actor>> actors;
    for (int i = 0; i < 3; ++i) {
      actors.push_back(runtime.Spawn("waiter", [&] {
        if (mutex.Lock()) ++slept;
        ++entered;
        mutex.Unlock();
      }));
    }
    // Waits until all three sleep: no fixed time is long enough for all schedules.
    Backoff backoff(runtime);
    while (counting.sleeps < 3) backoff.Pause();
    CHECK(entered == 0);
    mutex.Unlock();
    for (auto& actor : actors) actor->Join();
    CHECK(entered == 3);
    CHECK(slept >= 1);
  });
}

TEST_CASE("A spin latch excludes: increments of a plain counter are never lost") {
  OnEveryRuntime([](Runtime& runtime) {
    SpinLatch latch;
    uint64_t counter = 0;
    RunActors(runtime, 4, [&](int) {
      for (int i = 0; i < 20'000; ++i) {
        SpinLatchGuard guard(latch, runtime);
        ++counter;
      }
    });
    CHECK(counter == 80'000);
    CHECK(latch.TryLock());
    CHECK_FALSE(latch.TryLock());
    latch.Unlock();
  });
}

// A bounded buffer on two condition variables.
class BoundedBuffer {
 public:
  explicit BoundedBuffer(Runtime& runtime) : mutex_(runtime) {}
  void Put(int value) {
    MutexLock lock(mutex_);
    while (values_.size() >= 4) not_full_.Wait(mutex_);
    values_.push_back(value);
    not_empty_.NotifyOne(mutex_);
  }
  int Take() {
    MutexLock lock(mutex_);
    while (values_.empty()) not_empty_.Wait(mutex_);
    const int value = values_.front();
    values_.pop_front();
    not_full_.NotifyOne(mutex_);
    return value;
  }

 private:
  Mutex mutex_;
  CondVar not_full_, not_empty_;
  std::deque<int> values_;
};

TEST_CASE("Producers and consumers over condition variables lose and double nothing") {
  OnEveryRuntime([](Runtime& runtime) {
    constexpr int kValues = 5000;
    BoundedBuffer buffer(runtime);
    std::vector<std::atomic<int>> taken(2 * kValues);
    RunActors(runtime, 4, [&](int actor) {
      for (int i = 0; i < kValues; ++i) {
        if (actor < 2) {
          buffer.Put(actor * kValues + i);
        } else {
          ++taken[buffer.Take()];
        }
      }
    });
    int wrong = 0;
    for (const auto& times : taken) wrong += times != 1;
    CHECK(wrong == 0);
  });
}

TEST_CASE("A wait on a condition variable times out with the mutex held again") {
  OnEveryRuntime([](Runtime& runtime) {
    Mutex mutex(runtime);
    CondVar changed;
    MutexLock lock(mutex);
    const Nanos start = runtime.Now();
    while (changed.Wait(mutex, 2 * kNanosPerMilli)) {
    }
    CHECK(runtime.Now() - start >= 2 * kNanosPerMilli);
    CHECK_FALSE(mutex.TryLock());
  });
}

TEST_CASE("NotifyAll ends every wait") {
  OnEveryRuntime([](Runtime& runtime) {
    Mutex mutex(runtime);
    CondVar changed;
    bool go = false;
    int waiting = 0, woken = 0;
    std::vector<std::unique_ptr<Actor>> actors;
    for (int i = 0; i < 4; ++i) {
      actors.push_back(runtime.Spawn("waiter", [&] {
        MutexLock lock(mutex);
        ++waiting;
        while (!go) changed.Wait(mutex);
        ++woken;
      }));
    }
    Backoff backoff(runtime);
    for (bool all = false; !all; backoff.Pause()) {
      MutexLock lock(mutex);
      all = waiting == 4;
    }
    {
      MutexLock lock(mutex);
      go = true;
      changed.NotifyAll(mutex);
    }
    for (auto& actor : actors) actor->Join();
    CHECK(woken == 4);
  });
}

}  // namespace
}  // namespace latchkey::mutex_test
