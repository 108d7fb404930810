#include "bufferpool/pool_resizer.h"

#include <memory>
#include <vector>

#include "storage/base/status_macros.h"

namespace latchkey {

// Empties the frames above a bound. It keeps an empty frame aside, so that no miss loads a page into
// it again. So it empties each frame once, at a moment at which no actor has latched the page.
class PoolResizer::Shrink {
 public:
  Shrink(PoolResizer& resizer, uint32_t bound, PageWriter& writer)
      : resizer_(resizer), bound_(bound), old_(resizer.frames_.count()), writer_(writer) {
    for (uint32_t f = old_; f > bound_; --f) full_.push_back(FrameId{f});
    aside_.reserve(old_ - bound_);
  }
  /// Returns the frames that are aside, unless Step has finished.
  ~Shrink() {
    for (const FrameId frame : aside_) resizer_.policy_.ReturnFreeFrame(frame);
  }
  Shrink(const Shrink&) = delete;
  Shrink& operator=(const Shrink&) = delete;

  /// Empties the frames with pages that no actor has latched now. True: all frames above the bound
  /// are empty, and the pool is smaller.
  absl::StatusOr<bool> Step() {
    // The log may be behind pages that an active transaction has changed, and no other actor need
    // make it durable.
    LATCHKEY_RETURN_IF_ERROR(resizer_.log_.MakeDurableFor(full_));
    const MissGate::Closure gate(resizer_.gate_);
    if (!gate.closed()) return false;
    TakeFree();
    LATCHKEY_RETURN_IF_ERROR(EmptyFull());
    if (aside_.size() < old_ - bound_) return false;
    Finish();
    return true;
  }
  size_t frames_left() const { return full_.size(); }

 private:
  void TakeFree() {
    const size_t before = aside_.size();
    resizer_.policy_.TakeFreeFramesAbove(FrameId{bound_}, &aside_);
    if (aside_.size() == before) return;
    std::erase_if(full_, [this](FrameId frame) { return resizer_.frames_.IsEmpty(frame); });
  }
  absl::Status EmptyFull() {
    absl::Status written;
    std::erase_if(full_, [&](FrameId frame) {
      if (!written.ok()) return false;
      const absl::StatusOr<bool> empty = TryEmpty(frame);
      written.Update(empty.status());
      if (!empty.ok() || !*empty) return false;
      aside_.push_back(frame);
      return true;
    });
    return written;
  }
  /// Returns whether the caller now owns the frame, which held a page and is empty; an error comes
  /// from writing its page. REQUIRES: the miss gate is closed.
  absl::StatusOr<bool> TryEmpty(FrameId frame) {
    BufferFrames& frames = resizer_.frames_;
    if (frames.IsEmpty(frame)) return false;
    if (frames.IsDirty(frame)) {
      LATCHKEY_ASSIGN_OR_RETURN(const bool cleaned, resizer_.write_back_.TryClean(frame, writer_));
      if (!cleaned) return false;
      LATCHKEY_RETURN_IF_ERROR(writer_.Wait(WriteBack::kWriterDepth - 1));
    }
    if (!resizer_.evictor_.TryClaimFrame(frame)) return false;
    if (frames.IsDirty(frame)) {
      resizer_.evictor_.GiveUpClaim(frame);
      return false;
    }
    resizer_.evictor_.Remove(frame, resizer_.runtime_.ActorIndex());
    return true;
  }
  void Finish() {
    resizer_.policy_.Resize(bound_);
    aside_.clear();  // these frames exist no more
    resizer_.frames_.SetCount(bound_);
    resizer_.frames_.DiscardUpTo(FrameId{old_});
  }

  PoolResizer& resizer_;
  const uint32_t bound_;
  const uint32_t old_;
  PageWriter& writer_;
  std::vector<FrameId> full_;   // frames above the bound that are not aside
  std::vector<FrameId> aside_;  // empty frames that this object owns
};

absl::Status PoolResizer::Resize(uint32_t count) {
  MutexLock lock(mutex_);
  const uint32_t old = frames_.count();
  if (count < old) return ShrinkTo(count);
  if (count > old) GrowTo(count);
  return absl::OkStatus();
}

void PoolResizer::GrowTo(uint32_t count) {
  frames_.PrepareGrowth(count);
  for (;; runtime_.SleepFor(kNanosPerMilli)) {
    const MissGate::Closure gate(gate_);
    if (!gate.closed()) continue;
    policy_.Resize(count);  // throws when memory runs out, with nothing changed
    frames_.SetCount(count);
    return;
  }
}

absl::Status PoolResizer::ShrinkTo(uint32_t count) {
  constexpr uint32_t kIdleSteps = 2'000;  // steps one after the other that empty no frame
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<PageWriter> writer,
                            store_.NewWriter(WriteBack::kWriterDepth));
  Shrink shrink(*this, count, *writer);
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
      count);
}

}  // namespace latchkey
