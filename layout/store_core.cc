#include "layout/store_core.h"

#include <algorithm>

#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {

void StoreCore::Poison(const absl::Status& error) {
  MutexLock lock(fatal_mutex);
  if (!fatal.ok()) return;
  fatal = CatchOutOfMemory([&] {
    return MakeStatus(absl::StatusCode::kUnavailable,
                      "the store is read-only since a write failed: {}; close and reopen it once "
                      "the device works",
                      std::string_view(error.message().data(), error.message().size()));
  });
  if (IsOutOfMemory(fatal) || IsOutOfMemory(error)) fatal = fatal_without_memory;
  is_poisoned.store(true, std::memory_order_release);
  CatchOutOfMemory([&]() LATCHKEY_REQUIRES(fatal_mutex) {
    LogTo(log_sink, LogLevel::kError, std::string(fatal.message()));
    return absl::OkStatus();
  }).IgnoreError();
}

absl::Status StoreCore::WriteStatus() const {
  if (!poisoned()) return absl::OkStatus();
  MutexLock lock(fatal_mutex);
  return fatal;
}

void StoreCore::SetLogPosition(std::function<Lsn()> durable) {
  LogReach();  // keeps the old source's last position
  SpinLatchGuard guard(log_latch, runtime);
  log_position.swap(durable);
}

Lsn StoreCore::LogReach() const {
  SpinLatchGuard guard(log_latch, runtime);
  // Not the greater of the two, because the noted value may be of an earlier log.
  if (log_position != nullptr) known_log_reach = log_position();
  return known_log_reach;
}

void StoreCore::NoteLogReach(Lsn reach) {
  SpinLatchGuard guard(log_latch, runtime);
  known_log_reach = std::max(known_log_reach, reach);
}

}  // namespace latchkey
