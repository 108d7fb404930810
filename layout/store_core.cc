#include "layout/store_core.h"

#include <algorithm>
#include <optional>

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
    LogTo(log_sink, LogEvent::kReadOnly, LogLevel::kError, std::string(fatal.message()));
    return absl::OkStatus();
  }).IgnoreError();
}

absl::Status StoreCore::WriteStatus() const {
  if (!poisoned()) return absl::OkStatus();
  MutexLock lock(fatal_mutex);
  return fatal;
}

void StoreCore::DetachClient() {
  LogReach();
  client.Detach();
}

Lsn StoreCore::LogReach() const {
  SpinLatchGuard guard(log_latch, runtime);
  // Not the greater of the two, because the noted value may be of an earlier log.
  const std::optional<Lsn> now =
      client.Ask(std::optional<Lsn>(), [](PageStoreClient& asked) { return asked.DurableLog(); });
  if (now) known_log_reach = *now;
  return known_log_reach;
}

void StoreCore::NoteLogReach(Lsn reach) {
  SpinLatchGuard guard(log_latch, runtime);
  known_log_reach = std::max(known_log_reach, reach);
}

}  // namespace latchkey
