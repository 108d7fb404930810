#include "tpcc-lite/kv/backup_beside.h"

#include <filesystem>
#include <system_error>

#include "storage/base/status_macros.h"

namespace latchkey {

BackupBeside::~BackupBeside() { Join(); }

void BackupBeside::Begin() {
  actor_ = runtime_.Spawn("backup", [this] { status_ = MakeBackups(); });
}

void BackupBeside::Join() {
  over_.store(true, std::memory_order_release);
  if (actor_ != nullptr) actor_->Join();
  actor_.reset();
  Remove();
}

absl::StatusOr<BackupBesideResult> BackupBeside::End() {
  Join();
  LATCHKEY_RETURN_IF_ERROR(status_);
  return result_;
}

void BackupBeside::Remove() const {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

absl::Status BackupBeside::MakeBackups() {
  const Nanos begin = runtime_.Now();
  while (!over_.load(std::memory_order_acquire)) {
    uint64_t bytes = 0;
    const absl::Status made = backend_.BackUp(
        directory_, [this] { return !over_.load(std::memory_order_acquire); }, &bytes);
    if (absl::IsCancelled(made)) break;
    LATCHKEY_RETURN_IF_ERROR(made);
    ++result_.finished;
    result_.bytes += bytes;
    result_.seconds = static_cast<double>(runtime_.Now() - begin) / kNanosPerSecond;
    Remove();
  }
  return absl::OkStatus();
}

}  // namespace latchkey
