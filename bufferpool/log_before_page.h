// Log before page: a page reaches the store only when the write-ahead log is durable up to the
// page's LSN. The parts of the pool that write pages ask this class.
//
// Thread-safety: every function may be called from all actors at once, except SetLog.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <span>

#include "bufferpool/buffer_frames.h"
#include "storage/base/ids.h"
#include "storage/wal/log.h"

namespace latchkey {

class LogBeforePage {
 public:
  /// Without a log until SetLog: every page may be written.
  explicit LogBeforePage(const BufferFrames& frames) : frames_(frames) {}

  /// nullptr: no log. REQUIRES: no page has been changed.
  void SetLog(WriteAheadLog* log) { log_ = log; }
  bool has_log() const { return log_ != nullptr; }
  /// The durable end of the log. REQUIRES: has_log().
  Lsn durable() const { return log_->durable(); }
  /// Whether the log's space is scarce: then flush it only for what cannot wait.
  bool scarce() const { return log_ != nullptr && log_->scarce(); }

  /// Whether the page in `frame` may be written now.
  bool IsDurableFor(FrameId frame) const {
    return log_ == nullptr || IsDurable(Raw(frames_.LsnOf(frame)));
  }
  /// Makes the log durable up to the newest LSN of the dirty pages among `frames`, with one flush.
  /// May be called with latches held, because flushing the log needs none.
  absl::Status MakeDurableFor(std::span<const FrameId> frames);

 private:
  /// REQUIRES: has_log().
  bool IsDurable(uint64_t lsn) const;

  const BufferFrames& frames_;
  WriteAheadLog* log_ = nullptr;
};

}  // namespace latchkey
