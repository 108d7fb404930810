// LRU: the victim is the frame whose last fix is longest ago (thesis 2.4.2). Hits move list nodes,
// so they need the scheme's lock.
#pragma once

#include "bufferpool/replacement/frame_list.h"
#include "bufferpool/replacement_algorithm.h"
#include "storage/base/choice_grammar.h"

namespace latchkey {

class LruReplacement final : public ReplacementAlgorithm {
 public:
  static constexpr std::string_view kName = "lru";
  static constexpr std::string_view kSummary = "least recently used";
  static constexpr std::span<const ChoiceParameter> kParameters = {};
  static constexpr HitNeeds kHitNeeds = HitNeeds::kLock;
  static constexpr size_t BytesPerFrame(std::span<const double>) { return FrameLinks::kBytesEach; }

  LruReplacement(const ReplacementConfig& config, std::span<const double> /*parameters*/)
      : first_frame_(config.first_frame), links_(config.frame_capacity) {}

  void OnHit(FrameId frame) override { list_.MoveToNewest(links_, SlotOf(frame)); }
  void PrefetchForHit(FrameId frame) const override { links_.Prefetch(SlotOf(frame)); }
  void OnLoad(FrameId frame, PageId, LoadKind) override { list_.PushNewest(links_, SlotOf(frame)); }
  void Reinstate(FrameId frame) override { list_.PushOldest(links_, SlotOf(frame)); }
  void OnRemove(FrameId frame) override { list_.Remove(links_, SlotOf(frame)); }

  FrameId Victim(PageId, absl::FunctionRef<bool(FrameId)> evictable) override {
    const FrameSlot slot =
        list_.FindFromOldest(links_, [&](FrameSlot s) { return evictable(FrameOf(s)); });
    if (slot == kNoSlot) return kNoFrame;
    list_.Remove(links_, slot);
    return FrameOf(slot);
  }

  size_t PeekColdest(std::span<FrameId> out) const override {
    size_t count = 0;
    for (FrameSlot s = list_.oldest(); s != kNoSlot && count < out.size();
         s = list_.NextNewer(links_, s)) {
      out[count++] = FrameOf(s);
    }
    return count;
  }

  void Resize(size_t frames) override { links_.Grow(frames); }
  size_t size() const override { return list_.size(); }

 private:
  FrameSlot SlotOf(FrameId frame) const { return Raw(frame) - first_frame_; }
  FrameId FrameOf(FrameSlot slot) const { return FrameId{first_frame_ + slot}; }

  const uint32_t first_frame_;
  FrameLinks links_;
  FrameList list_;
};

}  // namespace latchkey
