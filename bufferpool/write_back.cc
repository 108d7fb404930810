#include "bufferpool/write_back.h"

#include <array>
#include <memory>

#include "storage/base/canary.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

/// Ends an exclusive latch under which the page was only read.
class CleaningLatch {
 public:
  CleaningLatch(PageWord& word, Runtime& runtime) : word_(word), runtime_(runtime) {}
  ~CleaningLatch() {
    word_.ReleaseUnmodified();
    runtime_.SchedulePoint();
  }
  CleaningLatch(const CleaningLatch&) = delete;
  CleaningLatch& operator=(const CleaningLatch&) = delete;

 private:
  PageWord& word_;
  Runtime& runtime_;
};

}  // namespace

// ---- Page cleaners and checkpoints

absl::StatusOr<bool> WriteBack::TryClean(FrameId frame, PageWriter& writer, LogWait wait) {
  if (!frames_.IsDirty(frame)) return false;
  const PageId page = frames_.PageOf(frame);
  if (page == kInvalidPageId) return false;
  PageWord& word = table_.WordOf(page);
  const PageState state = word.ReadRelaxed();
  if (!state.FreeIn(frame) || !word.TryLatchExclusive(state)) return false;
  const CleaningLatch latch(word, runtime_);
  return CleanLatched(frame, page, writer, wait);
}

absl::StatusOr<bool> WriteBack::CleanLatched(FrameId frame, PageId page, PageWriter& writer,
                                             LogWait wait) {
  if (!frames_.IsDirty(frame)) return false;
  if (!log_.IsDurableFor(frame)) {
    if (wait == LogWait::kNever) return false;
    LATCHKEY_RETURN_IF_ERROR(log_.MakeDurableFor(std::span(&frame, 1)));
  }
  const PageWrite write{.id = page, .data = frames_.DataOf(frame)};
  size_t accepted = 0;
  LATCHKEY_RETURN_IF_ERROR(writer.Submit(std::span(&write, 1), &accepted));
  frames_.MarkClean(frame);
  cleaned_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool WriteBack::MayChange(FrameId frame) {
  const PageId page = frames_.PageOf(frame);
  if (page == kInvalidPageId) return false;
  const PageState state = table_.WordOf(page).Read();
  return state.exclusive() && state.frame() == frame;
}

absl::Status WriteBack::CleanBefore(FrameId frame, Lsn lsn, bool unlogged_too, PageWriter& writer) {
  constexpr uint32_t kUnlatchedWaits = 2;  // waits for the log before it waits with a page latched
  Backoff backoff(runtime_);
  for (;; backoff.Pause()) {
    if (log_.has_log() && MayChange(frame)) {
      if (LATCHKEY_CANARY("write-back-passes-over-latched")) return absl::OkStatus();
      continue;
    }
    if (!frames_.HoldsChangeBefore(frame, lsn, unlogged_too)) return absl::OkStatus();
    const bool unlatched = backoff.attempts() < kUnlatchedWaits;
    if (unlatched) LATCHKEY_RETURN_IF_ERROR(log_.MakeDurableFor(std::span(&frame, 1)));
    writer.AwaitRoom();
    LATCHKEY_ASSIGN_OR_RETURN(
        const bool handed_over,
        TryClean(frame, writer, unlatched ? LogWait::kNever : LogWait::kLatched));
    if (handed_over) return absl::OkStatus();
  }
}

absl::Status WriteBack::WriteDirtyBefore(Lsn lsn, bool unlogged_too) {
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

// ---- Evictions

absl::Status WriteBack::WriteVictims(PoolActor& actor, std::span<const FrameId> dirty) {
  return CatchOutOfMemory([&] { return WriteClaimed(actor, dirty); });
}

absl::Status WriteBack::WriteClaimed(PoolActor& actor, std::span<const FrameId> dirty) {
  LATCHKEY_ASSIGN_OR_RETURN(PageWriter * writer, WriterOf(actor));
  std::array<PageWrite, kMaxVictims> writes;
  for (size_t i = 0; i < dirty.size(); ++i) {
    writes[i] = {.id = frames_.PageOf(dirty[i]), .data = frames_.DataOf(dirty[i])};
  }
  size_t accepted = 0;
  LATCHKEY_RETURN_IF_ERROR(writer->Submit(std::span(writes.data(), dirty.size()), &accepted));
  PoolActor::Add(actor.sync_writes, dirty.size());
  return writer->Wait(0);
}

absl::StatusOr<PageWriter*> WriteBack::WriterOf(PoolActor& actor) {
  if (actor.writer == nullptr) {
    LATCHKEY_ASSIGN_OR_RETURN(actor.writer, store_.NewWriter(kWriterDepth));
  }
  return actor.writer.get();
}

}  // namespace latchkey
