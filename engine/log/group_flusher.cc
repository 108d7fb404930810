// The flusher of group commit: acknowledged commits become durable within the stated delay.
#include "engine/log/engine_log.h"
#include "storage/base/canary.h"
#include "storage/base/out_of_memory.h"

namespace latchkey {

void EngineLog::PromiseDurable() {
  if (options_.wait_for_commits) return;
  const uint64_t next = Raw(log_.next());
  uint64_t promised = promised_.load(std::memory_order_relaxed);
  while (promised < next &&
         !promised_.compare_exchange_weak(promised, next, std::memory_order_seq_cst)) {
  }
  RequestFlush();
}

// Sequentially consistent with the flusher: either the flusher sees what the caller has noted
// before, or the caller sees the flusher idle.
void EngineLog::RequestFlush() {
  if (flush_wanted_.load(std::memory_order_seq_cst) != kFlusherIdle) return;
  // Taken before the request, so the flusher never finds a time later than the request's.
  const Nanos now = runtime_.Now();
  if (flush_wanted_.load(std::memory_order_acquire) != kFlusherIdle) return;
  wanted_since_.store(now, std::memory_order_relaxed);
  uint32_t idle = kFlusherIdle;
  if (flush_wanted_.compare_exchange_strong(idle, kFlusherWanted, std::memory_order_acq_rel)) {
    runtime_.Wake(flush_wanted_, 1);
  }
}

void EngineLog::RunFlusher() {
  while (CatchOutOfMemory([this] {
           FlushWhenWanted();
           return absl::OkStatus();
         }).ok() == false) {
    RequestFlush();
    runtime_.SleepFor(kNanosPerMilli);  // lack of memory does not end the flusher
  }
}

void EngineLog::FlushWhenWanted() {
  for (;;) {
    const uint32_t wanted = flush_wanted_.load(std::memory_order_acquire);
    if (wanted == kFlusherStop) return;
    if (wanted == kFlusherIdle) {
      runtime_.WaitOnWord(flush_wanted_, kFlusherIdle, kForever);
      continue;
    }
    // Half of the promised delay gathers commits, the other half is for the device. The delay began
    // with the request, not at the end of the previous flush.
    const Nanos since = wanted_since_.load(std::memory_order_relaxed);
    const Nanos flush_at = since + options_.group_delay / 2;
    for (Nanos now = runtime_.Now(); now < flush_at; now = runtime_.Now()) {
      if (flush_wanted_.load(std::memory_order_acquire) == kFlusherStop) return;
      runtime_.WaitOnWord(flush_wanted_, kFlusherWanted, flush_at - now);
    }
    const auto become_idle = [this] {
      uint32_t expected = kFlusherWanted;
      flush_wanted_.compare_exchange_strong(expected, kFlusherIdle, std::memory_order_seq_cst);
    };
    const bool late = LATCHKEY_CANARY("wake-up-cleared-after-the-flush");
    if (!late) become_idle();
    // Flushes up to the newest commit, whose group has its space; records behind it go with it.
    // Other promised records have no space of their own: at a full log they wait for the next
    // flush.
    const Lsn upto{last_commit_.load(std::memory_order_seq_cst) + 1};
    absl::Status flushed = log_.Flush(upto);
    const Lsn promised{promised_.load(std::memory_order_seq_cst)};
    if (flushed.ok() && promised > upto) {
      flushed = log_.Flush(promised);
      if (absl::IsResourceExhausted(flushed)) flushed = absl::OkStatus();
    }
    if (!flushed.ok()) {
      Poisoned(flushed).IgnoreError();
      return;
    }
    if (late) become_idle();
    DrainFrees();
  }
}

}  // namespace latchkey
