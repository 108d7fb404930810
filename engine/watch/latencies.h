// Latencies: how long the calls of a database take, and what they wait for.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/latchkey.h"
#include "engine/watch/slow_calls.h"
#include "storage/base/latency_recorder.h"
#include "storage/base/log_sink.h"
#include "storage/runtime/runtime.h"
#include "storage/runtime/wait_ledger.h"

namespace latchkey {

/// What is timed; OperationLatency::operation names them in this order.
enum class Timed : uint8_t {
  kGet,
  kGetForUpdate,
  kPut,
  kDelete,
  kCommit,
  kWrite,
  kLogSync,
  kPageRead,
  kPageWrite,
};
inline constexpr size_t kTimedKinds = 9;

/// Times one call in `sampling` of each actor, which one is random; 0: it times no call. The log, the buffer pool and
/// the page cleaners record their syncs, reads and writes themselves, in the recorder that of() returns.
/// Thread-safety: all actors may call every member at once. Takes 15 KiB.
class Latencies {
 public:
  /// A call that takes `slow_call` or longer is told to `sink`, with what it has waited for, and every call is timed
  /// then. 0: none is told.
  Latencies(Runtime& runtime, uint32_t sampling, Nanos slow_call = 0, LogSink sink = {});

  /// Runs `call`, and times it if its turn has come. Returns its result.
  template <typename Call>
  auto Measure(Timed kind, const Call& call) {
    if (__builtin_expect(!IsDue(), 1)) return call();
    return Time(kind, call);
  }
  /// Runs `call`, times it, and returns its result.
  template <typename Call>
  [[gnu::noinline, gnu::cold]] auto Time(Timed kind, const Call& call) {
    const CallTimer timer(*this, kind);
    return call();
  }
  LatencyRecorder& of(Timed kind) { return recorders_[static_cast<size_t>(kind)]; }

  /// The ledger in which the log, the pool and the lock table note the waits of calls; nullptr: slow calls are not told.
  WaitLedger* waits() { return slow_calls_ ? &slow_calls_->waits() : nullptr; }

  uint32_t sampling() const { return sampling_; }
  /// Below `most`, each number as likely as another.
  uint32_t Draw(uint32_t most) { return Draw(Here(), most); }

  std::vector<OperationLatency> List() const;

 private:
  // From its construction to its destruction.
  class CallTimer {
   public:
    CallTimer(Latencies& latencies, Timed kind)
        : latencies_(latencies), kind_(kind), begin_(latencies.runtime_.Now()) {
      if (latencies.slow_calls_) waited_ = latencies.slow_calls_->waits().Read();
    }
    ~CallTimer() {
      const Nanos took = latencies_.runtime_.Now() - begin_;
      latencies_.of(kind_).Record(took);
      if (latencies_.slow_calls_) latencies_.slow_calls_->Look(OperationOf(kind_), took, waited_);
    }
    CallTimer(const CallTimer&) = delete;
    CallTimer& operator=(const CallTimer&) = delete;

   private:
    Latencies& latencies_;
    const Timed kind_;
    const Nanos begin_;
    WaitTimes waited_{};
  };
  static std::string_view OperationOf(Timed kind);

  // Actors that share one lose some of its steps, which does no harm.
  struct alignas(64) Countdown {
    std::atomic<uint32_t> left{1};
    std::atomic<uint32_t> random{0};
  };

  Countdown& Here() { return countdowns_[runtime_.ActorIndex() % countdowns_.size()]; }
  bool IsDue() {
    if (sampling_ == 0) return false;
    Countdown& own = Here();
    const uint32_t left = own.left.load(std::memory_order_relaxed);
    if (left <= 1) return Restart(own);  // 0: another actor is about to restart it
    own.left.store(left - 1, std::memory_order_relaxed);
    return false;
  }
  // A fixed distance would meet the same call again and again where calls repeat in that distance.
  bool Restart(Countdown& own);
  static uint32_t Draw(Countdown& own, uint32_t most);

  Runtime& runtime_;
  const uint32_t sampling_;
  std::array<LatencyRecorder, kTimedKinds> recorders_;
  std::array<Countdown, 32> countdowns_;
  std::optional<SlowCalls> slow_calls_;
};

/// The calls of one transaction. Draws once where the first timed one is, which costs the others two instructions.
class SampledCalls {
 public:
  SampledCalls() = default;  ///< none is timed
  explicit SampledCalls(Latencies& latencies) : latencies_(&latencies) {
    if (latencies.sampling() > 0) left_ = latencies.Draw(latencies.sampling());
  }

  /// As Latencies::Measure.
  template <typename Call>
  auto Measure(Timed kind, const Call& call) {
    if (__builtin_expect(left_-- != 0, 1)) return call();
    left_ = latencies_->sampling() - 1;
    return latencies_->Time(kind, call);
  }

 private:
  Latencies* latencies_ = nullptr;
  uint64_t left_ = UINT64_MAX;  // calls before the next one that is timed
};

}  // namespace latchkey
