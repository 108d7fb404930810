// LFU: the victim is the page with the fewest fixes since it was loaded; among equals the one that
// reached its count first. A count starts at 1 and is lost with the page. A hit moves an entry of a
// heap.
#pragma once

#include <compare>

#include "bufferpool/replacement/frame_heap.h"
#include "bufferpool/replacement_algorithm.h"
#include "storage/base/choice_grammar.h"

namespace latchkey {

class LfuReplacement final : public ReplacementAlgorithm {
 private:
  struct Use {
    uint64_t count;
    uint64_t since;  // the request that brought the page to `count`
    auto operator<=>(const Use&) const = default;
  };

 public:
  static constexpr std::string_view kName = "lfu";
  static constexpr std::string_view kSummary = "fewest fixes since the page was loaded";
  static constexpr std::span<const ChoiceParameter> kParameters = {};
  static constexpr HitNeeds kHitNeeds = HitNeeds::kLock;
  static constexpr size_t BytesPerFrame(std::span<const double>) {
    return FrameHeap<Use>::kBytesEach + sizeof(Use);
  }

  LfuReplacement(const ReplacementConfig& config, std::span<const double> /*parameters*/)
      : first_frame_(config.first_frame), heap_(0) {
    Resize(config.frame_capacity);
  }

  void OnHit(FrameId frame) override {
    const FrameSlot slot = SlotOf(frame);
    heap_.Update(slot, {heap_.KeyOf(slot).count + 1, ++now_});
  }
  void PrefetchForHit(FrameId frame) const override { heap_.Prefetch(SlotOf(frame)); }
  void OnLoad(FrameId frame, PageId, LoadKind) override {
    heap_.Insert(SlotOf(frame), {1, ++now_});
  }
  /// The page has the count that it had.
  void Reinstate(FrameId frame) override { heap_.Insert(SlotOf(frame), left_with_[SlotOf(frame)]); }
  void OnRemove(FrameId frame) override { heap_.Remove(SlotOf(frame)); }

  FrameId Victim(PageId, absl::FunctionRef<bool(FrameId)> evictable) override {
    const FrameSlot slot = heap_.RemoveFirst([&](FrameSlot s) {
      left_with_[s] = heap_.KeyOf(s);
      return evictable(FrameOf(s));
    });
    return slot == kNoSlot ? kNoFrame : FrameOf(slot);
  }

  size_t PeekColdest(std::span<FrameId> out) const override {
    std::vector<FrameSlot> slots(out.size());
    const size_t count = heap_.CopyFirst(slots);
    for (size_t i = 0; i < count; ++i) out[i] = FrameOf(slots[i]);
    return count;
  }

  void Resize(size_t frames) override {
    heap_.Grow(frames);
    if (frames > left_with_.size()) left_with_.resize(frames);
  }
  size_t size() const override { return heap_.size(); }

 private:
  FrameSlot SlotOf(FrameId frame) const { return Raw(frame) - first_frame_; }
  FrameId FrameOf(FrameSlot slot) const { return FrameId{first_frame_ + slot}; }

  const uint32_t first_frame_;
  uint64_t now_ = 0;  // requests so far
  FrameHeap<Use> heap_;
  std::vector<Use> left_with_;  // of each slot: its key when it was last evicted
};

}  // namespace latchkey
