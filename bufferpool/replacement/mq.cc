#include "bufferpool/replacement/mq.h"

#include <algorithm>
#include <bit>

namespace latchkey {

MqReplacement::MqReplacement(const ReplacementConfig& config, std::span<const double> parameters)
    : ReplacementAlgorithm(config),
      queue_count_(static_cast<size_t>(parameters[0])),
      lifetime_(static_cast<uint64_t>(parameters[1])),
      out_(parameters[2]),
      links_(0) {
  Resize(config.frame_capacity);
}

void MqReplacement::OnHit(FrameId frame) {
  const FrameSlot slot = SlotOf(frame);
  Entry& entry = entries_[slot];
  queues_[entry.queue].Remove(links_, slot);
  if (entry.count < UINT32_MAX) ++entry.count;
  Enqueue(slot, QueueOf(entry.count));
  Adjust();
}

void MqReplacement::PrefetchForHit(FrameId frame, PageId) const {
  __builtin_prefetch(&entries_[SlotOf(frame)], 1);
  links_.Prefetch(SlotOf(frame));
}

void MqReplacement::OnLoad(FrameId frame, PageId page, LoadKind) {
  const FrameSlot slot = SlotOf(frame);
  Entry& entry = entries_[slot];
  entry.page = page;
  entry.count = std::min(ghosts_.Take(page).value_or(0), UINT32_MAX - 1) + 1;
  Enqueue(slot, QueueOf(entry.count));
  ++size_;
  Adjust();
}

uint8_t MqReplacement::QueueOf(uint32_t count) const {
  const auto log2 = static_cast<size_t>(std::bit_width(count) - 1);
  return static_cast<uint8_t>(std::min(log2, queue_count_ - 1));
}

void MqReplacement::Enqueue(FrameSlot slot, uint8_t queue) {
  entries_[slot].queue = queue;
  entries_[slot].expires = now_ + lifetime_;
  queues_[queue].PushNewest(links_, slot);
}

void MqReplacement::Adjust() {
  ++now_;
  for (uint8_t queue = 1; queue < queue_count_; ++queue) {
    const FrameSlot slot = queues_[queue].oldest();
    if (slot == kNoFrameSlot || entries_[slot].expires >= now_) continue;
    queues_[queue].Remove(links_, slot);
    Enqueue(slot, queue - 1);
  }
}

FrameId MqReplacement::Victim(PageId incoming, absl::FunctionRef<bool(FrameId)> evictable) {
  for (FrameList& queue : queues_) {
    const FrameSlot slot =
        queue.FindFromOldest(links_, [&](FrameSlot s) { return evictable(FrameOf(s)); });
    if (slot == kNoFrameSlot) continue;
    queue.Remove(links_, slot);
    --size_;
    // The paper removes `incoming` from Qout before the victim enters. Here OnLoad removes it.
    ghosts_.Remember(entries_[slot].page, entries_[slot].count, incoming);
    return FrameOf(slot);
  }
  return kNoFrame;
}

void MqReplacement::Reinstate(FrameId frame) {
  const FrameSlot slot = SlotOf(frame);
  ghosts_.Take(entries_[slot].page);
  queues_[entries_[slot].queue].PushOldest(links_, slot);
  ++size_;
}

void MqReplacement::OnRemove(FrameId frame) {
  const FrameSlot slot = SlotOf(frame);
  queues_[entries_[slot].queue].Remove(links_, slot);
  --size_;
}

size_t MqReplacement::PeekColdest(std::span<FrameId> out) const {
  size_t count = 0;
  for (const FrameList& queue : queues_) {
    queue.FindFromOldest(links_, [&](FrameSlot slot) {
      if (count < out.size()) out[count++] = FrameOf(slot);
      return count == out.size();
    });
  }
  return count;
}

void MqReplacement::Resize(size_t frames) {
  links_.Grow(frames);
  if (frames > entries_.size()) entries_.resize(frames);
  ghosts_.SetLimit(static_cast<size_t>(out_ * static_cast<double>(frames)));
}

}  // namespace latchkey
