#include "bufferpool/replacement/w_tinylfu.h"

#include <algorithm>

namespace latchkey {

WTinyLfuReplacement::WTinyLfuReplacement(const ReplacementConfig& config,
                                         std::span<const double> parameters)
    : ReplacementAlgorithm(config),
      window_fraction_(parameters[0]),
      protected_fraction_(parameters[1]),
      links_(0),
      rng_(config.seed) {
  Resize(config.frame_capacity);
}

size_t WTinyLfuReplacement::size() const {
  return lists_[0].size() + lists_[1].size() + lists_[2].size();
}

void WTinyLfuReplacement::MoveTo(Segment segment, FrameSlot slot) {
  ListOf(segment_of_[slot]).Remove(links_, slot);
  segment_of_[slot] = segment;
  ListOf(segment).PushNewest(links_, slot);
}

void WTinyLfuReplacement::OnHit(FrameId frame) {
  const FrameSlot slot = SlotOf(frame);
  sketch_.Add(page_of_[slot]);
  const bool in_window = segment_of_[slot] == Segment::kWindow;
  MoveTo(in_window ? Segment::kWindow : Segment::kProtected, slot);
  const FrameList& protected_list = ListOf(Segment::kProtected);
  if (protected_list.size() > most_protected_) MoveTo(Segment::kProbation, protected_list.oldest());
}

void WTinyLfuReplacement::PrefetchForHit(FrameId frame, PageId page) const {
  links_.Prefetch(SlotOf(frame));
  sketch_.Prefetch(page);
}

void WTinyLfuReplacement::OnLoad(FrameId frame, PageId page, LoadKind kind) {
  const FrameSlot slot = SlotOf(frame);
  if (kind == LoadKind::kDemand) sketch_.Add(page);
  page_of_[slot] = page;
  segment_of_[slot] = Segment::kWindow;
  FrameList& window = ListOf(Segment::kWindow);
  window.PushNewest(links_, slot);
  if (window.size() > most_window_) MoveTo(Segment::kProbation, window.oldest());
}

// Whether the window overflows once the free frames and the next victim's frame are loaded.
bool WTinyLfuReplacement::WindowWillOverflow() const {
  return ListOf(Segment::kWindow).size() + frames_ >= most_window_ + size();
}

bool WTinyLfuReplacement::WindowLoses(FrameSlot window, FrameSlot probation, Rng& rng) const {
  if (window == kNoFrameSlot || probation == kNoFrameSlot) return probation == kNoFrameSlot;
  if (!WindowWillOverflow()) return false;
  const uint32_t candidate = sketch_.Estimate(page_of_[window]);
  if (candidate > sketch_.Estimate(page_of_[probation])) return false;
  constexpr uint32_t kWarm = 6;
  constexpr uint64_t kOneIn = 128;
  return candidate < kWarm || rng.Below(kOneIn) != 0;
}

FrameId WTinyLfuReplacement::Victim(PageId, absl::FunctionRef<bool(FrameId)> evictable) {
  const bool window_first =
      WindowLoses(ListOf(Segment::kWindow).oldest(), ListOf(Segment::kProbation).oldest(), rng_);
  for (const Segment segment :
       {window_first ? Segment::kWindow : Segment::kProbation,
        window_first ? Segment::kProbation : Segment::kWindow, Segment::kProtected}) {
    FrameList& list = ListOf(segment);
    const FrameSlot slot =
        list.FindFromOldest(links_, [&](FrameSlot s) { return evictable(FrameOf(s)); });
    if (slot == kNoFrameSlot) continue;
    list.Remove(links_, slot);
    return FrameOf(slot);
  }
  return kNoFrame;
}

void WTinyLfuReplacement::Reinstate(FrameId frame) {
  const FrameSlot slot = SlotOf(frame);
  ListOf(segment_of_[slot]).PushOldest(links_, slot);
}

void WTinyLfuReplacement::OnRemove(FrameId frame) {
  const FrameSlot slot = SlotOf(frame);
  ListOf(segment_of_[slot]).Remove(links_, slot);
}

size_t WTinyLfuReplacement::PeekColdest(std::span<FrameId> out) const {
  FrameSlot window = ListOf(Segment::kWindow).oldest();
  FrameSlot probation = ListOf(Segment::kProbation).oldest();
  Rng future = rng_;
  size_t count = 0;
  const auto take = [&](FrameSlot& slot, Segment segment) {
    out[count++] = FrameOf(slot);
    slot = ListOf(segment).NextNewer(links_, slot);
  };
  while (count < out.size() && (window != kNoFrameSlot || probation != kNoFrameSlot)) {
    if (WindowLoses(window, probation, future)) {
      take(window, Segment::kWindow);
    } else {
      take(probation, Segment::kProbation);
    }
  }
  FrameSlot slot = ListOf(Segment::kProtected).oldest();
  while (count < out.size() && slot != kNoFrameSlot) take(slot, Segment::kProtected);
  return count;
}

void WTinyLfuReplacement::Resize(size_t frames) {
  links_.Grow(frames);
  if (frames > segment_of_.size()) segment_of_.resize(frames, Segment::kWindow);
  if (frames > page_of_.size()) page_of_.resize(frames, kInvalidPageId);
  sketch_.Resize(frames);
  const auto main = static_cast<size_t>(static_cast<double>(frames) * (1.0 - window_fraction_));
  frames_ = frames;
  most_window_ = std::max<size_t>(frames - main, 1);
  most_protected_ = static_cast<size_t>(static_cast<double>(main) * protected_fraction_);
}

}  // namespace latchkey
