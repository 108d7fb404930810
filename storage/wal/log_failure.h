// LogFailure: the first failure of a log, which is final: the log is *poisoned*. Nothing more is
// written or acknowledged until the log is opened again.
//
// Lock order: takes the log's latch. No call waits for anything else.
// Thread-safety: all actors may call every member at once.
#pragma once

#include <absl/status/status.h>

#include <atomic>
#include <functional>
#include <utility>

#include "storage/base/log_sink.h"
#include "storage/wal/log_medium.h"

namespace latchkey {

class LogFailure {
 public:
  /// `wake`: called after the failure, without the latch. It wakes the threads that wait for the
  /// log.
  LogFailure(LogMedium& medium, LogSink sink, std::function<void()> wake);

  /// Wait-free.
  bool poisoned() const { return is_poisoned_.load(std::memory_order_acquire); }
  /// Unavailable, with the cause of the first failure. REQUIRES: poisoned().
  const absl::Status& status() const { return status_; }
  /// Poisons the log because of `cause`; no effect if it is poisoned. A leader that is writing sees
  /// the failure when its write is done. REQUIRES: the log's latch is not held.
  void Fail(const absl::Status& cause);

 private:
  absl::Status Describe(const absl::Status& cause) const;

  LogMedium& medium_;
  const LogSink sink_;
  const std::function<void()> wake_;
  const absl::Status without_memory_;  // made in advance, for when memory runs out
  absl::Status status_;                // written once, before is_poisoned_
  std::atomic<bool> is_poisoned_{false};
};

}  // namespace latchkey
