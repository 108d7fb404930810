// SimulatedRuntime: the whole engine on one OS thread, in virtual time, the same way for every run
// with the same seed (ARCHITECTURE.md seam 1, RELIABILITY.md 3.1).
//
// Actors are fibers; one runs at a time, until it gives up control in a call of this runtime. Next
// comes the actor (or the event of a device) with the earliest virtual time; among equals the seed
// chooses. Processor time is virtual too: every schedule point (Runtime::SchedulePoint: latches,
// mutexes, wakes, steps of lock-free protocols) costs `step_cost`, and what an actor has used up is
// paid by letting that much time pass, in pieces of at least `quantum`; with `preempt_probability`
// also at seeded schedule points in between, which is what finds races.
//
// What may differ between two runs with the same seed: nothing that an actor can see. So actors
// must not look at anything else either: addresses, salted hash maps, real clocks, other threads.
//
// Thread-safety: none needed; Run and everything inside it happens on the calling OS thread.
// Outside of Run only Now, ActorIndex, Wake, ScheduleAt, Join and the figures may be called; a call
// that would wait is a failed check.
#pragma once

#include <absl/status/status.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "storage/runtime/runtime.h"
#include "storage/runtime/virtual_timers.h"

namespace latchkey {

struct SimulationOptions {
  uint64_t seed = 1;
  Nanos step_cost = 50;  ///< processor time of one schedule point
  Nanos quantum = 1000;  ///< 0: control can pass at every schedule point
  /// Chance, 0 to 1, that an actor is interrupted at a schedule point, for a seeded time of up to
  /// `max_preemption`: short ones are as frequent as long ones.
  double preempt_probability = 0;
  Nanos max_preemption = 20 * kNanosPerMicro;
  /// Virtual processors: so many actors use processor time at once. 0: one for each.
  uint32_t processors = 0;
  Nanos time_slice = kNanosPerMilli;  ///< after which a waiting actor gets the processor
  /// Livelock bounds: hand-overs in one run; back-offs of one wait (after the first dozen they take
  /// up to 160 us each).
  uint64_t max_hand_overs = UINT64_MAX;
  uint32_t max_back_offs = 1'000'000;
  size_t stack_bytes = 256 * 1024;  ///< per actor; touched pages only cost memory
  /// The run is meant to end in StopAll, a deadlock or a livelock: leak checkers are told not to
  /// report what its actors allocate.
  bool may_be_abandoned = false;
};

struct SimulationStats {
  uint64_t hand_overs = 0;       ///< actor to actor, or back to the same one after virtual time
  uint64_t schedule_points = 0;  ///< passed, with or without a hand-over
  uint64_t preemptions = 0;
  uint64_t timer_events = 0;
  uint64_t actors = 0;  ///< spawned so far, with the main ones
};

/// Handles of actors go before it.
class SimulatedRuntime final : public Runtime, public VirtualTimers {
 public:
  explicit SimulatedRuntime(const SimulationOptions& options = {});
  ~SimulatedRuntime() override;

  /// Runs `main` as the first actor, and on until it and all that were spawned have returned. An
  /// exception that leaves `main` or an actor ends the run and comes out here. May be called again
  /// afterwards: the clock goes on.
  ///
  /// Internal: a deadlock, nobody can run and no event is due; DeadlineExceeded: a livelock bound
  /// was met; both name every actor and what it waits for. Cancelled: StopAll was called. After an
  /// error the actors are abandoned as StopAll says.
  absl::Status Run(const std::function<void()>& main);

  /// A crash: ends the run now. No actor runs any further and no destructor on any stack does, so
  /// what the actors owned is leaked; words, mutexes and devices stay as they are. From an actor
  /// it does not return; from an event the run ends behind the event.
  ///
  /// A loop over very many crashes therefore either replays recorded device events, cuts the
  /// devices off and lets the actors end by themselves, or calls this in a child process.
  void StopAll();

  /// A hash of everything that was decided so far: who ran when, which events happened when, and
  /// what was noted. Same seed, same program, same hash.
  uint64_t history_hash() const;
  /// Adds an observation to the history: checksums of writes, results of operations.
  void NoteInHistory(uint64_t value);
  SimulationStats stats() const;
  /// A line for every actor that has not ended: its name, its state and what it waits for.
  std::string DescribeActors() const;

  // VirtualTimers. Now() is that of Runtime, too.
  void ScheduleAt(Nanos when, std::function<void()> event) override;

  // Runtime.
  std::unique_ptr<Actor> Spawn(const std::string& name, std::function<void()> body) override;
  Nanos Now() override;
  /// The virtual time as if it had begun at a fixed moment of 2023.
  int64_t WallClockSeconds() override;
  void SleepFor(Nanos duration) override;
  bool WaitOnWord(std::atomic<uint32_t>& word, uint32_t expected, Nanos timeout) override;
  void Wake(std::atomic<uint32_t>& word, uint32_t count) override;
  void BackOff(uint32_t attempt) override;
  uint32_t ActorIndex() override;

 private:
  class Scheduler;

  void OnSchedulePoint() override;

  std::unique_ptr<Scheduler> scheduler_;
};

}  // namespace latchkey
