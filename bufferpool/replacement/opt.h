// OPT (Belady, also called MIN): the victim is the page whose next request is farthest in the
// future. It bounds the hit ratio of every algorithm that always loads the missed page. It reads
// the future of a trace, so only a trace replay can run it.
#pragma once

#include "bufferpool/replacement/frame_heap.h"
#include "bufferpool/replacement_algorithm.h"
#include "storage/base/check.h"
#include "storage/base/choice_grammar.h"

namespace latchkey {

/// REQUIRES: each request of the trace calls OnHit or OnLoad once, in the order of the trace.
class OptReplacement final : public ReplacementAlgorithm {
 public:
  static constexpr std::string_view kName = "opt";
  static constexpr std::string_view kSummary = "used again last (Belady; trace replay only)";
  static constexpr std::span<const ChoiceParameter> kParameters = {};
  static constexpr HitNeeds kHitNeeds = HitNeeds::kLock;
  static constexpr bool kNeedsFuture = true;
  static constexpr size_t BytesPerFrame(std::span<const double>) {
    return FrameHeap<uint32_t>::kBytesEach;
  }

  OptReplacement(const ReplacementConfig& config, std::span<const double> /*parameters*/)
      : first_frame_(config.first_frame), heap_(config.frame_capacity) {
    LATCHKEY_CHECK(config.trace != nullptr);
    next_use_ = config.trace->next_use;
  }

  void OnHit(FrameId frame) override { heap_.Update(SlotOf(frame), KeyOfRequest()); }
  void OnLoad(FrameId frame, PageId, LoadKind) override {
    heap_.Insert(SlotOf(frame), KeyOfRequest());
  }
  /// The next victim, whenever its page is used again.
  void Reinstate(FrameId frame) override { heap_.Insert(SlotOf(frame), 0); }
  void OnRemove(FrameId frame) override { heap_.Remove(SlotOf(frame)); }

  FrameId Victim(PageId, absl::FunctionRef<bool(FrameId)> evictable) override {
    const FrameSlot slot = heap_.RemoveFirst([&](FrameSlot s) { return evictable(FrameOf(s)); });
    return slot == kNoSlot ? kNoFrame : FrameOf(slot);
  }

  size_t PeekColdest(std::span<FrameId> out) const override {
    std::vector<FrameSlot> slots(out.size());
    const size_t count = heap_.CopyFirst(slots);
    for (size_t i = 0; i < count; ++i) out[i] = FrameOf(slots[i]);
    return count;
  }

  void Resize(size_t frames) override { heap_.Grow(frames); }
  size_t size() const override { return heap_.size(); }

 private:
  FrameSlot SlotOf(FrameId frame) const { return Raw(frame) - first_frame_; }
  FrameId FrameOf(FrameSlot slot) const { return FrameId{first_frame_ + slot}; }
  // The later the next use, the smaller the key.
  uint32_t KeyOfRequest() {
    LATCHKEY_CHECK(request_ < next_use_.size());
    return ~next_use_[request_++];
  }

  const uint32_t first_frame_;
  std::span<const uint32_t> next_use_;
  size_t request_ = 0;
  FrameHeap<uint32_t> heap_;
};

}  // namespace latchkey
