#include "storage/runtime/simulated_runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "storage/base/status_macros.h"
#include "storage/runtime/exempt_allocations.h"
#include "storage/runtime/sanitizers.h"
#include "storage/runtime/simulated_scheduler.h"

namespace latchkey {
namespace {

constexpr int64_t kWallClockStart = 1'700'000'000;
constexpr uint32_t kTimer = UINT32_MAX - 1;  // target of the events of ScheduleAt
constexpr size_t kPurgeAbove = 1024;         // events; fewer stale events are not purged
Nanos SaturatingAdd(Nanos a, Nanos b) { return a > kForever - b ? kForever : a + b; }

uint64_t ChanceThreshold(double probability) {
  if (probability <= 0) return 0;
  return probability >= 1 ? UINT64_MAX : static_cast<uint64_t>(probability * 0x1.0p64);
}

}  // namespace

SimulatedRuntime::Scheduler::Scheduler(const SimulationOptions& options)
    : options_(options),
      preempt_below_(ChanceThreshold(options.preempt_probability)),
      rng_(options.seed),
      processors_(options.processors, options.first_come_first_served),
      stacks_(options.stack_bytes) {}

// ---- A run

absl::Status SimulatedRuntime::Scheduler::Run(const std::function<void()>& main) {
  LATCHKEY_CHECK(current_ == nullptr);
  const ScopedLeakAllowance allowance(options_.may_be_abandoned);
  outcome_ = absl::OkStatus();
  stopping_ = false;
  hand_over_limit_ = SaturatingAdd(stats_.hand_overs, options_.max_hand_overs);
  Spawn("main", [&main] { main(); });  // the function itself is never abandoned
  if (ActorRecord* first = Next()) SwitchFrom(nullptr, first);
  AbandonAll();
  if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
  return outcome_;
}

void SimulatedRuntime::Scheduler::Stop(absl::Status outcome) {
  outcome_ = std::move(outcome);
  stopping_ = true;
  SwitchFrom(current_, nullptr);
  LATCHKEY_CHECK(false);  // no actor of a stopped run is resumed
  std::abort();
}

void SimulatedRuntime::Scheduler::StopAll() {
  LATCHKEY_CHECK(current_ != nullptr || in_event_);
  absl::Status stopped = absl::CancelledError("the simulation was stopped");
  if (in_actor()) Stop(std::move(stopped));
  outcome_ = std::move(stopped);
  stopping_ = true;
}

void SimulatedRuntime::Scheduler::AbandonAll() {
  const ExemptAllocations exempt;
  for (ActorRecord& actor : actors_) {
    if (actor.state == State::kEnded) continue;
    // The stack stays, because objects that outlive the run may point into it.
    actor.fiber.Abandon();
    actor.state = State::kEnded;
    actor.ticket = ++tickets_;
    actor.joiners.clear();
    actor.body = nullptr;
    if (actor.index != kNone) used_indexes_[actor.index] = false;
    free_slots_.push_back(actor.slot);
  }
  live_actors_ = 0;
  debt_ = 0;
  processors_.Reset();
  events_.Clear();
  timers_.clear();
  waiters_.clear();
}

// ---- Actors

SimulatedRuntime::Scheduler::ActorRecord& SimulatedRuntime::Scheduler::NewRecord() {
  if (!free_slots_.empty()) {
    ActorRecord& actor = actors_[free_slots_.back()];
    free_slots_.pop_back();
    return actor;
  }
  ActorRecord& actor = actors_.emplace_back();
  actor.scheduler = this;
  actor.slot = static_cast<uint32_t>(actors_.size() - 1);
  return actor;
}

std::pair<uint32_t, uint64_t> SimulatedRuntime::Scheduler::Spawn(const std::string& name,
                                                                 std::function<void()> body) {
  LATCHKEY_CHECK(in_actor() || live_actors_ == 0);  // only actors and Run spawn
  ActorRecord& actor = NewRecord();
  actor.name = name;
  actor.body = std::move(body);
  actor.number = stats_.actors++;
  actor.index = kNone;
  actor.state = State::kReady;
  actor.processor = actor.last_processor = kNone;
  actor.since = now_;
  LATCHKEY_CHECK(actor.fiber.Prepare(stacks_, &RunActor, &actor));
  ++live_actors_;
  Schedule(actor, SaturatingAdd(now_, debt_ + rng_.Below(2 * options_.step_cost + 1)));
  const std::pair<uint32_t, uint64_t> identity(actor.slot, actor.number);
  if (in_actor()) Pay(options_.step_cost);  // the new actor may end meanwhile
  return identity;
}

void SimulatedRuntime::Scheduler::RunActor(void* record) {
  auto& actor = *static_cast<ActorRecord*>(record);
  Scheduler& scheduler = *actor.scheduler;
  scheduler.AfterSwitch();
  std::exception_ptr failure;
  try {
    const std::function<void()> body = std::move(actor.body);
    body();
  } catch (...) {
    failure = std::current_exception();
  }
  const ExemptAllocations simulation;
  if (failure != nullptr) {
    scheduler.failure_ = std::move(failure);
    scheduler.Stop(absl::OkStatus());
  }
  scheduler.End(actor);
}

void SimulatedRuntime::Scheduler::End(ActorRecord& actor) {
  const Nanos when = SaturatingAdd(now_, std::exchange(debt_, 0));
  actor.state = State::kEnded;
  actor.ticket = ++tickets_;
  actor.body = nullptr;
  if (actor.index != kNone) used_indexes_[actor.index] = false;
  for (const uint32_t joiner : std::exchange(actor.joiners, {})) Schedule(actors_[joiner], when);
  GiveUpProcessor(actor, when);
  free_slots_.push_back(actor.slot);
  --live_actors_;
  ActorRecord* next = Next();
  ended_ = &actor;
  current_ = next;
  Fiber::SwitchForGood(actor.fiber, next != nullptr ? next->fiber : outside_);
}

void SimulatedRuntime::Scheduler::Join(uint32_t slot, uint64_t number) {
  ActorRecord& other = actors_[slot];
  if (other.number != number || other.state == State::kEnded) return;
  ActorRecord& me = Me();
  Pay(options_.step_cost);
  if (other.number != number || other.state == State::kEnded) return;
  me.state = State::kWaitsForEnd;
  me.waits_for = other.name;
  me.ticket = ++tickets_;
  other.joiners.push_back(me.slot);
  GiveUpProcessor(me, now_);
  GiveUpControl(me);
}

uint32_t SimulatedRuntime::Scheduler::TakeIndex() {
  const auto free = std::find(used_indexes_.begin(), used_indexes_.end(), false);
  const auto index = static_cast<uint32_t>(free - used_indexes_.begin());
  LATCHKEY_CHECK(index < kMaxActors);
  if (free == used_indexes_.end()) used_indexes_.push_back(false);
  used_indexes_[index] = true;
  return index;
}

uint32_t SimulatedRuntime::Scheduler::ActorIndex() {
  uint32_t& index = current_ != nullptr ? current_->index : outside_index_;
  if (__builtin_expect(index == kNone, 0)) index = TakeIndex();
  return index;
}

// ---- Handing over

void SimulatedRuntime::Scheduler::Schedule(ActorRecord& actor, Nanos when) {
  actor.ticket = ++tickets_;
  if (actor.state != State::kWaitsOnWord) actor.state = State::kReady;
  events_.Push({.when = when, .salt = rng_.Next(), .ticket = actor.ticket, .target = actor.slot});
  if (events_.size() > kPurgeAbove && events_.size() > 4 * (live_actors_ + timers_.size())) {
    events_.Purge([this](const VirtualEvent& event) {
      return event.target != kTimer && actors_[event.target].ticket != event.ticket;
    });
  }
}

bool SimulatedRuntime::Scheduler::CountHandOver() {
  if (++stats_.hand_overs <= hand_over_limit_) return true;
  outcome_ = Diagnose(absl::StatusCode::kDeadlineExceeded, "more hand-overs than max_hand_overs");
  stopping_ = true;
  return false;
}

void SimulatedRuntime::Scheduler::Pay(Nanos pause, bool yields) {
  ActorRecord& me = Me();
  const Nanos used_until = SaturatingAdd(now_, std::exchange(debt_, 0));
  const Nanos due = SaturatingAdd(used_until, pause);
  const bool slice_is_over =
      processors_.anyone_waits() && due - me.slice_start >= options_.time_slice;
  if (yields || slice_is_over) GiveUpProcessor(me, used_until);
  const bool has_processor = !processors_.limited() || me.processor != kNone;
  if (has_processor && (events_.empty() || due < events_.earliest().when)) {
    now_ = due;  // no other actor or event is due before
    if (!CountHandOver()) Stop(std::move(outcome_));
    return;
  }
  me.state = State::kReady;
  Schedule(me, due);
  GiveUpControl(me);
}

void SimulatedRuntime::Scheduler::GiveUpControl(ActorRecord& me) {
  me.since = now_;
  ActorRecord* next = Next();
  if (next != &me) SwitchFrom(&me, next);
}

SimulatedRuntime::Scheduler::ActorRecord* SimulatedRuntime::Scheduler::Next() {
  while (!stopping_ && live_actors_ > 0) {
    if (events_.empty()) {
      outcome_ = Diagnose(absl::StatusCode::kInternal, "deadlock: all wait and nothing is due");
      stopping_ = true;
      break;
    }
    const VirtualEvent event = events_.Pop();
    if (event.target == kTimer) {
      now_ = std::max(now_, event.when);
      RunTimer(event.ticket);
      continue;
    }
    ActorRecord& actor = actors_[event.target];
    if (actor.ticket != event.ticket) continue;
    now_ = std::max(now_, event.when);
    if (actor.state == State::kWaitsOnWord) {
      actor.timed_out = true;
      StopWaiting(actor);
    }
    if (!TakeProcessor(actor)) continue;
    if (!CountHandOver()) break;
    Note(now_);
    Note(actor.number);
    return &actor;
  }
  return nullptr;
}

void SimulatedRuntime::Scheduler::SwitchFrom(ActorRecord* me, ActorRecord* next) {
  current_ = next;
  Fiber::Switch(me != nullptr ? me->fiber : outside_, next != nullptr ? next->fiber : outside_);
  AfterSwitch();
}

void SimulatedRuntime::Scheduler::AfterSwitch() {
  if (ended_ != nullptr) std::exchange(ended_, nullptr)->fiber.Release(stacks_);
}

void SimulatedRuntime::Scheduler::RunTimer(uint64_t ticket) {
  const auto found = timers_.find(ticket);
  const std::function<void()> event = std::move(found->second);
  timers_.erase(found);
  ++stats_.timer_events;
  Note(now_);
  Note(~ticket);
  in_event_ = true;
  event();
  in_event_ = false;
}

void SimulatedRuntime::Scheduler::ScheduleAt(Nanos when, std::function<void()> event) {
  const uint64_t ticket = ++tickets_;
  timers_.emplace(ticket, std::move(event));
  events_.Push({.when = when, .salt = rng_.Next(), .ticket = ticket, .target = kTimer});
}

// ---- Processors

// Whether the actor may go on now.
bool SimulatedRuntime::Scheduler::TakeProcessor(ActorRecord& actor) {
  if (!processors_.limited() || actor.processor != kNone) return true;
  const uint32_t processor = processors_.TakeIdle(actor.last_processor);
  if (processor == kNone) {
    actor.state = State::kWantsProcessor;
    processors_.Wait(actor.slot);
    return false;
  }
  actor.processor = actor.last_processor = processor;
  actor.slice_start = now_;
  if (options_.switch_cost == 0) return true;
  Schedule(actor, SaturatingAdd(now_, options_.switch_cost));
  return false;
}

void SimulatedRuntime::Scheduler::GiveUpProcessor(ActorRecord& actor, Nanos when) {
  const uint32_t processor = std::exchange(actor.processor, kNone);
  if (processor == kNone) return;
  const uint32_t slot = processors_.Free(processor, rng_);
  if (slot == kNone) return;
  ActorRecord& next = actors_[slot];
  next.processor = next.last_processor = processor;
  next.slice_start = when;
  Schedule(next, SaturatingAdd(when, options_.switch_cost));
}

void SimulatedRuntime::Scheduler::SchedulePoint() {
  if (!in_actor()) return;
  ++stats_.schedule_points;
  debt_ += options_.step_cost;
  if (preempt_below_ != 0 && rng_.Next() < preempt_below_) {
    ++stats_.preemptions;
    Pay(rng_.Below((options_.max_preemption >> rng_.Below(12)) + 1));
  } else if (debt_ >= options_.quantum) {
    Pay(0);
  }
}

void SimulatedRuntime::Scheduler::Charge(Nanos duration) {
  if (!in_actor() || duration == 0) return;
  debt_ = SaturatingAdd(debt_, duration);
  Pay(0);
}

void SimulatedRuntime::Scheduler::TakeOver(HotWord& word) {
  if (!in_actor() || options_.transfer_cost == 0) return;
  if (debt_ > 0) Pay(0);  // the caller asks for the word now
  const ActorRecord& me = Me();
  const uint32_t taker = processors_.limited() ? me.processor : me.slot;
  if (word.owner == taker || StillHasLine(taker, word)) return;
  ++stats_.transfers;
  const uint32_t loser = std::exchange(word.owner, taker);
  word.transferred_at = SaturatingAdd(std::max(now_, word.transferred_at), options_.transfer_cost);
  if (loser != HotWord::kNobody) {
    if (loser >= lost_lines_.size()) lost_lines_.resize(loser + 1);
    lost_lines_[loser] = {&word, word.transferred_at - options_.transfer_cost / 4};
  }
  Pay(word.transferred_at - now_);
}

// The request for a line travels to its owner before the line travels back. Two threads that wrote one
// line all the time made .6 of the writes that one of them makes. So a line is away for about a third
// of a transfer at most; a quarter fits the rows in tools/contention/README.md.
bool SimulatedRuntime::Scheduler::StillHasLine(uint32_t processor, const HotWord& word) const {
  return processor < lost_lines_.size() && lost_lines_[processor].word == &word &&
         now_ < lost_lines_[processor].leaves_at;
}

// ---- Waiting

Nanos SimulatedRuntime::Scheduler::Now() {
  if (in_actor()) {  // an actor that polls the clock must see it advance
    debt_ += std::max<Nanos>(options_.step_cost, 1);
    if (debt_ >= options_.quantum) Pay(0);
  }
  return now_;
}

bool SimulatedRuntime::Scheduler::WaitOnWord(std::atomic<uint32_t>& word, uint32_t expected,
                                             Nanos timeout) {
  SchedulePoint();
  ActorRecord& me = Me();
  if (debt_ > 0 || options_.sleep_cost > 0) Pay(options_.sleep_cost);
  if (word.load(std::memory_order_acquire) != expected) return true;
  me.state = State::kWaitsOnWord;
  me.word = &word;
  me.expected = expected;
  me.timed_out = false;
  me.ticket = ++tickets_;
  if (timeout != kForever) Schedule(me, SaturatingAdd(now_, timeout));
  waiters_[&word].push_back(me.slot);
  GiveUpProcessor(me, now_);
  GiveUpControl(me);
  return !me.timed_out;
}

void SimulatedRuntime::Scheduler::StopWaiting(ActorRecord& actor) {
  const auto found = waiters_.find(actor.word);
  std::vector<uint32_t>& slots = found->second;
  slots.erase(std::find(slots.begin(), slots.end(), actor.slot));
  if (slots.empty()) waiters_.erase(found);
  actor.state = State::kReady;
}

void SimulatedRuntime::Scheduler::Wake(std::atomic<uint32_t>& word, uint32_t count) {
  bool woke_any = false;
  Nanos cost = 0;
  for (; count > 0; --count) {
    const auto found = waiters_.find(&word);
    if (found == waiters_.end()) break;
    ActorRecord& actor = actors_[found->second[rng_.Below(found->second.size())]];
    StopWaiting(actor);
    // Waking takes as long as a step or two of the waker, so either actor may go on first.
    cost += options_.wake_cost;
    Schedule(actor, SaturatingAdd(now_, debt_ + cost + rng_.Below(2 * options_.step_cost + 1)));
    woke_any = true;
  }
  if (!in_actor()) return;
  if (woke_any) {
    Pay(options_.step_cost + cost);
  } else {
    SchedulePoint();
  }
}

void SimulatedRuntime::Scheduler::BackOff(uint32_t attempt) {
  constexpr uint32_t kSpins = 6, kYields = 6, kDoublings = 5;  // as on threads
  ActorRecord& me = Me();
  me.back_offs = attempt + 1;
  if (attempt > options_.max_back_offs) {
    Stop(Diagnose(absl::StatusCode::kDeadlineExceeded, "more back-offs than max_back_offs"));
  }
  Nanos pause = kNanosPerMicro;
  if (attempt < kSpins) {
    pause = options_.first_spin << attempt;
  } else if (attempt >= kSpins + kYields) {
    pause = (5 * kNanosPerMicro) << std::min(attempt - kSpins - kYields, kDoublings);
  }
  // Jittered by the seed, so that two actors that wait for each other do not stay in step.
  Pay(pause + rng_.Below(pause / 2 + 1), /*yields=*/attempt >= kSpins);
  me.back_offs = 0;
}

// ---- Reports

std::string SimulatedRuntime::Scheduler::Describe(const ActorRecord& actor) const {
  const double since_ms = static_cast<double>(actor.since - kStartTime) / kNanosPerMilli;
  std::string what;
  switch (actor.state) {
    case State::kReady:
      what = actor.back_offs > 0 ? fmt::format("backs off, {} times so far", actor.back_offs)
                                 : std::string("could run");
      break;
    case State::kWaitsOnWord:
      what = fmt::format("waits on a word that was {} and is {}", actor.expected,
                         actor.word->load(std::memory_order_relaxed));
      break;
    case State::kWaitsForEnd:
      what = "waits for the end of " + actor.waits_for;
      break;
    case State::kWantsProcessor:
      what = "wants a processor";
      break;
    case State::kEnded:
      what = "has ended";
      break;
  }
  return fmt::format("  {} (actor {}): {}, since {:.6f} ms\n", actor.name, actor.number, what,
                     since_ms);
}

std::string SimulatedRuntime::Scheduler::Describe() const {
  std::vector<const ActorRecord*> live;
  for (const ActorRecord& actor : actors_) {
    if (actor.state != State::kEnded) live.push_back(&actor);
  }
  std::sort(live.begin(), live.end(),
            [](const ActorRecord* a, const ActorRecord* b) { return a->number < b->number; });
  std::string lines;
  for (const ActorRecord* actor : live) lines += Describe(*actor);
  return lines;
}

absl::Status SimulatedRuntime::Scheduler::Diagnose(absl::StatusCode code,
                                                   std::string_view what) const {
  return MakeStatus(code, "{}, at {:.6f} ms of virtual time, seed {}:\n{}", what,
                    static_cast<double>(now_ - kStartTime) / kNanosPerMilli, options_.seed,
                    Describe());
}

// ---- SimulatedRuntime

SimulatedRuntime::SimulatedRuntime(const SimulationOptions& options)
    : Runtime(/*has_schedule_points=*/true), scheduler_(std::make_unique<Scheduler>(options)) {}

SimulatedRuntime::~SimulatedRuntime() = default;

namespace {

template <typename Scheduler>
class SimulatedActor final : public Actor {
 public:
  SimulatedActor(Scheduler& scheduler, uint32_t slot, uint64_t number)
      : scheduler_(scheduler), slot_(slot), number_(number) {}
  ~SimulatedActor() override { Join(); }
  void Join() override {
    const ExemptAllocations simulation;
    scheduler_.Join(slot_, number_);
  }

 private:
  Scheduler& scheduler_;
  const uint32_t slot_;
  const uint64_t number_;
};

}  // namespace

absl::Status SimulatedRuntime::Run(const std::function<void()>& main) {
  return scheduler_->Run(main);
}
void SimulatedRuntime::StopAll() { scheduler_->StopAll(); }
uint64_t SimulatedRuntime::history_hash() const { return scheduler_->history(); }
void SimulatedRuntime::NoteInHistory(uint64_t value) { scheduler_->Note(value); }
SimulationStats SimulatedRuntime::stats() const { return scheduler_->stats(); }
std::string SimulatedRuntime::DescribeActors() const { return scheduler_->Describe(); }
void SimulatedRuntime::ScheduleAt(Nanos when, std::function<void()> event) {
  const ExemptAllocations simulation;
  scheduler_->ScheduleAt(when, std::move(event));
}

std::unique_ptr<Actor> SimulatedRuntime::Spawn(const std::string& name,
                                               std::function<void()> body) {
  const ExemptAllocations simulation;
  const auto [slot, number] = scheduler_->Spawn(name, std::move(body));
  return std::make_unique<SimulatedActor<Scheduler>>(*scheduler_, slot, number);
}
Nanos SimulatedRuntime::Now() {
  const ExemptAllocations simulation;
  return scheduler_->Now();
}
int64_t SimulatedRuntime::WallClockSeconds() {
  return kWallClockStart + static_cast<int64_t>(scheduler_->now() / kNanosPerSecond);
}
void SimulatedRuntime::SleepFor(Nanos duration) {
  const ExemptAllocations simulation;
  scheduler_->SleepFor(duration);
}
bool SimulatedRuntime::WaitOnWord(std::atomic<uint32_t>& word, uint32_t expected, Nanos timeout) {
  const ExemptAllocations simulation;
  return scheduler_->WaitOnWord(word, expected, timeout);
}
void SimulatedRuntime::Wake(std::atomic<uint32_t>& word, uint32_t count) {
  const ExemptAllocations simulation;
  scheduler_->Wake(word, count);
}
void SimulatedRuntime::BackOff(uint32_t attempt) {
  const ExemptAllocations simulation;
  scheduler_->BackOff(attempt);
}
uint32_t SimulatedRuntime::ActorIndex() {
  const ExemptAllocations simulation;
  return scheduler_->ActorIndex();
}
void SimulatedRuntime::OnSchedulePoint() {
  const ExemptAllocations simulation;
  scheduler_->SchedulePoint();
}
void SimulatedRuntime::OnCharge(Nanos duration) {
  const ExemptAllocations simulation;
  scheduler_->Charge(duration);
}
void SimulatedRuntime::OnTakeOver(HotWord& word) {
  const ExemptAllocations simulation;
  scheduler_->TakeOver(word);
}

}  // namespace latchkey
