#include "bufferpool/miss_gate.h"

namespace latchkey {

void MissGate::EnterOnceOpen(uint32_t actor) {
  Backoff backoff(runtime_);
  do {
    while (misses_.closed()) backoff.Pause();
  } while (!misses_.TryEnter(actor));
}

MissGate::Closure::Closure(MissGate& gate) : misses_(gate.misses_) {
  constexpr uint32_t kWaits = 200;  // at most 160 us each
  misses_.Close();
  Backoff backoff(gate.runtime_);
  while (misses_.AnyInside()) {
    if (backoff.attempts() == kWaits) return;
    backoff.Pause();
  }
  closed_ = true;
}

}  // namespace latchkey
