// The common part of FIFO and LRU: one list of the loaded frames. The oldest evictable frame is
// the victim.
#pragma once

#include "bufferpool/replacement/frame_list.h"
#include "bufferpool/replacement_algorithm.h"

namespace latchkey {

/// The derived class decides what a hit does to the list.
class OneListReplacement : public ReplacementAlgorithm {
 public:
  static constexpr size_t BytesPerFrame(std::span<const double>) { return FrameLinks::kBytesEach; }

  void OnLoad(FrameId frame, PageId, LoadKind) override { list_.PushNewest(links_, SlotOf(frame)); }
  void Reinstate(FrameId frame) override { list_.PushOldest(links_, SlotOf(frame)); }
  void OnRemove(FrameId frame) override { list_.Remove(links_, SlotOf(frame)); }

  FrameId Victim(PageId, absl::FunctionRef<bool(FrameId)> evictable) override {
    const FrameSlot slot =
        list_.FindFromOldest(links_, [&](FrameSlot s) { return evictable(FrameOf(s)); });
    if (slot == kNoFrameSlot) return kNoFrame;
    list_.Remove(links_, slot);
    return FrameOf(slot);
  }

  size_t PeekColdest(std::span<FrameId> out) const override {
    size_t count = 0;
    list_.FindFromOldest(links_, [&](FrameSlot slot) {
      if (count < out.size()) out[count++] = FrameOf(slot);
      return count == out.size();
    });
    return count;
  }

  void Resize(size_t frames) override { links_.Grow(frames); }
  size_t size() const override { return list_.size(); }

 protected:
  explicit OneListReplacement(const ReplacementConfig& config)
      : ReplacementAlgorithm(config), links_(config.frame_capacity) {}

  FrameLinks links_;
  FrameList list_;
};

}  // namespace latchkey
