#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "storage/base/check.h"
#include "storage/runtime/runtime.h"

namespace latchkey {
namespace {

// Hands out the lowest free index, so that indexes stay dense as actors come and go.
class ActorIndexes {
 public:
  uint32_t Take() {
    std::lock_guard<std::mutex> lock(mutex_);
    for (uint32_t i = 0; i < used_.size(); ++i) {
      if (!used_[i]) {
        used_[i] = true;
        return i;
      }
    }
    LATCHKEY_CHECK(used_.size() < Runtime::kMaxActors);
    used_.push_back(true);
    return static_cast<uint32_t>(used_.size() - 1);
  }
  void Return(uint32_t index) {
    std::lock_guard<std::mutex> lock(mutex_);
    used_[index] = false;
  }

 private:
  std::mutex mutex_;
  std::vector<bool> used_;
};

ActorIndexes& Indexes() {
  static ActorIndexes* indexes = new ActorIndexes;  // never destroyed: threads may outlive statics
  return *indexes;
}

constexpr uint32_t kNoIndex = UINT32_MAX;
// The index itself is constant-initialised, so reading it costs one load and a branch. The model
// keeps that so in liblatchkey.so: without it each read there calls the dynamic linker.
[[gnu::tls_model("initial-exec")]] thread_local uint32_t this_actor_index = kNoIndex;

struct IndexReturner {
  bool armed = false;
  ~IndexReturner() {
    if (armed) Indexes().Return(this_actor_index);
  }
};
thread_local IndexReturner index_returner;

uint32_t TakeIndex() {
  this_actor_index = Indexes().Take();
  index_returner.armed = true;
  return this_actor_index;
}

class ThreadActor final : public Actor {
 public:
  ThreadActor(const std::string& name, std::function<void()> body) : thread_(std::move(body)) {
    pthread_setname_np(thread_.native_handle(), name.substr(0, 15).c_str());
  }
  ~ThreadActor() override { Join(); }
  void Join() override {
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::thread thread_;
};

timespec ToTimespec(Nanos duration) {
  return {.tv_sec = static_cast<time_t>(duration / kNanosPerSecond),
          .tv_nsec = static_cast<long>(duration % kNanosPerSecond)};
}

class ThreadRuntimeImpl final : public Runtime {
 public:
  std::unique_ptr<Actor> Spawn(const std::string& name, std::function<void()> body) override {
    return std::make_unique<ThreadActor>(name, std::move(body));
  }

  Nanos Now() override {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<Nanos>(now.tv_sec) * kNanosPerSecond + static_cast<Nanos>(now.tv_nsec);
  }

  int64_t WallClockSeconds() override {
    return std::chrono::duration_cast<std::chrono::seconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }

  void SleepFor(Nanos duration) override {
    timespec left = ToTimespec(duration);
    while (nanosleep(&left, &left) != 0) {
    }
  }

  bool WaitOnWord(std::atomic<uint32_t>& word, uint32_t expected, Nanos timeout) override {
    const timespec limit = ToTimespec(timeout);
    const long rc = syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE,
                            expected, timeout == kForever ? nullptr : &limit, nullptr, 0);
    return rc == 0 || errno != ETIMEDOUT;
  }

  void Wake(std::atomic<uint32_t>& word, uint32_t count) override {
    const int limit = count > INT_MAX ? INT_MAX : static_cast<int>(count);
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, limit, nullptr,
            nullptr, 0);
  }

  void BackOff(uint32_t attempt) override {
    constexpr uint32_t kSpins = 6, kYields = 6;
    if (attempt < kSpins) {
      for (uint32_t i = 0; i < (4u << attempt); ++i) CpuRelax();
    } else if (attempt < kSpins + kYields) {
      sched_yield();
    } else {
      const uint32_t doublings = attempt - kSpins - kYields;
      SleepFor(doublings < 5 ? (5 * kNanosPerMicro) << doublings : 160 * kNanosPerMicro);
    }
  }

  uint32_t ActorIndex() override {
    const uint32_t index = this_actor_index;
    return __builtin_expect(index != kNoIndex, 1) ? index : TakeIndex();
  }

 private:
  static void CpuRelax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    asm volatile("yield" ::: "memory");
#endif
  }
};

}  // namespace

Runtime& ThreadRuntime() {
  static ThreadRuntimeImpl* runtime = new ThreadRuntimeImpl;  // never destroyed
  return *runtime;
}

}  // namespace latchkey
