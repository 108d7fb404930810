// Limits the rate of background work: backups, compaction.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

#include <algorithm>
#include <cstdint>

#include "storage/base/status_macros.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// Not thread-safe.
class Pace {
 public:
  /// 0 = no limit.
  Pace(Runtime& runtime, uint64_t bytes_per_second)
      : runtime_(runtime), bytes_per_second_(bytes_per_second), due_(runtime.Now()) {}

  /// The caller has moved `bytes`. Sleeps until the limit allows that, and calls `go_on` at least
  /// ten times a second; returns the first error of `go_on`.
  absl::Status Spend(uint64_t bytes, absl::FunctionRef<absl::Status()> go_on) {
    if (bytes_per_second_ == 0) return absl::OkStatus();
    // Time in which nothing was moved is not made up for, except a tenth of a second.
    const Nanos now = runtime_.Now();
    due_ = std::max(due_, now < kSlice ? 0 : now - kSlice);
    due_ += static_cast<Nanos>(static_cast<double>(bytes) * kNanosPerSecond /
                               static_cast<double>(bytes_per_second_));
    return WaitUntil(due_, go_on);
  }

  /// Sleeps for `duration`, with `go_on` as in Spend.
  absl::Status Pause(Nanos duration, absl::FunctionRef<absl::Status()> go_on) {
    return WaitUntil(runtime_.Now() + duration, go_on);
  }

 private:
  static constexpr Nanos kSlice = kNanosPerSecond / 10;

  absl::Status WaitUntil(Nanos due, absl::FunctionRef<absl::Status()> go_on) {
    for (Nanos at = runtime_.Now(); at < due; at = runtime_.Now()) {
      runtime_.SleepFor(std::min(due - at, kSlice));
      LATCHKEY_RETURN_IF_ERROR(go_on());
    }
    return absl::OkStatus();
  }

  Runtime& runtime_;
  const uint64_t bytes_per_second_;
  Nanos due_;
};

}  // namespace latchkey
