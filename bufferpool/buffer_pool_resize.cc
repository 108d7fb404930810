// Changing the number of frames while all actors go on.
#include <vector>

#include "bufferpool/buffer_pool.h"
#include "storage/base/reserved_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {

// Closes the miss gate for a scope, so that no miss owns, takes or evicts a frame. A miss that is
// inside may wait for a latch whose holder waits for the gate. The closer therefore gives up after
// some waits.
class BufferPool::ClosedGate {
 public:
  explicit ClosedGate(BufferPool& pool) : gate_(pool.miss_gate_) {
    constexpr uint32_t kWaits = 200;  // at most 160 us each
    gate_.fetch_or(kGateClosed, std::memory_order_acquire);
    Backoff backoff(pool.runtime_);
    while (gate_.load(std::memory_order_acquire) != kGateClosed) {
      if (backoff.attempts() == kWaits) return;
      backoff.Pause();
    }
    closed_ = true;
  }
  ~ClosedGate() { gate_.fetch_and(~kGateClosed, std::memory_order_release); }
  ClosedGate(const ClosedGate&) = delete;
  ClosedGate& operator=(const ClosedGate&) = delete;

  /// False if misses stayed inside: then the caller must change nothing and try again later.
  bool closed() const { return closed_; }

 private:
  std::atomic<uint32_t>& gate_;
  bool closed_ = false;
};

// Empties the frames above a bound. A frame that is empty is kept aside, so that no miss loads a
// page into it again. Each frame therefore needs one moment only in which nobody latches its page.
class BufferPool::Shrink {
 public:
  Shrink(BufferPool& pool, uint32_t frames, PageWriter& writer)
      : pool_(pool), frames_(frames), old_(pool.frames()), writer_(writer) {
    for (uint32_t f = old_; f > frames_; --f) full_.push_back(FrameId{f});
    aside_.reserve(old_ - frames_);
  }
  /// Returns the frames that are aside, unless Step has finished.
  ~Shrink() {
    for (const FrameId frame : aside_) pool_.policy_->ReturnFreeFrame(frame);
  }
  Shrink(const Shrink&) = delete;
  Shrink& operator=(const Shrink&) = delete;

  /// Empties the frames that nobody uses now. True when all frames are, and the pool is smaller.
  absl::StatusOr<bool> Step() {
    // The log may be behind pages that an active transaction has changed, and no other actor need
    // make it durable.
    LATCHKEY_RETURN_IF_ERROR(pool_.MakeLogDurable(full_));
    // The gate is closed only during one step, because holders of latches must be able to go on.
    const ClosedGate gate(pool_);
    if (!gate.closed()) return false;
    TakeFree();
    LATCHKEY_RETURN_IF_ERROR(EmptyFull());
    if (aside_.size() < old_ - frames_) return false;
    Finish();
    return true;
  }
  size_t frames_left() const { return full_.size(); }

 private:
  void TakeFree() {
    const size_t before = aside_.size();
    pool_.policy_->TakeFreeFramesAbove(FrameId{frames_}, &aside_);
    if (aside_.size() == before) return;
    std::erase_if(full_, [this](FrameId frame) { return pool_.frames_.IsEmpty(frame); });
  }
  absl::Status EmptyFull() {
    absl::Status written;
    std::erase_if(full_, [&](FrameId frame) {
      if (!written.ok()) return false;
      const absl::StatusOr<bool> empty = pool_.TryEmptyFrame(frame, writer_);
      written.Update(empty.status());
      if (!empty.ok() || !*empty) return false;
      aside_.push_back(frame);
      return true;
    });
    return written;
  }
  void Finish() {
    pool_.policy_->Resize(frames_);
    aside_.clear();  // these frames exist no more
    pool_.frames_.SetCount(frames_);
    pool_.frames_.DiscardUpTo(FrameId{old_});
  }

  BufferPool& pool_;
  const uint32_t frames_;
  const uint32_t old_;
  PageWriter& writer_;
  std::vector<FrameId> full_;   // frames above the bound that are not aside
  std::vector<FrameId> aside_;  // empty frames that this object owns
};

absl::Status BufferPool::Resize(uint32_t frames) {
  if (frames < kMinFrames || frames > max_frames()) {
    return InvalidArgument("{} frames are outside {}..{}", frames, kMinFrames, max_frames());
  }
  MutexLock lock(resize_mutex_);
  const uint32_t old = frames_.count();
  if (frames < old) return ShrinkTo(frames);
  if (frames > old) GrowTo(frames);
  return absl::OkStatus();
}

void BufferPool::GrowTo(uint32_t frames) {
  frames_.PrepareGrowth(frames);
  for (;; runtime_.SleepFor(kNanosPerMilli)) {
    const ClosedGate gate(*this);
    if (!gate.closed()) continue;
    policy_->Resize(frames);  // throws when memory runs out, with nothing changed
    frames_.SetCount(frames);
    return;
  }
}

absl::Status BufferPool::ShrinkTo(uint32_t frames) {
  constexpr uint32_t kIdleSteps = 2'000;  // steps one after the other that empty no frame
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<PageWriter> writer,
                            store_.NewWriter(WriteBack::kWriterDepth));
  Shrink shrink(*this, frames, *writer);
  for (uint32_t idle = 0; idle < kIdleSteps; ++idle) {
    const size_t left = shrink.frames_left();
    absl::StatusOr<bool> done = shrink.Step();
    const absl::Status written = writer->Wait(0);
    LATCHKEY_RETURN_IF_ERROR(done.status());
    LATCHKEY_RETURN_IF_ERROR(written);
    if (*done) return absl::OkStatus();
    if (shrink.frames_left() < left) idle = 0;
    runtime_.SleepFor(kNanosPerMilli);
  }
  return MakeStatus(
      absl::StatusCode::kResourceExhausted,
      "the cache could not shrink to {} frames: pages in the frames to give up stay in "
      "use; finish long scans and try again",
      frames);
}

absl::StatusOr<bool> BufferPool::TryEmptyFrame(FrameId frame, PageWriter& writer) {
  if (frames_.IsEmpty(frame)) return false;
  if (frames_.IsDirty(frame)) {
    LATCHKEY_ASSIGN_OR_RETURN(const bool cleaned, TryClean(frame, writer));
    if (!cleaned) return false;
    LATCHKEY_RETURN_IF_ERROR(writer.Wait(WriteBack::kWriterDepth - 1));
  }
  if (!evictor_.TryClaimFrame(frame)) return false;
  if (frames_.IsDirty(frame)) {
    evictor_.GiveUpClaim(frame);
    return false;
  }
  evictor_.Remove(frame, runtime_.ActorIndex());
  return true;
}

}  // namespace latchkey
