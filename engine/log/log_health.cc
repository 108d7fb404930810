#include "engine/log/log_health.h"

#include "engine/log/page_lsn.h"
#include "storage/base/status_macros.h"

namespace latchkey {

absl::Status LogHealth::LogStatus() const {
  if (is_writable()) return absl::OkStatus();
  return absl::UnavailableError(
      "read-only: writing the log has failed, so that nothing more can be made durable; reopen the "
      "database to recover");
}

absl::Status LogHealth::CheckWritable() const {
  LATCHKEY_RETURN_IF_ERROR(PageStatus());
  return LogStatus();
}

absl::Status LogHealth::FailUnlessWritable() {
  if (absl::Status pages = PageStatus(); !pages.ok()) {
    // Changes in memory are not logged from here on.
    if (!log_.poisoned()) log_.Fail(pages);
    SetFailed();
    return pages;
  }
  return LogStatus();
}

absl::Status LogHealth::Flush(Lsn upto) {
  absl::Status flushed = log_.Flush(upto);
  if (!flushed.ok() && log_.poisoned()) SetFailed();
  return flushed;
}

Lsn LogHealth::KeepOffDevice(std::byte* page) const {
  const Lsn next = log_.next();
  SetPageLsn(page, next);
  return next;
}

}  // namespace latchkey
