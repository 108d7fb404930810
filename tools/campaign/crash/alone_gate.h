// AloneGate: actors run their actions beside each other, or one runs an action alone.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

#include <cstdint>

#include "storage/runtime/runtime.h"

namespace latchkey {

/// For actors of a simulated runtime, which take turns only in calls of the runtime.
class AloneGate {
 public:
  explicit AloneGate(Runtime& runtime) : runtime_(runtime) {}

  /// Runs `action` at a time at which no actor is in Alone.
  absl::Status Beside(absl::FunctionRef<absl::Status()> action) {
    while (is_taken_) runtime_.SleepFor(kNanosPerMicro);
    ++beside_;
    const absl::Status done = action();
    --beside_;
    return done;
  }

  /// Waits until no actor is in Beside, and runs `action`.
  absl::Status Alone(absl::FunctionRef<absl::Status()> action) {
    while (is_taken_) runtime_.SleepFor(kNanosPerMicro);
    is_taken_ = true;
    while (beside_ > 0) runtime_.SleepFor(kNanosPerMicro);
    const absl::Status done = action();
    is_taken_ = false;
    return done;
  }

 private:
  Runtime& runtime_;
  uint32_t beside_ = 0;    // actors in Beside
  bool is_taken_ = false;  // an actor is in Alone, or waits there
};

}  // namespace latchkey
