// The flusher of group commit: what was acknowledged becomes durable within the stated delay.
#include "engine/log/engine_log.h"
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

// Sequentially consistent with the flusher: either it sees what its caller has noted before, or the
// caller sees it idle.
void EngineLog::RequestFlush() {
  if (flush_wanted_.load(std::memory_order_seq_cst) != kFlusherIdle) return;
  // Before it is wanted, so the flusher never finds a time that is later than the request's.
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
    runtime_.SleepFor(kNanosPerMilli);  // a flusher never gives up for lack of memory
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
    // Half of the promised delay gathers commits, the other half is for the device. It began with
    // the request, not when the flush before it was done.
    const Nanos since = wanted_since_.load(std::memory_order_relaxed);
    const Nanos flush_at = since + options_.group_delay / 2;
    for (Nanos now = runtime_.Now(); now < flush_at; now = runtime_.Now()) {
      if (flush_wanted_.load(std::memory_order_acquire) == kFlusherStop) return;
      runtime_.WaitOnWord(flush_wanted_, kFlusherWanted, flush_at - now);
    }
    uint32_t expected = kFlusherWanted;
    flush_wanted_.compare_exchange_strong(expected, kFlusherIdle, std::memory_order_seq_cst);
    // Up to the newest commit, whose group is paid for; what is behind it goes with it. What was
    // promised besides is not paid for: at a full log it waits for the next flush.
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
    DrainFrees();
  }
}

}  // namespace latchkey
