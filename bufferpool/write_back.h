// Write-back: hands dirty pages to the store, for page cleaners, checkpoints and evictions.
//
// A page is handed over under its exclusive latch, although it is only read: two writers of one
// page would otherwise race for its dirty flag. A page cleaner only tries to latch it.
//
// Thread-safety: every function may be called from all actors at once.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "bufferpool/buffer_frames.h"
#include "bufferpool/fix_policy.h"
#include "bufferpool/log_before_page.h"
#include "bufferpool/page_table.h"
#include "bufferpool/pool_actor.h"
#include "storage/base/ids.h"
#include "storage/page_store.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

class WriteBack {
 public:
  static constexpr uint32_t kWriterDepth = 64;  ///< writes outstanding of one writer
  static constexpr size_t kMaxVictims = FixPolicy::kMostVictims;  ///< of one call of WriteVictims

  WriteBack(Runtime& runtime, PageStore& store, PageTable& table, BufferFrames& frames,
            LogBeforePage& log)
      : runtime_(runtime), store_(store), table_(table), frames_(frames), log_(log) {}

  /// Hands the page in `frame` to `writer` if it is dirty, can be latched without waiting, and the
  /// log is durable up to its LSN. Returns whether it did.
  absl::StatusOr<bool> TryClean(FrameId frame, PageWriter& writer) {
    return TryClean(frame, writer, LogWait::kNever);
  }
  /// As BufferPool::WriteDirtyBefore.
  absl::Status WriteDirtyBefore(Lsn lsn, bool unlogged_too);
  /// Writes the pages in `dirty` and waits until the store has accepted all of them. They stay
  /// marked dirty. Throws nothing, because the caller reinstates the victims on an error.
  /// REQUIRES: the caller has latched the pages exclusively, at most kMaxVictims, and
  /// LogBeforePage::IsDurableFor each of them.
  absl::Status WriteVictims(PoolActor& actor, std::span<const FrameId> dirty);

  /// Number of pages handed over by TryClean and WriteDirtyBefore.
  uint64_t cleaned() const { return cleaned_.load(std::memory_order_relaxed); }

 private:
  enum class LogWait { kNever, kLatched };

  /// kLatched: if the log is behind the page, makes it durable with the page latched.
  absl::StatusOr<bool> TryClean(FrameId frame, PageWriter& writer, LogWait wait);
  absl::StatusOr<bool> CleanLatched(FrameId frame, PageId page, PageWriter& writer, LogWait wait);
  absl::Status CleanBefore(FrameId frame, Lsn lsn, bool unlogged_too, PageWriter& writer);
  /// Whether the page in `frame` is latched exclusively, so that it may become dirty.
  bool MayChange(FrameId frame);
  absl::Status WriteClaimed(PoolActor& actor, std::span<const FrameId> dirty);
  absl::StatusOr<PageWriter*> WriterOf(PoolActor& actor);

  Runtime& runtime_;
  PageStore& store_;
  PageTable& table_;
  BufferFrames& frames_;
  LogBeforePage& log_;
  std::atomic<uint64_t> cleaned_{0};
};

}  // namespace latchkey
