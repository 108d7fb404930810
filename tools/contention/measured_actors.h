// Actors that run for a warm-up and a measured time, and what they have done in the latter.
#pragma once

#include <absl/functional/function_ref.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "storage/runtime/runtime.h"

namespace latchkey {

/// Uses the processor for `duration`. On a simulated runtime virtual time passes.
inline void Work(Runtime& runtime, Nanos duration) {
  if (duration == 0) return;
  for (const Nanos end = runtime.Now() + duration; runtime.Now() < end;) runtime.BackOff(0);
}

struct MeasuredTimes {
  uint32_t threads = 1;
  Nanos warmup = 0;
  Nanos duration = kNanosPerSecond;
  const std::atomic<bool>* stop = nullptr;  ///< ends the run early once it is true; may be nullptr
};

struct MeasuredInterval {
  double seconds = 0;
  bool interrupted = false;
};

/// Runs `body(thread, running)` on `times.threads` actors until `running` is false. Calls `begin()`
/// after the warm-up and `end()` after the measured time, while the actors run. Only the calling
/// actor waits.
MeasuredInterval RunMeasured(
    Runtime& runtime, const MeasuredTimes& times,
    absl::FunctionRef<void(uint32_t thread, const std::atomic<bool>& running)> body,
    absl::FunctionRef<void()> begin, absl::FunctionRef<void()> end);

}  // namespace latchkey
