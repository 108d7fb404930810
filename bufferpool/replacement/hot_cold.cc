#include "bufferpool/replacement/hot_cold.h"

namespace latchkey {

HotColdReplacement::HotColdReplacement(const ReplacementConfig& config,
                                       std::span<const double> parameters)
    : ReplacementAlgorithm(config), hot_fraction_(parameters[0]), links_(0) {
  Resize(config.frame_capacity);
}

void HotColdReplacement::OnHit(FrameId frame) {
  const FrameSlot slot = SlotOf(frame);
  if (region_of_[slot] == Region::kHot) return;
  cold_.Remove(links_, slot);
  Enter(slot, Region::kHot);
  ShortenHot();
}

void HotColdReplacement::OnLoad(FrameId frame, PageId, LoadKind) {
  Enter(SlotOf(frame), Region::kCold);
}

FrameId HotColdReplacement::Victim(PageId, absl::FunctionRef<bool(FrameId)> evictable) {
  for (FrameList* list : {&cold_, &hot_}) {
    const FrameSlot slot =
        list->FindFromOldest(links_, [&](FrameSlot s) { return evictable(FrameOf(s)); });
    if (slot == kNoFrameSlot) continue;
    list->Remove(links_, slot);
    return FrameOf(slot);
  }
  return kNoFrame;
}

void HotColdReplacement::Reinstate(FrameId frame) {
  const FrameSlot slot = SlotOf(frame);
  Enter(slot, Region::kCold);
  cold_.Remove(links_, slot);
  cold_.PushOldest(links_, slot);
}

void HotColdReplacement::OnRemove(FrameId frame) {
  const FrameSlot slot = SlotOf(frame);
  (region_of_[slot] == Region::kHot ? hot_ : cold_).Remove(links_, slot);
}

size_t HotColdReplacement::PeekColdest(std::span<FrameId> out) const {
  size_t count = 0;
  for (const FrameList* list : {&cold_, &hot_}) {
    list->FindFromOldest(links_, [&](FrameSlot slot) {
      if (count < out.size()) out[count++] = FrameOf(slot);
      return count == out.size();
    });
  }
  return count;
}

void HotColdReplacement::Resize(size_t frames) {
  links_.Grow(frames);
  if (frames > region_of_.size()) region_of_.resize(frames, Region::kCold);
  most_hot_ = static_cast<size_t>(hot_fraction_ * static_cast<double>(frames));
  ShortenHot();
}

void HotColdReplacement::Enter(FrameSlot slot, Region region) {
  (region == Region::kHot ? hot_ : cold_).PushNewest(links_, slot);
  region_of_[slot] = region;
  ByteOf(slot).SetHits(region == Region::kHot);
}

void HotColdReplacement::ShortenHot() {
  while (hot_.size() > most_hot_) {
    const FrameSlot oldest = hot_.oldest();
    hot_.Remove(links_, oldest);
    Enter(oldest, Region::kCold);
  }
}

}  // namespace latchkey
