// Random: the victim is a loaded frame drawn uniformly (the baseline of thesis 5.4.3). A hit costs
// nothing.
#pragma once

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "bufferpool/replacement/frame_list.h"
#include "bufferpool/replacement_algorithm.h"
#include "storage/base/choice_grammar.h"
#include "storage/base/rng.h"

namespace latchkey {

class RandomReplacement final : public ReplacementAlgorithm {
 public:
  static constexpr std::string_view kName = "random";
  static constexpr std::string_view kSummary = "a loaded frame drawn uniformly";
  static constexpr std::span<const ChoiceParameter> kParameters = {};
  static constexpr HitNeeds kHitNeeds = HitNeeds::kNothing;
  static constexpr size_t BytesPerFrame(std::span<const double>) {
    return sizeof(FrameId) + sizeof(uint32_t);
  }

  RandomReplacement(const ReplacementConfig& config, std::span<const double> /*parameters*/)
      : ReplacementAlgorithm(config),
        rng_(config.seed),
        position_(config.frame_capacity, kNoFrameSlot) {
    loaded_.reserve(config.frame_capacity);
  }

  void OnHit(FrameId) override {}

  void Reinstate(FrameId frame) override { OnLoad(frame, kInvalidPageId, LoadKind::kDemand); }
  void OnLoad(FrameId frame, PageId, LoadKind) override {
    uint32_t& position = position_[SlotOf(frame)];
    LATCHKEY_DCHECK(position == kNoFrameSlot);
    position = static_cast<uint32_t>(loaded_.size());
    loaded_.push_back(frame);
  }

  FrameId Victim(PageId, absl::FunctionRef<bool(FrameId)> evictable) override {
    if (loaded_.empty()) return kNoFrame;
    constexpr int kDraws = 8;
    for (int draw = 0; draw < kDraws; ++draw) {
      const FrameId frame = loaded_[rng_.Below(loaded_.size())];
      if (evictable(frame)) return Forget(frame);
    }
    // Nearly all frames are pinned: offer each frame once instead of drawing on.
    const size_t start = rng_.Below(loaded_.size());
    for (size_t i = 0; i < loaded_.size(); ++i) {
      const FrameId frame = loaded_[(start + i) % loaded_.size()];
      if (evictable(frame)) return Forget(frame);
    }
    return kNoFrame;
  }

  void OnRemove(FrameId frame) override { Forget(frame); }

  /// The frames that the next draws will yield if little changes before them.
  size_t PeekColdest(std::span<FrameId> out) const override {
    const size_t wanted = std::min(out.size(), loaded_.size());
    Rng future = rng_;
    std::unordered_set<uint32_t> seen;
    size_t count = 0;
    for (size_t draw = 0; draw < 2 * wanted && count < wanted; ++draw) {
      const FrameId frame = loaded_[future.Below(loaded_.size())];
      if (seen.insert(Raw(frame)).second) out[count++] = frame;
    }
    for (size_t i = 0; i < loaded_.size() && count < wanted; ++i) {
      if (seen.insert(Raw(loaded_[i])).second) out[count++] = loaded_[i];
    }
    return count;
  }

  void Resize(size_t frames) override {
    if (frames <= position_.size()) return;
    loaded_.reserve(frames);
    position_.resize(frames, kNoFrameSlot);
  }
  size_t size() const override { return loaded_.size(); }

  /// Limit 0: a hit writes nothing and takes no lock.
  std::optional<uint8_t> most_counted_hits() const override { return 0; }

 private:
  FrameId Forget(FrameId frame) {
    uint32_t& position = position_[SlotOf(frame)];
    LATCHKEY_DCHECK(position != kNoFrameSlot);
    const FrameId last = loaded_.back();
    loaded_[position] = last;
    position_[SlotOf(last)] = position;
    loaded_.pop_back();
    position_[SlotOf(frame)] = kNoFrameSlot;
    return frame;
  }

  Rng rng_;
  std::vector<FrameId> loaded_;
  std::vector<uint32_t> position_;  // of each slot in loaded_, or kNoFrameSlot
};

}  // namespace latchkey
