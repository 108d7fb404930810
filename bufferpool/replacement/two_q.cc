#include "bufferpool/replacement/two_q.h"

#include <algorithm>

namespace latchkey {

TwoQReplacement::TwoQReplacement(const ReplacementConfig& config,
                                 std::span<const double> parameters)
    : ReplacementAlgorithm(config),
      kin_fraction_(parameters[0]),
      kout_fraction_(parameters[1]),
      links_(0),
      a1out_(0) {
  Resize(config.frame_capacity);
}

void TwoQReplacement::OnHit(FrameId frame) {
  const FrameSlot slot = SlotOf(frame);
  if (queue_of_[slot] == Queue::kAm) am_.MoveToNewest(links_, slot);
}

void TwoQReplacement::OnLoad(FrameId frame, PageId page, LoadKind) {
  const FrameSlot slot = SlotOf(frame);
  page_of_[slot] = page;
  const bool returned = a1out_.Remove(page);
  queue_of_[slot] = returned ? Queue::kAm : Queue::kA1in;
  (returned ? am_ : a1in_).PushNewest(links_, slot);
}

FrameId TwoQReplacement::Victim(PageId incoming, absl::FunctionRef<bool(FrameId)> evictable) {
  FrameList* const order[] = {A1inIsOverfull() ? &a1in_ : &am_, A1inIsOverfull() ? &am_ : &a1in_};
  for (FrameList* list : order) {
    const FrameSlot slot =
        list->FindFromOldest(links_, [&](FrameSlot s) { return evictable(FrameOf(s)); });
    if (slot == kNoFrameSlot) continue;
    list->Remove(links_, slot);
    // The paper removes `incoming` from A1out before it chooses a victim. Here OnLoad removes it.
    if (list == &a1in_ && kout_ > 0) a1out_.Remember(page_of_[slot], incoming, kout_);
    return FrameOf(slot);
  }
  return kNoFrame;
}

void TwoQReplacement::Reinstate(FrameId frame) {
  const FrameSlot slot = SlotOf(frame);
  if (queue_of_[slot] == Queue::kAm) {
    am_.PushOldest(links_, slot);
  } else {
    a1out_.Remove(page_of_[slot]);
    a1in_.PushOldest(links_, slot);
  }
}

void TwoQReplacement::OnRemove(FrameId frame) {
  const FrameSlot slot = SlotOf(frame);
  (queue_of_[slot] == Queue::kAm ? am_ : a1in_).Remove(links_, slot);
}

size_t TwoQReplacement::PeekColdest(std::span<FrameId> out) const {
  FrameSlot a1in = a1in_.oldest();
  FrameSlot am = am_.oldest();
  size_t count = 0;
  const auto take = [&](FrameSlot& slot, const FrameList& list, size_t most) {
    for (; most > 0 && slot != kNoFrameSlot && count < out.size(); --most) {
      out[count++] = FrameOf(slot);
      slot = list.NextNewer(links_, slot);
    }
  };
  if (A1inIsOverfull()) {
    take(a1in, a1in_, a1in_.size() - kin_);
  } else {
    take(am, am_, kin_ - a1in_.size() + 1);
  }
  while (count < out.size() && (a1in != kNoFrameSlot || am != kNoFrameSlot)) {
    take(a1in, a1in_, 1);
    take(am, am_, 1);
  }
  return count;
}

void TwoQReplacement::Resize(size_t frames) {
  const auto kout = static_cast<size_t>(kout_fraction_ * static_cast<double>(frames));
  links_.Grow(frames);
  if (frames > page_of_.size()) page_of_.resize(frames, kInvalidPageId);
  if (frames > queue_of_.size()) queue_of_.resize(frames, Queue::kA1in);
  a1out_.SetCapacity(kout == 0 ? 0 : kout + GhostQueue::kBeyondLimit);
  kin_ = static_cast<size_t>(kin_fraction_ * static_cast<double>(frames));
  kout_ = kout;
}

}  // namespace latchkey
