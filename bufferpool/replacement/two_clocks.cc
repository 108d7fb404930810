#include "bufferpool/replacement/two_clocks.h"

#include <algorithm>

namespace latchkey {

TwoClocks::TwoClocks(const ReplacementConfig& config, Rules rules)
    : ReplacementAlgorithm(config), rules_(rules), links_(0) {
  LATCHKEY_CHECK(config.reference_bytes != nullptr);
  GrowArrays(config.frame_capacity);
}

void TwoClocks::GrowArrays(size_t frames) {
  links_.Grow(frames);
  if (frames > queue_of_.size()) queue_of_.resize(frames, Queue::kNew);
  if (frames > page_of_.size()) page_of_.resize(frames, kInvalidPageId);
}

void TwoClocks::OnHit(FrameId frame) { ByteOf(SlotOf(frame)).AddHit(rules_.limit); }

uint8_t TwoClocks::HitsOf(FrameSlot slot) const {
  return std::min(ByteOf(slot).hits(), rules_.limit);
}

void TwoClocks::Enter(FrameSlot slot, PageId page, Queue queue) {
  ByteOf(slot).SetHits(0);
  page_of_[slot] = page;
  queue_of_[slot] = queue;
  ListOf(queue).PushNewest(links_, slot);
}

void TwoClocks::OnRemove(FrameId frame) {
  const FrameSlot slot = SlotOf(frame);
  ListOf(queue_of_[slot]).Remove(links_, slot);
}

FrameSlot TwoClocks::TakeVictim(absl::FunctionRef<bool(FrameId)> evictable) {
  FrameSlot next_new = new_.oldest();
  FrameSlot next_main = main_.oldest();
  bool prefers_new = PrefersNew(new_.size(), main_.size());
  // So many pages are spared at most, unless hits race with the hands.
  for (uint64_t patience = uint64_t{size()} * (rules_.limit + 1u);;) {
    if (!rules_.chooses_at_once) prefers_new = PrefersNew(new_.size(), main_.size());
    const bool from_new = next_new != kNoFrameSlot && (prefers_new || next_main == kNoFrameSlot);
    FrameSlot& next = from_new ? next_new : next_main;
    const FrameSlot slot = next;
    if (slot == kNoFrameSlot) return kNoFrameSlot;
    FrameList& list = from_new ? new_ : main_;
    next = list.NextNewer(links_, slot);
    const uint8_t hits = HitsOf(slot);
    if (patience > 0 && Spares(from_new ? Queue::kNew : Queue::kMain, hits)) {
      --patience;
      ByteOf(slot).SetHits(from_new ? 0 : hits - 1);
      list.Remove(links_, slot);
      main_.PushNewest(links_, slot);
      queue_of_[slot] = Queue::kMain;
      if (next_main == kNoFrameSlot) next_main = slot;
    } else if (evictable(FrameOf(slot))) {
      list.Remove(links_, slot);
      return slot;
    }
  }
}

// The two queues as they will be, without a change to them.
struct TwoClocks::Forecast {
  struct Spared {
    FrameSlot slot;
    uint8_t hits;
  };

  bool main_is_empty() const { return next_main == kNoFrameSlot && first_spared == spared.size(); }
  // Takes the oldest page off one of the queues.
  Spared TakeOldest(const TwoClocks& clocks, bool from_new) {
    --(from_new ? new_size : main_size);
    if (!from_new && next_main == kNoFrameSlot) return spared[first_spared++];
    FrameSlot& next = from_new ? next_new : next_main;
    const FrameSlot slot = next;
    next = (from_new ? clocks.new_ : clocks.main_).NextNewer(clocks.links_, slot);
    return {slot, clocks.HitsOf(slot)};
  }
  void Spare(Spared page) {
    spared.push_back(page);
    ++main_size;
  }

  FrameSlot next_new;
  FrameSlot next_main;
  size_t new_size;
  size_t main_size;
  std::vector<Spared> spared = {};  // from first_spared on: the newest pages of the main queue
  size_t first_spared = 0;
};

size_t TwoClocks::PeekColdest(std::span<FrameId> out) const {
  // Bounded, because this runs under the scheme's lock.
  constexpr uint64_t kLeastSteps = 1024;
  uint64_t steps = out.size() >= size() ? UINT64_MAX : std::max(kLeastSteps, 16 * out.size());
  Forecast forecast{new_.oldest(), main_.oldest(), new_.size(), main_.size()};
  bool prefers_new = PrefersNew(new_.size(), main_.size());
  size_t count = 0;
  for (; count < out.size() && steps > 0; --steps) {
    const bool new_is_empty = forecast.next_new == kNoFrameSlot;
    if (new_is_empty && forecast.main_is_empty()) return count;
    if (!rules_.chooses_at_once) prefers_new = PrefersNew(forecast.new_size, forecast.main_size);
    const bool from_new = !new_is_empty && (prefers_new || forecast.main_is_empty());
    const auto [slot, hits] = forecast.TakeOldest(*this, from_new);
    if (Spares(from_new ? Queue::kNew : Queue::kMain, hits)) {
      forecast.Spare({slot, static_cast<uint8_t>(from_new ? 0 : hits - 1)});
    } else {
      out[count++] = FrameOf(slot);
      prefers_new = PrefersNew(forecast.new_size, forecast.main_size);
    }
  }
  while (count < out.size() && forecast.first_spared < forecast.spared.size()) {
    out[count++] = FrameOf(forecast.spared[forecast.first_spared++].slot);
  }
  return count;
}

}  // namespace latchkey
