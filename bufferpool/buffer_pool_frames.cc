// Operations of the pool over frames rather than pages: cleaning and resizing.
#include <algorithm>
#include <utility>
#include <vector>

#include "bufferpool/buffer_pool.h"
#include "storage/base/canary.h"
#include "storage/base/check.h"
#include "storage/base/reserved_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {

// ---- Cleaning

absl::StatusOr<bool> BufferPool::TryCleanIf(FrameId frame, PageWriter& writer, LogWait wait) {
  FrameMeta& meta = meta_[Raw(frame)];
  if (!meta.dirty.load(std::memory_order_relaxed)) return false;
  const PageId page{meta.page.load(std::memory_order_relaxed)};
  if (page == kInvalidPageId) return false;
  PageWord& word = table_.WordOf(page);
  PageState state(word.load(std::memory_order_relaxed));
  // An exclusive latch although the page is only read: two cleaners of one page would otherwise
  // race for its dirty flag.
  if (state.frame() != frame || state.latch() != 0) return false;
  uint64_t expected = state.bits();
  if (!word.compare_exchange_strong(expected, state.WithLatch(PageState::kExclusive).bits(),
                                    std::memory_order_acquire)) {
    return false;
  }
  ExclusiveGuard guard(this, page, frame);
  if (!meta.dirty.load(std::memory_order_relaxed)) return false;
  if (!LogIsDurableFor(frame) && !LATCHKEY_CANARY("page-before-its-log")) {
    if (wait == LogWait::kNever) return false;
    LATCHKEY_RETURN_IF_ERROR(log_->EnsureDurable(LsnOf(frame)));
  }
  const PageWrite write{.id = page, .data = DataOf(frame)};
  size_t accepted = 0;
  LATCHKEY_RETURN_IF_ERROR(writer.Submit(std::span(&write, 1), &accepted));
  MarkClean(frame);
  async_writes_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

absl::Status BufferPool::CleanBefore(FrameId frame, Lsn lsn, bool unlogged_too,
                                     PageWriter& writer) {
  constexpr uint32_t kUnlatchedWaits = 2;  // waits for the log before it waits with a page latched
  Backoff backoff(runtime_);
  for (;; backoff.Pause()) {
    if (log_ != nullptr) {
      const PageId page{meta_[Raw(frame)].page.load(std::memory_order_relaxed)};
      if (page == kInvalidPageId) return absl::OkStatus();
      const PageState state(table_.WordOf(page).load(std::memory_order_acquire));
      if (state.exclusive() && state.frame() == frame) {
        if (LATCHKEY_CANARY("write-back-passes-over-latched")) return absl::OkStatus();
        continue;  // may become dirty: wait
      }
    }
    if (!HoldsChangeBefore(frame, lsn, unlogged_too)) return absl::OkStatus();
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
  const uint32_t frames = frames_.load(std::memory_order_acquire);
  for (uint32_t f = 1; f <= frames; ++f) {
    if (LATCHKEY_CANARY("checkpoint-misses-pages") && f % 8 == 7) continue;
    LATCHKEY_RETURN_IF_ERROR(CleanBefore(FrameId{f}, lsn, unlogged_too, *writer));
    LATCHKEY_RETURN_IF_ERROR(writer->Wait(kWriterDepth - 1));
  }
  return writer->Wait(0);
}

bool BufferPool::CopyIfClean(PageId page, std::byte* out) {
  PageWord& word = table_.WordOf(page);
  const PageState state(word.load(std::memory_order_acquire));
  if (!state.resident() || state.exclusive() || IsDirty(state.frame())) return false;
  const OptimisticGuard guard(&word, state, DataOf(state.frame()), page);
  guard.Copy(0, out, page_size_);
  return !IsDirty(state.frame()) && guard.Validate();
}

// ---- Resizing

// Closes the miss gate for a scope, so that no miss takes or evicts frames.
class BufferPool::ClosedGate {
 public:
  explicit ClosedGate(BufferPool& pool) : gate_(pool.miss_gate_) {
    Backoff backoff(pool.runtime_);
    uint32_t open = 0;
    while (!gate_.compare_exchange_weak(open, kGateClosed, std::memory_order_acquire)) {
      open = 0;
      backoff.Pause();
    }
  }
  ~ClosedGate() { gate_.fetch_and(~kGateClosed, std::memory_order_release); }
  ClosedGate(const ClosedGate&) = delete;
  ClosedGate& operator=(const ClosedGate&) = delete;

 private:
  std::atomic<uint32_t>& gate_;
};

absl::Status BufferPool::Resize(uint32_t frames) {
  if (frames < kMinFrames || frames > max_frames_) {
    return InvalidArgument("{} frames are outside {}..{}", frames, kMinFrames, max_frames_);
  }
  MutexLock lock(resize_mutex_);
  const uint32_t old = frames_.load(std::memory_order_relaxed);
  if (frames < old) return ShrinkTo(frames);
  if (frames == old) return absl::OkStatus();
  for (uint32_t f = old + 1; f <= frames; ++f) new (&meta_[f]) FrameMeta;
  if (HugePagesPay(frames * size_t{page_size_})) {
    AdviseHugePages(frame_memory_, (size_t{max_frames_} + 1) * page_size_);
  }
  const ClosedGate gate(*this);
  policy_->Resize(frames);  // throws when memory runs out, with nothing changed
  frames_.store(frames, std::memory_order_release);
  return absl::OkStatus();
}

absl::StatusOr<bool> BufferPool::TryEmptyFrame(FrameId frame, PageWriter& writer) {
  if (meta_[Raw(frame)].page.load(std::memory_order_relaxed) == Raw(kInvalidPageId)) return true;
  if (IsDirty(frame)) {
    LATCHKEY_ASSIGN_OR_RETURN(const bool cleaned, TryClean(frame, writer));
    if (!cleaned) return false;
    LATCHKEY_RETURN_IF_ERROR(writer.Wait(kWriterDepth - 1));
  }
  if (!TryClaim(frame)) return false;
  const PageId page{meta_[Raw(frame)].page.load(std::memory_order_relaxed)};
  if (IsDirty(frame)) {
    ReleaseExclusive(page, frame, /*modified=*/false);
    return false;
  }
  policy_->OnRemove(frame, page, runtime_.ActorIndex());
  ReleaseEvicted(frame);
  policy_->ReturnFreeFrame(frame);
  return true;
}

absl::Status BufferPool::ShrinkTo(uint32_t frames) {
  constexpr uint32_t kRounds = 2'000;
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<PageWriter> writer,
                            store_.NewWriter(kWriterDepth));
  const uint32_t old = frames_.load(std::memory_order_relaxed);
  std::vector<FrameId> leaving;
  for (uint32_t f = old; f > frames; --f) leaving.push_back(FrameId{f});
  for (uint32_t round = 0; round < kRounds; ++round) {
    // The log may be behind pages that an active transaction has changed, and no other actor need
    // make it durable.
    LATCHKEY_RETURN_IF_ERROR(MakeLogDurable(leaving));
    // The gate is closed only during one try, because holders of latches must be able to go on.
    bool all_empty = true;
    absl::Status written;
    {
      const ClosedGate gate(*this);
      for (const FrameId frame : leaving) {
        const absl::StatusOr<bool> empty = TryEmptyFrame(frame, *writer);
        written.Update(empty.status());
        all_empty &= empty.ok() && *empty;
        if (!written.ok()) break;
      }
      if (all_empty) {
        policy_->Resize(frames);
        frames_.store(frames, std::memory_order_release);
        // Returns the memory to the system, from the next whole huge page on.
        DiscardMemory(DataOf(FrameId{frames + 1}), size_t{old - frames} * page_size_);
      }
    }
    written.Update(writer->Wait(0));
    LATCHKEY_RETURN_IF_ERROR(written);
    if (all_empty) return absl::OkStatus();
    runtime_.SleepFor(kNanosPerMilli);
  }
  return MakeStatus(
      absl::StatusCode::kResourceExhausted,
      "the cache could not shrink to {} frames: pages in the frames to give up stay in "
      "use; finish long scans and try again",
      frames);
}

LeakedFrames BufferPool::CountLeaks() {
  LeakedFrames leaked;
  const uint32_t frames = frames_.load(std::memory_order_relaxed);
  uint64_t resident = 0;
  for (uint32_t f = 1; f <= frames; ++f) {
    const PageId page{meta_[f].page.load(std::memory_order_relaxed)};
    if (page == kInvalidPageId) continue;
    const PageState state(table_.WordOf(page).load(std::memory_order_relaxed));
    if (state.frame() == FrameId{f}) ++resident;
    if (state.latch() != 0) ++leaked.latched;
  }
  const uint64_t known = resident + policy_->free_frames();
  leaked.lost = known < frames ? frames - known : 0;
  return leaked;
}

}  // namespace latchkey
