#include "storage/wal/log_failure.h"

#include <string>
#include <string_view>

#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {

LogFailure::LogFailure(LogMedium& medium, LogSink sink, std::function<void()> wake)
    : medium_(medium),
      sink_(std::move(sink)),
      wake_(std::move(wake)),
      without_memory_(absl::UnavailableError(
          "the log: memory ran out while it was written, so nothing more is written or "
          "acknowledged; close and reopen the database to recover what was acknowledged")) {}

absl::Status LogFailure::Describe(const absl::Status& cause) const {
  absl::Status made = CatchOutOfMemory([&] {
    const absl::string_view why = cause.message();
    return MakeStatus(absl::StatusCode::kUnavailable,
                      "{}: a write failed, so nothing more is written or acknowledged: {}; close "
                      "and reopen the database to recover what was acknowledged",
                      medium_.name, std::string_view(why.data(), why.size()));
  });
  return IsOutOfMemory(made) ? without_memory_ : made;
}

void LogFailure::Fail(const absl::Status& cause) {
  {
    SpinLatchGuard guard(medium_.latch, medium_.runtime);
    if (poisoned()) return;
    status_ = Describe(cause);
    is_poisoned_.store(true, std::memory_order_release);
  }
  CatchOutOfMemory([&] {
    LogTo(sink_, LogEvent::kReadOnly, LogLevel::kError, std::string(status_.message()));
    return absl::OkStatus();
  }).IgnoreError();
  wake_();
}

}  // namespace latchkey
