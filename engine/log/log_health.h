// LogHealth: whether changes can still be logged and acknowledged.
//
// Invariant: once it has failed, it stays so until the database is opened again. Nothing is
// appended, no checkpoint is written, no commit is acknowledged.
//
// Thread-safety: every actor may call every member at once.
#pragma once

#include <absl/status/status.h>

#include <atomic>
#include <functional>
#include <utility>

#include "storage/base/ids.h"
#include "storage/wal/log.h"

namespace latchkey {

class LogHealth {
 public:
  /// `page_status`: PageStore::WriteStatus of the pages' store; nullptr = pages can always be
  /// written.
  LogHealth(Log& log, std::function<absl::Status()> page_status)
      : log_(log), page_status_(std::move(page_status)) {}

  /// Whether this object has noted a failure. The log may have failed by itself: see is_writable.
  bool failed() const { return failed_.load(std::memory_order_relaxed); }
  bool is_writable() const { return !failed() && !log_.poisoned(); }
  /// OK, or why nothing is acknowledged any more (Unavailable, or the page store's status).
  absl::Status CheckWritable() const;
  /// As CheckWritable. If pages cannot be written any more, fails the log too, so that nothing is
  /// logged that pages cannot follow.
  absl::Status FailUnlessWritable();

  void SetFailed() { failed_.store(true, std::memory_order_relaxed); }
  /// Flushes the log up to `upto`. If the log fails, this object notes the failure.
  /// ResourceExhausted: the log has no room for one more group. Nothing is lost; later flushes may
  /// succeed.
  absl::Status Flush(Lsn upto);
  /// For a change of `page` that is not logged any more: its LSN becomes one that is never durable,
  /// so the page is never written. Returns it.
  Lsn KeepOffDevice(std::byte* page) const;

 private:
  absl::Status PageStatus() const {
    return page_status_ != nullptr ? page_status_() : absl::OkStatus();
  }
  absl::Status LogStatus() const;

  Log& log_;
  const std::function<absl::Status()> page_status_;
  std::atomic<bool> failed_{false};
};

}  // namespace latchkey
