#include "bufferpool/log_before_page.h"

#include <algorithm>

#include "storage/base/canary.h"

namespace latchkey {

bool LogBeforePage::IsDurable(uint64_t lsn) const {
  if (LATCHKEY_CANARY("page-before-its-log")) return true;
  return lsn == 0 || lsn < Raw(log_->durable());
}

absl::Status LogBeforePage::MakeDurableFor(std::span<const FrameId> frames) {
  if (log_ == nullptr) return absl::OkStatus();
  uint64_t newest = 0;
  for (const FrameId frame : frames) {
    if (frames_.IsDirty(frame)) newest = std::max(newest, Raw(frames_.LsnOf(frame)));
  }
  return IsDurable(newest) ? absl::OkStatus() : log_->EnsureDurable(Lsn{newest});
}

}  // namespace latchkey
