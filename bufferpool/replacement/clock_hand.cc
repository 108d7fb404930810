#include "bufferpool/replacement/clock_hand.h"

namespace latchkey {

ClockHand::ClockHand(const ReplacementConfig& config, uint8_t initial, uint8_t limit)
    : ReplacementAlgorithm(config),
      initial_(initial),
      limit_(limit),
      loaded_(config.frame_capacity, false) {
  LATCHKEY_CHECK(config.reference_bytes != nullptr);
}

void ClockHand::OnHit(FrameId frame) { ByteOf(SlotOf(frame)).AddHit(limit_); }

void ClockHand::OnLoad(FrameId frame, PageId, LoadKind) {
  ByteOf(SlotOf(frame)).SetHits(initial_);
  Admit(SlotOf(frame));
}

void ClockHand::Reinstate(FrameId frame) { Admit(SlotOf(frame)); }

void ClockHand::Admit(FrameSlot slot) {
  LATCHKEY_DCHECK(!loaded_[slot]);
  loaded_[slot] = true;
  span_ = std::max(span_, slot + 1);
  ++size_;
}

FrameSlot ClockHand::Advance() {
  const FrameSlot slot = hand_;
  hand_ = slot + 1 < span_ ? slot + 1 : 0;
  return slot;
}

FrameId ClockHand::Victim(PageId, absl::FunctionRef<bool(FrameId)> evictable) {
  if (size_ == 0) return kNoFrame;
  // `limit_` rounds bring every byte to zero, and one more round offers every frame. Hits that race
  // with the hand may keep bytes above zero: then the last round offers every frame regardless.
  const uint64_t patient_steps = uint64_t{span_} * (limit_ + 1u);
  for (uint64_t step = 0; step < patient_steps + span_; ++step) {
    const FrameSlot slot = Advance();
    if (!loaded_[slot]) continue;
    const uint8_t hits = ByteOf(slot).hits();
    if (hits > 0 && step < patient_steps) {
      ByteOf(slot).SetHits(hits - 1);
    } else if (evictable(FrameOf(slot))) {
      Forget(slot);
      return FrameOf(slot);
    }
  }
  return kNoFrame;
}

void ClockHand::OnRemove(FrameId frame) { Forget(SlotOf(frame)); }

void ClockHand::Forget(FrameSlot slot) {
  LATCHKEY_DCHECK(loaded_[slot]);
  loaded_[slot] = false;
  --size_;
}

size_t ClockHand::PeekColdest(std::span<FrameId> out) const {
  constexpr uint64_t kLeastWindow = 1024;
  const uint64_t enough = out.size() >= size_ ? span_ : std::max(kLeastWindow, 16 * out.size());
  const uint64_t window = std::min<uint64_t>(span_, enough);
  struct Spared {
    FrameSlot slot;
    uint8_t hits;
  };
  std::vector<Spared> spared;
  size_t count = 0;
  FrameSlot slot = hand_;
  for (uint64_t i = 0; i < window && count < out.size(); ++i) {
    const uint8_t hits = ByteOf(slot).hits();
    if (loaded_[slot] && hits == 0) out[count++] = FrameOf(slot);
    if (loaded_[slot] && hits > 0) spared.push_back({slot, std::min(hits, limit_)});
    slot = slot + 1 < span_ ? slot + 1 : 0;
  }
  for (uint32_t wanted = 1; wanted <= limit_ && count < out.size(); ++wanted) {
    for (const Spared& s : spared) {
      if (s.hits == wanted && count < out.size()) out[count++] = FrameOf(s.slot);
    }
  }
  return count;
}

void ClockHand::Resize(size_t frames) {
  if (frames > loaded_.size()) loaded_.resize(frames, false);
  while (span_ > frames && !loaded_[span_ - 1]) --span_;
  if (hand_ >= span_) hand_ = 0;
}

}  // namespace latchkey
