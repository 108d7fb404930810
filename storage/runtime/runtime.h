// The Runtime: the only place where anything in Latchkey waits, spawns or reads a clock.
//
// Everything that blocks (latches, mutexes, condition variables, timers, device completions) is
// built on these few calls, so that the same engine runs on OS threads (ThreadRuntime) and under a
// deterministic simulation of actors and virtual time (simulated_runtime.h). Nothing else in the
// tree uses <thread>, <mutex>, <condition_variable>, thread_local or a clock.
//
// Thread-safety: every member may be called from every actor at once.
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

/// A running actor (a thread, or a simulated one). Joined at the latest by its destructor.
class Actor {
 public:
  virtual ~Actor() = default;
  /// Waits until the actor's function has returned. Idempotent; only from the owner.
  virtual void Join() = 0;
};

class Runtime {
 public:
  virtual ~Runtime() = default;

  /// Starts `body` as a new actor. `name` (at most 15 bytes are kept) shows up in debuggers.
  virtual std::unique_ptr<Actor> Spawn(const std::string& name, std::function<void()> body) = 0;

  /// Steady clock: never goes back, origin unspecified.
  virtual Nanos Now() = 0;
  /// Seconds since 1970: for reports only; nothing in the engine depends on it.
  virtual int64_t WallClockSeconds() = 0;

  virtual void SleepFor(Nanos duration) = 0;

  /// Blocks while `word` holds `expected`, until woken or `timeout` has passed; may return early
  /// for no reason. Returns false only when the timeout passed.
  virtual bool WaitOnWord(std::atomic<uint32_t>& word, uint32_t expected, Nanos timeout) = 0;
  /// Wakes up to `count` actors that wait on `word`.
  virtual void Wake(std::atomic<uint32_t>& word, uint32_t count) = 0;

  /// One step of waiting for another actor to make progress: `attempt` counts the steps of this
  /// wait from 0. Spins first, then gives the processor away, then sleeps for a bounded, growing
  /// time.
  virtual void BackOff(uint32_t attempt) = 0;

  /// A small dense index of the calling actor, stable while it lives and reused afterwards: for
  /// per-actor statistics and caches. Below kMaxActors.
  virtual uint32_t ActorIndex() = 0;
  static constexpr uint32_t kMaxActors = 4096;

  /// A place where another actor may come in between, told to a simulation: in front of taking and
  /// behind giving up a latch, around the steps of a lock-free protocol. Never needed for progress;
  /// on threads one load and a branch.
  void SchedulePoint() {
    if (__builtin_expect(has_schedule_points_, 0)) OnSchedulePoint();
  }

 protected:
  explicit Runtime(bool has_schedule_points = false) : has_schedule_points_(has_schedule_points) {}

 private:
  virtual void OnSchedulePoint() {}

  const bool has_schedule_points_;
};

/// The process-wide runtime of OS threads, the steady clock and futexes.
Runtime& ThreadRuntime();

/// The steps of one wait. Use one object per wait: `Backoff b(rt); while (!TryIt()) b.Pause();`
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
