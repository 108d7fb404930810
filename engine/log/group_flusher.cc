#include "engine/log/group_flusher.h"

#include <exception>

#include "storage/base/canary.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {

GroupFlusher::~GroupFlusher() {
  if (actor_ == nullptr) return;
  step_.store(Word(Step::kStop), std::memory_order_release);
  runtime_.Wake(step_, 1);
  actor_->Join();
}

bool GroupFlusher::EnsureStarted() {
  // One caller starts the actor. The others need not wait for it: it finds their requests.
  if (started_.load(std::memory_order_relaxed) || started_.exchange(true)) return true;
  try {
    actor_ = runtime_.Spawn("log flusher", [this] { Run(); });
    return true;
  } catch (const std::exception&) {
    started_.store(false, std::memory_order_relaxed);
    return false;
  }
}

void GroupFlusher::Start() {
  started_.store(true, std::memory_order_relaxed);
  actor_ = runtime_.Spawn("log flusher", [this] { Run(); });
}

void GroupFlusher::PromiseDurable(Lsn next) {
  uint64_t promised = promised_.load(std::memory_order_relaxed);
  while (promised < Raw(next) &&
         !promised_.compare_exchange_weak(promised, Raw(next), std::memory_order_seq_cst)) {
  }
  RequestFlush();
}

// Sequentially consistent with the flusher: either the flusher sees what the caller has noted
// before, or the caller sees the flusher idle.
void GroupFlusher::RequestFlush() {
  if (step_.load(std::memory_order_seq_cst) != Word(Step::kIdle)) return;
  // Taken before the request, so the flusher never finds a time later than the request's.
  const Nanos now = runtime_.Now();
  if (step() != Step::kIdle) return;
  wanted_since_.store(now, std::memory_order_relaxed);
  uint32_t idle = Word(Step::kIdle);
  if (step_.compare_exchange_strong(idle, Word(Step::kWanted), std::memory_order_acq_rel)) {
    runtime_.Wake(step_, 1);
  }
}

void GroupFlusher::Run() {
  while (RunWhileMemoryLasts() == End::kNoMemory) {  // which does not end the flusher
    RequestFlush();
    runtime_.SleepFor(kNanosPerMilli);
  }
}

GroupFlusher::End GroupFlusher::RunWhileMemoryLasts() {
  End end = End::kNoMemory;
  CatchOutOfMemory([&] {
    FlushWhenWanted();
    end = End::kStopped;
    return absl::OkStatus();
  }).IgnoreError();
  return end;
}

void GroupFlusher::FlushWhenWanted() {
  while (GatherCommits()) {
    const bool late = LATCHKEY_CANARY("wake-up-cleared-after-the-flush");
    if (!late) BecomeIdle();
    if (!FlushPromised().ok()) {
      health_.SetFailed();
      return;
    }
    if (late) BecomeIdle();
    frees_.Drain();
  }
}

// Waits for a request, and then until it is time to flush. False: the flusher must stop.
bool GroupFlusher::GatherCommits() {
  for (Step now = step(); now != Step::kWanted; now = step()) {
    if (now == Step::kStop) return false;
    runtime_.WaitOnWord(step_, Word(Step::kIdle), kForever);
  }
  const Nanos flush_at = wanted_since_.load(std::memory_order_relaxed) + delay_ / 2;
  for (Nanos now = runtime_.Now(); now < flush_at; now = runtime_.Now()) {
    if (step() == Step::kStop) return false;
    runtime_.WaitOnWord(step_, Word(Step::kWanted), flush_at - now);
  }
  return true;
}

void GroupFlusher::BecomeIdle() {
  uint32_t expected = Word(Step::kWanted);
  step_.compare_exchange_strong(expected, Word(Step::kIdle), std::memory_order_seq_cst);
}

// Flushes up to the newest commit, whose group has its space; records behind it go with it. Other
// promised records have no space of their own: at a full log they wait for the next flush.
absl::Status GroupFlusher::FlushPromised() {
  const Lsn upto{last_commit_.load(std::memory_order_seq_cst) + 1};
  LATCHKEY_RETURN_IF_ERROR(health_.Flush(upto));
  const Lsn promised{promised_.load(std::memory_order_seq_cst)};
  if (promised <= upto) return absl::OkStatus();
  absl::Status flushed = health_.Flush(promised);
  return absl::IsResourceExhausted(flushed) ? absl::OkStatus() : flushed;
}

}  // namespace latchkey
