#include "bufferpool/replacement/sieve.h"

#include <algorithm>
#include <vector>

namespace latchkey {

SieveReplacement::SieveReplacement(const ReplacementConfig& config, std::span<const double>)
    : ReplacementAlgorithm(config), links_(config.frame_capacity) {
  LATCHKEY_CHECK(config.reference_bytes != nullptr);
}

void SieveReplacement::OnHit(FrameId frame) { ByteOf(SlotOf(frame)).AddHit(1); }

void SieveReplacement::OnLoad(FrameId frame, PageId, LoadKind) {
  ByteOf(SlotOf(frame)).SetHits(0);
  queue_.PushNewest(links_, SlotOf(frame));
}

FrameId SieveReplacement::Victim(PageId, absl::FunctionRef<bool(FrameId)> evictable) {
  // One round clears every bit, and one more offers every frame. Hits that race with the hand may
  // set bits again: then the last round offers every frame regardless.
  const uint64_t patient_steps = 2 * uint64_t{queue_.size()};
  for (uint64_t step = 0; step < patient_steps + queue_.size(); ++step) {
    const FrameSlot slot = OrOldest(hand_);
    if (Referenced(slot) && step < patient_steps) {
      ByteOf(slot).SetHits(0);
    } else if (evictable(FrameOf(slot))) {
      hand_ = slot;
      Unlink(slot);
      return FrameOf(slot);
    }
    hand_ = queue_.NextNewer(links_, slot);
  }
  return kNoFrame;
}

void SieveReplacement::Unlink(FrameSlot slot) {
  if (hand_ == slot) hand_ = queue_.NextNewer(links_, slot);
  queue_.Remove(links_, slot);
}

void SieveReplacement::Reinstate(FrameId frame) {
  const FrameSlot slot = SlotOf(frame);
  if (hand_ == kNoFrameSlot) {
    queue_.PushNewest(links_, slot);
  } else {
    queue_.InsertOlderThan(links_, hand_, slot);
  }
  hand_ = slot;
}

size_t SieveReplacement::PeekColdest(std::span<FrameId> out) const {
  constexpr size_t kLeastWindow = 1024;
  const size_t enough =
      out.size() >= queue_.size() ? queue_.size() : std::max(kLeastWindow, 16 * out.size());
  const size_t window = std::min(queue_.size(), enough);
  std::vector<FrameId> spared;
  size_t count = 0;
  FrameSlot slot = hand_;
  for (size_t i = 0; i < window && count < out.size(); ++i) {
    slot = OrOldest(slot);
    if (Referenced(slot)) {
      spared.push_back(FrameOf(slot));
    } else {
      out[count++] = FrameOf(slot);
    }
    slot = queue_.NextNewer(links_, slot);
  }
  for (size_t i = 0; i < spared.size() && count < out.size(); ++i) out[count++] = spared[i];
  return count;
}

}  // namespace latchkey
