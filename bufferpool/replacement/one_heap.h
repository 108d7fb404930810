// The common part of LFU and OPT: one heap of the loaded frames. The first evictable frame is
// the victim.
#pragma once

#include <vector>

#include "bufferpool/replacement/frame_heap.h"
#include "bufferpool/replacement_algorithm.h"

namespace latchkey {

/// The derived class sets the keys. The smallest key leaves first.
template <typename Key>
class OneHeapReplacement : public ReplacementAlgorithm {
 public:
  static constexpr size_t BytesPerFrame(std::span<const double>) {
    return FrameHeap<Key>::kBytesEach + sizeof(Key);
  }

  void PrefetchForHit(FrameId frame, PageId) const override { heap_.Prefetch(SlotOf(frame)); }
  /// The page has the key that it had.
  void Reinstate(FrameId frame) override { heap_.Insert(SlotOf(frame), left_with_[SlotOf(frame)]); }
  void OnRemove(FrameId frame) override { heap_.Remove(SlotOf(frame)); }

  FrameId Victim(PageId, absl::FunctionRef<bool(FrameId)> evictable) override {
    const FrameSlot slot = heap_.RemoveFirst([&](FrameSlot s) {
      left_with_[s] = heap_.KeyOf(s);
      return evictable(FrameOf(s));
    });
    return slot == kNoFrameSlot ? kNoFrame : FrameOf(slot);
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

 protected:
  explicit OneHeapReplacement(const ReplacementConfig& config)
      : ReplacementAlgorithm(config),
        heap_(config.frame_capacity),
        left_with_(config.frame_capacity) {}

  FrameHeap<Key> heap_;

 private:
  std::vector<Key> left_with_;  // of each slot: its key when it was last offered as a victim
};

}  // namespace latchkey
