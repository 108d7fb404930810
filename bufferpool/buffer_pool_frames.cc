// Operations of the pool over frames rather than pages: cleaning and counting.
#include <algorithm>
#include <utility>
#include <vector>

#include "bufferpool/buffer_pool.h"
#include "storage/base/canary.h"
#include "storage/base/status_macros.h"

namespace latchkey {

// ---- Cleaning

absl::StatusOr<bool> BufferPool::TryCleanIf(FrameId frame, PageWriter& writer, LogWait wait) {
  if (!frames_.IsDirty(frame)) return false;
  const PageId page = frames_.PageOf(frame);
  if (page == kInvalidPageId) return false;
  PageWord& word = table_.WordOf(page);
  const PageState state = word.ReadRelaxed();
  // An exclusive latch although the page is only read: two cleaners of one page would otherwise
  // race for its dirty flag.
  if (!state.FreeIn(frame) || !word.TryLatchExclusive(state)) return false;
  ExclusiveGuard guard(this, page, frame);
  if (!frames_.IsDirty(frame)) return false;
  if (!log_.IsDurableFor(frame)) {
    if (wait == LogWait::kNever) return false;
    LATCHKEY_RETURN_IF_ERROR(log_.MakeDurableFor(std::span(&frame, 1)));
  }
  const PageWrite write{.id = page, .data = frames_.DataOf(frame)};
  size_t accepted = 0;
  LATCHKEY_RETURN_IF_ERROR(writer.Submit(std::span(&write, 1), &accepted));
  frames_.MarkClean(frame);
  async_writes_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

absl::Status BufferPool::CleanBefore(FrameId frame, Lsn lsn, bool unlogged_too,
                                     PageWriter& writer) {
  constexpr uint32_t kUnlatchedWaits = 2;  // waits for the log before it waits with a page latched
  Backoff backoff(runtime_);
  for (;; backoff.Pause()) {
    if (log_.has_log()) {
      const PageId page = frames_.PageOf(frame);
      if (page == kInvalidPageId) return absl::OkStatus();
      const PageState state = table_.WordOf(page).Read();
      if (state.exclusive() && state.frame() == frame) {
        if (LATCHKEY_CANARY("write-back-passes-over-latched")) return absl::OkStatus();
        continue;  // may become dirty: wait
      }
    }
    if (!frames_.HoldsChangeBefore(frame, lsn, unlogged_too)) return absl::OkStatus();
    const bool unlatched = backoff.attempts() < kUnlatchedWaits;
    if (unlatched) LATCHKEY_RETURN_IF_ERROR(MakeLogDurable(std::span(&frame, 1)));
    LATCHKEY_ASSIGN_OR_RETURN(
        const bool handed_over,
        TryCleanIf(frame, writer, unlatched ? LogWait::kNever : LogWait::kLatched));
    if (handed_over) return absl::OkStatus();
  }
}

absl::Status BufferPool::WriteDirtyBefore(Lsn lsn, bool unlogged_too) {
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<PageWriter> writer,
                            store_.NewWriter(kWriterDepth));
  const uint32_t frames = frames_.count();
  for (uint32_t f = 1; f <= frames; ++f) {
    if (LATCHKEY_CANARY("checkpoint-misses-pages") && f % 8 == 7) continue;
    LATCHKEY_RETURN_IF_ERROR(CleanBefore(FrameId{f}, lsn, unlogged_too, *writer));
    LATCHKEY_RETURN_IF_ERROR(writer->Wait(kWriterDepth - 1));
  }
  return writer->Wait(0);
}

bool BufferPool::CopyIfClean(PageId page, std::byte* out) {
  PageWord& word = table_.WordOf(page);
  const PageState state = word.Read();
  if (!state.resident() || state.exclusive() || frames_.IsDirty(state.frame())) return false;
  const OptimisticGuard guard(&word, state, frames_.DataOf(state.frame()), page);
  guard.Copy(0, out, page_size());
  return !frames_.IsDirty(state.frame()) && guard.Validate();
}

LeakedFrames BufferPool::CountLeaks() {
  LeakedFrames leaked;
  const uint32_t frames = frames_.count();
  uint64_t resident = 0;
  for (uint32_t f = 1; f <= frames; ++f) {
    const PageId page = frames_.PageOf(FrameId{f});
    if (page == kInvalidPageId) continue;
    const PageState state = table_.WordOf(page).ReadRelaxed();
    if (state.frame() == FrameId{f}) ++resident;
    if (!state.free()) ++leaked.latched;
  }
  const uint64_t known = resident + policy_->free_frames();
  leaked.lost = known < frames ? frames - known : 0;
  return leaked;
}

}  // namespace latchkey
