// SimulatedRuntime: runs the whole engine on one OS thread, in virtual time. Every run with the
// same seed is the same (ARCHITECTURE.md seam 1, RELIABILITY.md 3.1).
//
// Actors are fibers. One runs at a time, until it gives up control in a call of this runtime. The
// next to run is the actor (or the event of a device) with the earliest virtual time; among equals
// the seed decides. Processor time is virtual too: every schedule point (Runtime::SchedulePoint:
// latches, mutexes, wakes, steps of lock-free protocols) costs `step_cost`. An actor pays the time
// it has used by letting that much virtual time pass, in pieces of at least `quantum`. With
// `preempt_probability` it is also interrupted at seeded schedule points in between, which finds
// races. Costs of single events (a switch, a wake-up, the transfer of a cache line) are options for
// models of machines with several processors; they are 0 unless set.
//
// Everything that an actor can see is the same in two runs with the same seed, as long as actors
// use no value that the seed does not determine: addresses, salted hash maps, real clocks, other
// threads.
//
// Thread-safety: none needed; Run and everything inside it happens on the calling OS thread.
// Outside of Run only Now, ActorIndex, Wake, ScheduleAt, Join and the statistics may be called; a
// call that would wait is a failed check.
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
  Nanos quantum = 1000;  ///< 0: another actor may run at every schedule point
  /// Probability, 0 to 1, that an actor is interrupted at a schedule point, for a seeded time of up
  /// to `max_preemption`. Short times are as frequent as long ones.
  double preempt_probability = 0;
  Nanos max_preemption = 20 * kNanosPerMicro;
  /// Virtual processors: the number of actors that use processor time at once. 0: one per actor.
  uint32_t processors = 0;
  Nanos time_slice = kNanosPerMilli;  ///< after it an actor yields its processor to a waiting one
  /// A free processor goes to the actor that waits longest. Else the seed decides.
  bool first_come_first_served = false;
  /// Processor time, beside step_cost, of: an actor that got a processor, before it goes on (with
  /// `processors` above 0); an actor that falls asleep on a word, before it gives its processor up;
  /// an actor that wakes others, for each; an actor that takes over a hot word (Runtime::TakeOver).
  Nanos switch_cost = 0;
  Nanos sleep_cost = 0;
  Nanos wake_cost = 0;
  Nanos transfer_cost = 0;
  Nanos first_spin = 40;  ///< shortest first step of a BackOff; the first six steps double
  /// Livelock bounds: hand-overs in one run; back-offs of one wait (after the first dozen they take
  /// up to 160 us each).
  uint64_t max_hand_overs = UINT64_MAX;
  uint32_t max_back_offs = 1'000'000;
  size_t stack_bytes = 256 * 1024;  ///< per actor; only touched pages cost memory
  /// Set if the run is expected to end in StopAll, a deadlock or a livelock: leak checkers then do
  /// not report the memory of its actors.
  bool may_be_abandoned = false;
};

struct SimulationStats {
  uint64_t hand_overs = 0;       ///< from actor to actor, or back to the same one after some time
  uint64_t schedule_points = 0;  ///< passed, with or without a hand-over
  uint64_t preemptions = 0;
  uint64_t timer_events = 0;
  uint64_t transfers = 0;  ///< of hot words, from one processor to another
  uint64_t actors = 0;     ///< spawned so far, with the main ones
};

/// REQUIRES: handles of its actors are destroyed before it.
class SimulatedRuntime final : public Runtime, public VirtualTimers {
 public:
  explicit SimulatedRuntime(const SimulationOptions& options = {});
  ~SimulatedRuntime() override;

  /// Runs `main` as the first actor, until it and all spawned actors have returned. An exception
  /// that leaves `main` or an actor ends the run and is thrown here. Run may be called again
  /// afterwards; the clock goes on.
  ///
  /// Internal: a deadlock, that is, no actor can run and no event is due. DeadlineExceeded: a
  /// livelock bound was reached. Both messages name every actor and what it waits for. Cancelled:
  /// StopAll was called. After an error the actors are abandoned as in StopAll.
  absl::Status Run(const std::function<void()>& main);

  /// Simulates a crash: ends the run now. No actor runs any further, and no destructor on any stack
  /// runs. Objects that the actors own are leaked; words, mutexes and devices stay as they are. If
  /// an actor calls it, it does not return. If an event calls it, the run ends after the event.
  ///
  /// Because of the leaks, a loop over very many crashes should replay recorded device events, or
  /// cut the devices off and let the actors end, or call this in a child process.
  void StopAll();

  /// A hash of all decisions so far: the order and times of actors and events, and all noted
  /// values. The same program with the same seed has the same hash.
  uint64_t history_hash() const;
  /// Adds an observation to the history: checksums of writes, results of operations.
  void NoteInHistory(uint64_t value);
  SimulationStats stats() const;
  /// A line for every actor that has not ended: its name, its state and what it waits for.
  std::string DescribeActors() const;

  // VirtualTimers. Its Now() is Runtime's Now().
  void ScheduleAt(Nanos when, std::function<void()> event) override;

  // Runtime.
  std::unique_ptr<Actor> Spawn(const std::string& name, std::function<void()> body) override;
  Nanos Now() override;
  /// The virtual time, beginning at a fixed moment in 2023.
  int64_t WallClockSeconds() override;
  void SleepFor(Nanos duration) override;
  bool WaitOnWord(std::atomic<uint32_t>& word, uint32_t expected, Nanos timeout) override;
  void Wake(std::atomic<uint32_t>& word, uint32_t count) override;
  void BackOff(uint32_t attempt) override;
  uint32_t ActorIndex() override;

 private:
  class Scheduler;

  void OnSchedulePoint() override;
  void OnCharge(Nanos duration) override;
  void OnTakeOver(HotWord& word) override;

  std::unique_ptr<Scheduler> scheduler_;
};

}  // namespace latchkey
