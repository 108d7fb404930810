// The scheduler of SimulatedRuntime: its actors, its virtual time and its random choices.
// simulated_runtime.cc implements it; nothing else includes this file.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/status/status.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/base/check.h"
#include "storage/base/hash.h"
#include "storage/base/rng.h"
#include "storage/runtime/event_queue.h"
#include "storage/runtime/fiber.h"
#include "storage/runtime/processors.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey {

class SimulatedRuntime::Scheduler {
 public:
  static constexpr Nanos kStartTime = kNanosPerSecond;  // > 0, so that a time before is valid

  explicit Scheduler(const SimulationOptions& options);

  absl::Status Run(const std::function<void()>& main);
  void StopAll();

  /// The slot and the number of the new actor.
  std::pair<uint32_t, uint64_t> Spawn(const std::string& name, std::function<void()> body);
  void Join(uint32_t slot, uint64_t number);

  Nanos Now();
  void SleepFor(Nanos duration) { Pay(duration, /*yields=*/true); }
  bool WaitOnWord(std::atomic<uint32_t>& word, uint32_t expected, Nanos timeout);
  void Wake(std::atomic<uint32_t>& word, uint32_t count);
  void BackOff(uint32_t attempt);
  void SchedulePoint();
  void Charge(Nanos duration);
  void TakeOver(HotWord& word);
  uint32_t ActorIndex();
  void ScheduleAt(Nanos when, std::function<void()> event);

  void Note(uint64_t value) { history_ = MixHash(history_ + 0x9e3779b97f4a7c15u) ^ value; }
  uint64_t history() const { return MixHash(history_); }
  const SimulationStats& stats() const { return stats_; }
  Nanos now() const { return now_; }
  std::string Describe() const;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  enum class State { kReady, kWaitsOnWord, kWaitsForEnd, kWantsProcessor, kEnded };
  struct ActorRecord {
    Scheduler* scheduler = nullptr;
    Fiber fiber;
    std::string name;
    std::function<void()> body;
    uint64_t number = 0;  // of the spawn; never reused, unlike the slot
    uint32_t slot = kNone;
    uint32_t index = kNone;
    State state = State::kEnded;
    uint64_t ticket = 0;    // of the event that resumes it; any other event is stale
    Nanos since = 0;        // when it gave up control
    Nanos slice_start = 0;  // when it got its processor
    uint32_t processor = kNone;
    uint32_t last_processor = kNone;
    bool timed_out = false;
    uint32_t back_offs = 0;  // in its present wait
    std::atomic<uint32_t>* word = nullptr;
    uint32_t expected = 0;
    std::string waits_for;          // the name of the actor that it joins
    std::vector<uint32_t> joiners;  // slots
  };

  static void RunActor(void* record);
  [[noreturn]] void End(ActorRecord& actor);
  [[noreturn]] void Stop(absl::Status outcome);
  void AbandonAll();
  ActorRecord& NewRecord();
  uint32_t TakeIndex();

  bool in_actor() const { return current_ != nullptr && !in_event_; }
  // The calling actor, in calls that may give up control. REQUIRES: in_actor().
  ActorRecord& Me() {
    LATCHKEY_CHECK(in_actor());
    return *current_;
  }

  void Schedule(ActorRecord& actor, Nanos when);
  // Lets virtual time pass: the processor time that the caller has used, plus `pause`. `yields`:
  // the caller uses no processor meanwhile.
  void Pay(Nanos pause, bool yields = false);
  // Suspends the caller. An event or another actor resumes it; otherwise it is a deadlock.
  void GiveUpControl(ActorRecord& me);
  // Takes events until one resumes an actor; nullptr when the run is over.
  ActorRecord* Next();
  void SwitchFrom(ActorRecord* me, ActorRecord* next);
  void AfterSwitch();
  bool CountHandOver();
  bool StillHasLine(uint32_t processor, const HotWord& word) const;
  void RunTimer(uint64_t ticket);
  void StopWaiting(ActorRecord& actor);
  bool TakeProcessor(ActorRecord& actor);
  void GiveUpProcessor(ActorRecord& actor, Nanos when);
  std::string Describe(const ActorRecord& actor) const;
  absl::Status Diagnose(absl::StatusCode code, std::string_view what) const;

  const SimulationOptions options_;
  const uint64_t preempt_below_;
  Rng rng_;
  Nanos now_ = kStartTime;
  Nanos debt_ = 0;  // processor time that the running actor has used and not paid
  uint64_t history_ = 0;
  uint64_t tickets_ = 0;
  SimulationStats stats_;
  uint64_t hand_over_limit_ = 0;
  Processors processors_;
  struct LostLine {
    const HotWord* word = nullptr;
    Nanos leaves_at = 0;
  };
  std::vector<LostLine> lost_lines_;  // by processor: the hot word that another one asked for last

  FiberStacks stacks_;
  std::deque<ActorRecord> actors_;  // by slot; they stay where they are
  std::vector<uint32_t> free_slots_;
  uint32_t live_actors_ = 0;
  std::vector<bool> used_indexes_;
  uint32_t outside_index_ = kNone;

  EventQueue events_;
  // Only looked up, never iterated: the order of a hash map must not influence the run.
  absl::flat_hash_map<uint64_t, std::function<void()>> timers_;                       // by ticket
  absl::flat_hash_map<const std::atomic<uint32_t>*, std::vector<uint32_t>> waiters_;  // slots

  Fiber outside_;                   // the caller of Run
  ActorRecord* current_ = nullptr;  // nullptr: outside of Run
  ActorRecord* ended_ = nullptr;    // its stack is returned once control has left it
  bool in_event_ = false;
  bool stopping_ = false;
  absl::Status outcome_;
  std::exception_ptr failure_;
};

}  // namespace latchkey
