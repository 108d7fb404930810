#include "bufferpool/miss_gate.h"

namespace latchkey {

void MissGate::AwaitOpen() {
  Backoff backoff(runtime_);
  do {
    gate_.fetch_sub(1, std::memory_order_relaxed);
    while (gate_.load(std::memory_order_relaxed) & kClosed) backoff.Pause();
  } while (gate_.fetch_add(1, std::memory_order_acquire) & kClosed);
}

MissGate::Closure::Closure(MissGate& gate) : gate_(gate.gate_) {
  constexpr uint32_t kWaits = 200;  // at most 160 us each
  gate_.fetch_or(kClosed, std::memory_order_acquire);
  Backoff backoff(gate.runtime_);
  while (gate_.load(std::memory_order_acquire) != kClosed) {
    if (backoff.attempts() == kWaits) return;
    backoff.Pause();
  }
  closed_ = true;
}

}  // namespace latchkey
