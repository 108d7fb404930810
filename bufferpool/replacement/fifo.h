// FIFO: the victim is the page that was loaded first. A hit costs nothing.
#pragma once

#include "bufferpool/replacement/frame_list.h"
#include "bufferpool/replacement_algorithm.h"
#include "storage/base/choice_grammar.h"

namespace latchkey {

class FifoReplacement final : public ReplacementAlgorithm {
 public:
  static constexpr std::string_view kName = "fifo";
  static constexpr std::string_view kSummary = "the page loaded first";
  static constexpr std::span<const ChoiceParameter> kParameters = {};
  static constexpr HitNeeds kHitNeeds = HitNeeds::kNothing;
  static constexpr size_t BytesPerFrame(std::span<const double>) { return FrameLinks::kBytesEach; }

  FifoReplacement(const ReplacementConfig& config, std::span<const double> /*parameters*/)
      : first_frame_(config.first_frame),
        reference_bytes_(config.reference_bytes),
        links_(config.frame_capacity) {}

  void OnHit(FrameId) override {}
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
    list_.FindFromOldest(links_, [&](FrameSlot slot) {
      if (count < out.size()) out[count++] = FrameOf(slot);
      return count == out.size();
    });
    return count;
  }

  void Resize(size_t frames) override { links_.Grow(frames); }
  size_t size() const override { return list_.size(); }

  /// Limit 0: a hit writes nothing and takes no lock.
  ReferenceBytes reference_bytes() override { return {.bytes = reference_bytes_, .limit = 0}; }

 private:
  FrameSlot SlotOf(FrameId frame) const { return Raw(frame) - first_frame_; }
  FrameId FrameOf(FrameSlot slot) const { return FrameId{first_frame_ + slot}; }

  const uint32_t first_frame_;
  std::atomic<uint8_t>* const reference_bytes_;
  FrameLinks links_;
  FrameList list_;
};

}  // namespace latchkey
