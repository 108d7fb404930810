// The Runtime: the only place where Latchkey waits, spawns threads or reads a clock.
//
// Everything that blocks (latches, mutexes, condition variables, timers, device completions) is
// built on these few calls. So the same engine runs on OS threads (ThreadRuntime) and in a
// deterministic simulation of actors and virtual time (simulated_runtime.h). No other folder uses
// <thread>, <mutex>, <condition_variable>, thread_local or a clock.
//
// Thread-safety: all actors may call every member at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace latchkey {

/// Nanoseconds: durations, and points of the runtime's steady clock.
using Nanos = uint64_t;
inline constexpr Nanos kNanosPerMicro = 1'000;
inline constexpr Nanos kNanosPerMilli = 1'000'000;
inline constexpr Nanos kNanosPerSecond = 1'000'000'000;
inline constexpr Nanos kForever = UINT64_MAX;

/// A running actor: an OS thread or a simulated one. Its destructor joins it if needed.
class Actor {
 public:
  virtual ~Actor() = default;
  /// Waits until the actor's function has returned. Idempotent. Only the owner calls it.
  virtual void Join() = 0;
};

/// What a simulation knows about the cache line of a hot word (a lock, a clock hand, the top of a
/// list): the processor that wrote it last. Stands beside that word. Threads do not use it.
class HotWord {
 public:
  static constexpr uint32_t kNobody = UINT32_MAX;

  uint32_t owner = kNobody;
  Nanos transferred_at = 0;  ///< end of the last transfer that was asked for
};

class Runtime {
 public:
  virtual ~Runtime() = default;

  /// Starts `body` as a new actor. Debuggers show the first 15 bytes of `name`.
  virtual std::unique_ptr<Actor> Spawn(const std::string& name, std::function<void()> body) = 0;

  /// Steady clock, ns: never goes back, origin unspecified.
  virtual Nanos Now() = 0;
  /// Seconds since 1970. For reports only: the engine does not depend on it.
  virtual int64_t WallClockSeconds() = 0;

  virtual void SleepFor(Nanos duration) = 0;

  /// Blocks while `word` holds `expected`, until woken or until `timeout` has passed. May return
  /// early (spuriously). Returns false only when the timeout passed.
  virtual bool WaitOnWord(std::atomic<uint32_t>& word, uint32_t expected, Nanos timeout) = 0;
  /// Wakes up to `count` actors that wait on `word`.
  virtual void Wake(std::atomic<uint32_t>& word, uint32_t count) = 0;

  /// One step of waiting for another actor's progress; `attempt` counts the steps of this wait from
  /// 0. Spins first, then yields the processor, then sleeps for a growing, bounded time.
  virtual void BackOff(uint32_t attempt) = 0;

  /// A small dense index of the calling actor, below kMaxActors: for per-actor statistics and
  /// caches. Constant while the actor lives, reused afterwards.
  virtual uint32_t ActorIndex() = 0;
  /// More threads than Linux lets a process have by default: vm.max_map_count is 65,530, and each
  /// thread needs a mapping for its stack and one for the guard page.
  static constexpr uint32_t kMaxActors = 65536;

  /// Marks a place where a simulation may run another actor: before taking a latch, after releasing
  /// it, between the steps of a lock-free protocol. Not needed for progress. On threads it costs
  /// one load and a branch.
  void SchedulePoint() {
    if (__builtin_expect(has_schedule_points_, 0)) OnSchedulePoint();
  }

  /// Says that what the caller does here takes `duration` of processor time. In a simulation that
  /// time passes before Charge returns. On threads nothing happens: there the work itself takes its
  /// time.
  void Charge(Nanos duration) {
    if (__builtin_expect(has_schedule_points_, 0)) OnCharge(duration);
  }
  /// Says that the caller is about to write `word`. A simulation with a cost of line transfers
  /// charges one if another processor wrote the word last. The transfers of one word happen one
  /// after the other. The loser still has the line for three quarters of the transfer. On threads
  /// nothing happens.
  void TakeOver(HotWord& word) {
    if (__builtin_expect(has_schedule_points_, 0)) OnTakeOver(word);
  }

 protected:
  explicit Runtime(bool has_schedule_points = false) : has_schedule_points_(has_schedule_points) {}

 private:
  virtual void OnSchedulePoint() {}
  virtual void OnCharge(Nanos /*duration*/) {}
  virtual void OnTakeOver(HotWord& /*word*/) {}

  const bool has_schedule_points_;
};

/// The process-wide runtime of OS threads, the steady clock and futexes.
Runtime& ThreadRuntime();

/// The back-off of one wait. Use one object per wait: `Backoff b(rt); while (!TryIt()) b.Pause();`
class Backoff {
 public:
  explicit Backoff(Runtime& runtime) : runtime_(runtime) {}
  void Pause() { runtime_.BackOff(attempt_++); }
  uint32_t attempts() const { return attempt_; }

 private:
  Runtime& runtime_;
  uint32_t attempt_ = 0;
};

}  // namespace latchkey
