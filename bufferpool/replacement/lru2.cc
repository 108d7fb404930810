#include "bufferpool/replacement/lru2.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace latchkey {

Lru2Replacement::Lru2Replacement(const ReplacementConfig& config,
                                 std::span<const double> parameters)
    : ReplacementAlgorithm(config),
      crp_fraction_(parameters[0]),
      history_multiple_(parameters[1]),
      scans_(parameters[2] == 1),
      trace_pages_(config.trace == nullptr ? 0 : config.trace->pages),
      links_(0),
      heap_(0) {
  LATCHKEY_CHECK(config.trace != nullptr || std::isfinite(history_multiple_));
  Resize(config.frame_capacity);
}

void Lru2Replacement::OnHit(FrameId frame) {
  const FrameSlot slot = SlotOf(frame);
  History& history = history_[slot];
  ++now_;
  const bool correlated = InPeriodAt(now_, slot);
  if (!correlated) {
    history.second = history.last;
    history.first = now_;
  }
  history.last = now_;
  if (crp_ > 0) presence_[slot] = Presence::kLoaded;
  if (scans_) return;
  if (crp_ == 0) {
    heap_.Update(slot, RankOf(slot));
    return;
  }
  Erase(slot);
  Insert(slot);
  EndPeriods();
}

void Lru2Replacement::PrefetchForHit(FrameId frame, PageId) const {
  const FrameSlot slot = SlotOf(frame);
  __builtin_prefetch(&history_[slot], 1);
  if (!scans_) heap_.Prefetch(slot);
}

void Lru2Replacement::OnLoad(FrameId frame, PageId page, LoadKind) {
  const FrameSlot slot = SlotOf(frame);
  ++now_;
  history_[slot] = {
      .page = page, .last = now_, .first = now_, .second = ghosts_.Take(page).value_or(0)};
  presence_[slot] = Presence::kLoaded;
  ++size_;
  if (scans_) return;
  Insert(slot);
  EndPeriods();
}

void Lru2Replacement::Insert(FrameSlot slot) {
  if (IsSpared(slot)) {
    recent_.PushNewest(links_, slot);
  } else {
    heap_.Insert(slot, RankOf(slot));
  }
}

void Lru2Replacement::Erase(FrameSlot slot) {
  if (heap_.Contains(slot)) {
    heap_.Remove(slot);
  } else {
    recent_.Remove(links_, slot);
  }
}

void Lru2Replacement::EndPeriods() {
  while (recent_.size() > 0 && !IsSpared(recent_.oldest())) {
    const FrameSlot slot = recent_.oldest();
    recent_.Remove(links_, slot);
    heap_.Insert(slot, RankOf(slot));
  }
}

FrameId Lru2Replacement::Victim(PageId incoming, absl::FunctionRef<bool(FrameId)> evictable) {
  const auto accept = [&](FrameSlot slot) { return evictable(FrameOf(slot)); };
  const FrameSlot slot = scans_ ? FirstByScan(accept) : FirstOfHeap(accept);
  if (slot == kNoFrameSlot) return kNoFrame;
  presence_[slot] = Presence::kEmpty;
  --size_;
  ghosts_.Remember(history_[slot].page, history_[slot].first, incoming);
  return FrameOf(slot);
}

FrameSlot Lru2Replacement::FirstOfHeap(absl::FunctionRef<bool(FrameSlot)> accept) {
  FrameSlot slot = heap_.RemoveFirst(accept);
  if (slot != kNoFrameSlot) return slot;
  slot = recent_.FindFromOldest(links_, accept);
  if (slot != kNoFrameSlot) recent_.Remove(links_, slot);
  return slot;
}

Lru2Replacement::ScanRank Lru2Replacement::ScanRankOf(FrameSlot slot) const {
  const bool spared = IsSpared(slot);
  return {spared, spared ? Rank{history_[slot].last, 0} : RankOf(slot), slot};
}

FrameSlot Lru2Replacement::FirstByScan(absl::FunctionRef<bool(FrameSlot)> accept) const {
  std::optional<ScanRank> refused;
  while (true) {
    std::optional<ScanRank> first;
    for (FrameSlot slot = 0; slot < history_.size(); ++slot) {
      if (presence_[slot] == Presence::kEmpty) continue;
      const ScanRank rank = ScanRankOf(slot);
      if ((!first || rank < *first) && (!refused || *refused < rank)) first = rank;
    }
    if (!first) return kNoFrameSlot;
    if (accept(first->slot)) return first->slot;
    refused = first;
  }
}

void Lru2Replacement::Reinstate(FrameId frame) {
  const FrameSlot slot = SlotOf(frame);
  ghosts_.Take(history_[slot].page);
  presence_[slot] = Presence::kReinstated;
  ++size_;
  if (!scans_) heap_.Insert(slot, RankOf(slot));
}

void Lru2Replacement::OnRemove(FrameId frame) {
  const FrameSlot slot = SlotOf(frame);
  presence_[slot] = Presence::kEmpty;
  --size_;
  if (!scans_) Erase(slot);
}

size_t Lru2Replacement::PeekColdest(std::span<FrameId> out) const {
  std::vector<FrameSlot> slots(std::min(out.size(), size_));
  size_t count = 0;
  if (scans_) {
    std::vector<ScanRank> ranks;
    for (FrameSlot slot = 0; slot < history_.size(); ++slot) {
      if (presence_[slot] != Presence::kEmpty) ranks.push_back(ScanRankOf(slot));
    }
    std::partial_sort(ranks.begin(), ranks.begin() + static_cast<ptrdiff_t>(slots.size()),
                      ranks.end());
    for (; count < slots.size(); ++count) slots[count] = ranks[count].slot;
  } else {
    count = heap_.CopyFirst(slots);
    recent_.FindFromOldest(links_, [&](FrameSlot slot) {
      if (count < slots.size()) slots[count++] = slot;
      return count == slots.size();
    });
  }
  for (size_t i = 0; i < count; ++i) out[i] = FrameOf(slots[i]);
  return count;
}

void Lru2Replacement::Resize(size_t frames) {
  if (!scans_) {
    links_.Grow(frames);
    heap_.Grow(frames);
  }
  if (frames > history_.size()) {
    history_.resize(frames);
    presence_.resize(frames, Presence::kEmpty);
  }
  const double ghosts = history_multiple_ * static_cast<double>(frames);
  ghosts_.SetLimit(trace_pages_ > 0 ? static_cast<size_t>(std::min<double>(ghosts, trace_pages_))
                                    : static_cast<size_t>(ghosts));
  crp_ = static_cast<uint64_t>(crp_fraction_ * static_cast<double>(frames));
  if (!scans_) EndPeriods();
}

}  // namespace latchkey
