#include "bufferpool/replacement/arc.h"

namespace latchkey {

ArcReplacement::ArcReplacement(const ReplacementConfig& config, std::span<const double>)
    : ReplacementAlgorithm(config), links_(0) {
  Resize(config.frame_capacity);
}

AdaptiveGhosts::List ArcReplacement::GhostsOf(FrameSlot slot) const {
  return place_of_[slot] == Place::kT2 ? AdaptiveGhosts::List::kB2 : AdaptiveGhosts::List::kB1;
}

void ArcReplacement::OnHit(FrameId frame) {
  const FrameSlot slot = SlotOf(frame);
  ListOf(slot).Remove(links_, slot);
  place_of_[slot] = Place::kT2;
  ListOf(slot).PushNewest(links_, slot);
}

void ArcReplacement::OnLoad(FrameId frame, PageId page, LoadKind) {
  const FrameSlot slot = SlotOf(frame);
  const AdaptiveGhosts::List missed_in = ghosts_.Find(page);
  const bool returning = returning_.Take(page);
  page_of_[slot] = page;
  if (missed_in != AdaptiveGhosts::List::kNone) ghosts_.TakeMiss(page, missed_in);
  if (returning || missed_in != AdaptiveGhosts::List::kNone) {
    place_of_[slot] = Place::kT2;
  } else {
    ghosts_.MakeRoomForNewPage(t1_.size(), t2_.size());
    place_of_[slot] = Place::kT1;
  }
  ListOf(slot).PushNewest(links_, slot);
}

// The paper drops a ghost before it evicts. Here OnLoad does. The result is the same, because the
// oldest ghost is never the page evicted last, unless there is no other.
FrameId ArcReplacement::Victim(PageId incoming, absl::FunctionRef<bool(FrameId)> evictable) {
  using List = AdaptiveGhosts::List;
  const List missed_in = ghosts_.Find(incoming);
  const bool in_b2 =
      missed_in == List::kB2 || returning_.Find(incoming) == static_cast<uint8_t>(List::kB2);
  const double target = ghosts_.TargetAfterMissIn(missed_in);
  const auto t1_size = static_cast<double>(t1_.size());
  const bool t1_first = t1_size > target || (in_b2 && t1_size == target);
  for (FrameList* list : {t1_first ? &t1_ : &t2_, t1_first ? &t2_ : &t1_}) {
    const FrameSlot slot =
        list->FindFromOldest(links_, [&](FrameSlot s) { return evictable(FrameOf(s)); });
    if (slot == kNoFrameSlot) continue;
    list->Remove(links_, slot);
    if (missed_in != List::kNone) {
      ghosts_.TakeMiss(incoming, missed_in);
      returning_.Add(incoming, static_cast<uint8_t>(missed_in));
    }
    ghosts_.Remember(page_of_[slot], GhostsOf(slot));
    return FrameOf(slot);
  }
  return kNoFrame;
}

void ArcReplacement::Reinstate(FrameId frame) {
  const FrameSlot slot = SlotOf(frame);
  ghosts_.Forget(page_of_[slot]);
  ListOf(slot).PushOldest(links_, slot);
}

void ArcReplacement::OnRemove(FrameId frame) {
  const FrameSlot slot = SlotOf(frame);
  ListOf(slot).Remove(links_, slot);
}

size_t ArcReplacement::PeekColdest(std::span<FrameId> out) const {
  FrameSlot t1 = t1_.oldest();
  FrameSlot t2 = t2_.oldest();
  auto t1_size = static_cast<double>(t1_.size());
  bool balanced = false;  // T1 has reached its target size
  size_t count = 0;
  while (count < out.size() && (t1 != kNoFrameSlot || t2 != kNoFrameSlot)) {
    const bool above = t1_size > ghosts_.target();
    if (count > 0 && !above) balanced = true;
    const bool from_t1 =
        t2 == kNoFrameSlot || (t1 != kNoFrameSlot && (balanced ? count % 2 == 0 : above));
    FrameSlot& slot = from_t1 ? t1 : t2;
    out[count++] = FrameOf(slot);
    slot = (from_t1 ? t1_ : t2_).NextNewer(links_, slot);
    if (from_t1) --t1_size;
  }
  return count;
}

void ArcReplacement::Resize(size_t frames) {
  links_.Grow(frames);
  if (frames > page_of_.size()) page_of_.resize(frames, kInvalidPageId);
  if (frames > place_of_.size()) place_of_.resize(frames, Place::kT1);
  ghosts_.Resize(frames);
}

}  // namespace latchkey
