#include "bufferpool/replacement/clock_hand.h"

namespace latchkey {

ClockHand::ClockHand(const ReplacementConfig& config, uint8_t initial, uint8_t limit)
    : ReplacementAlgorithm(config),
      initial_(initial),
      limit_(limit),
      loaded_(config.frame_capacity, false) {
  LATCHKEY_CHECK(config.reference_bytes != nullptr);
}

void ClockHand::OnHit(FrameId frame) {
  std::atomic<uint8_t>& byte = ByteOf(SlotOf(frame));
  const uint8_t value = byte.load(std::memory_order_relaxed);
  if (value < limit_) byte.store(value + 1, std::memory_order_relaxed);
}

void ClockHand::OnLoad(FrameId frame, PageId, LoadKind) {
  ByteOf(SlotOf(frame)).store(initial_, std::memory_order_relaxed);
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
    std::atomic<uint8_t>& byte = ByteOf(slot);
    const uint8_t value = byte.load(std::memory_order_relaxed);
    if (value > 0 && step < patient_steps) {
      byte.store(value - 1, std::memory_order_relaxed);
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
    uint8_t byte;
  };
  std::vector<Spared> spared;
  size_t count = 0;
  FrameSlot slot = hand_;
  for (uint64_t i = 0; i < window && count < out.size(); ++i) {
    const uint8_t byte = ByteOf(slot).load(std::memory_order_relaxed);
    if (loaded_[slot] && byte == 0) out[count++] = FrameOf(slot);
    if (loaded_[slot] && byte > 0) spared.push_back({slot, std::min(byte, limit_)});
    slot = slot + 1 < span_ ? slot + 1 : 0;
  }
  for (uint32_t wanted = 1; wanted <= limit_ && count < out.size(); ++wanted) {
    for (const Spared& s : spared) {
      if (s.byte == wanted && count < out.size()) out[count++] = FrameOf(s.slot);
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
