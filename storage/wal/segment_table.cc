#include "storage/wal/segment_table.h"

#include <algorithm>
#include <new>
#include <utility>

namespace latchkey {

bool SegmentTable::AddMapped(uint32_t slot, uint64_t index) {
  if (free_.capacity() < slots_ + 1) free_.reserve(2 * (slots_ + 1));
  const bool is_new = mapped_.emplace(index, Entry{.slot = slot, .is_header_durable = true}).second;
  ++slots_;
  return is_new;
}

SegmentTable::Mapped::node_type SegmentTable::MakeFree(uint32_t slot) {
  Mapped made;
  made.emplace(0, Entry{.slot = slot});
  return made.extract(made.begin());
}

// Takes no memory: it was taken when the slot was added.
void SegmentTable::PushFree(Mapped::node_type node) {
  free_.push_back(std::move(node));
  std::push_heap(free_.begin(), free_.end(), IsBehind);
}

void SegmentTable::AddFree(uint32_t slot, bool is_damaged) {
  if (is_damaged) damaged_.push_back(slot);
  AddFreeSlots(MakeFreeSlots(slot, 1));
}

SegmentTable::NewSlots SegmentTable::MakeFreeSlots(uint32_t first, uint64_t count) {
  NewSlots made;
  made.nodes_.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    made.nodes_.push_back(MakeFree(static_cast<uint32_t>(first + i)));
  }
  const size_t wanted = slots_ + count;
  if (free_.capacity() < wanted) free_.reserve(std::max(wanted, 2 * free_.capacity()));
  return made;
}

void SegmentTable::AddFreeSlots(NewSlots slots) {
  for (Mapped::node_type& node : slots.nodes_) PushFree(std::move(node));
  slots_ += slots.nodes_.size();
}

std::optional<SegmentTable::Entry> SegmentTable::Find(uint64_t index) const {
  const auto it = mapped_.find(index);
  if (it == mapped_.end()) return std::nullopt;
  return it->second;
}

std::optional<uint64_t> SegmentTable::NextMapped(uint64_t index) const {
  const auto it = mapped_.lower_bound(index);
  if (it == mapped_.end()) return std::nullopt;
  return it->first;
}

uint64_t SegmentTable::EndOfRun(uint64_t index) const {
  for (auto it = mapped_.find(index); it != mapped_.end() && it->first == index; ++it) ++index;
  return index;
}

std::vector<uint32_t> SegmentTable::SlotsBefore(uint64_t index) const {
  std::vector<uint32_t> slots;
  for (const Mapped::node_type& node : free_) slots.push_back(node.mapped().slot);
  const auto end = mapped_.lower_bound(index);
  for (auto it = mapped_.begin(); it != end; ++it) slots.push_back(it->second.slot);
  return slots;
}

bool SegmentTable::Assign(uint64_t index) {
  if (mapped_.contains(index)) return true;
  if (free_.empty()) return false;
  std::pop_heap(free_.begin(), free_.end(), IsBehind);
  Mapped::node_type node = std::move(free_.back());
  free_.pop_back();
  node.key() = index;
  node.mapped().is_header_durable = false;
  mapped_.insert(std::move(node));
  return true;
}

void SegmentTable::FreeBelow(uint64_t index) {
  const auto end = mapped_.lower_bound(index);
  while (mapped_.begin() != end) PushFree(mapped_.extract(mapped_.begin()));
}

std::vector<uint32_t> SegmentTable::SlotsFrom(uint64_t index) const {
  std::vector<uint32_t> slots;
  for (auto it = mapped_.lower_bound(index); it != mapped_.end(); ++it) {
    slots.push_back(it->second.slot);
  }
  return slots;
}

void SegmentTable::FreeFrom(uint64_t index) {
  for (auto it = mapped_.lower_bound(index); it != mapped_.end();) {
    PushFree(mapped_.extract(it++));
  }
}

uint32_t SegmentTable::EndOfMapped() const {
  uint32_t end = 0;
  for (const auto& [index, entry] : mapped_) end = std::max(end, entry.slot + 1);
  return end;
}

void SegmentTable::RemoveFrom(uint32_t count) {
  const auto is_cut = [&](const Mapped::node_type& node) { return node.mapped().slot >= count; };
  std::erase_if(free_, is_cut);
  std::make_heap(free_.begin(), free_.end(), IsBehind);
  std::erase_if(damaged_, [&](uint32_t slot) { return slot >= count; });
  slots_ = count;
}

void GroupStarts::TryAdd(uint64_t start) {
  try {
    starts_.push_back(start);
  } catch (const std::bad_alloc&) {
  }
}

uint64_t GroupStarts::AtOrBelow(uint64_t lsn) const {
  const auto above = std::upper_bound(starts_.begin(), starts_.end(), lsn);
  return above == starts_.begin() ? starts_.front() : *(above - 1);
}

void GroupStarts::PruneBelow(uint64_t lsn) {
  while (starts_.size() > 1 && starts_[1] <= lsn) starts_.pop_front();
}

}  // namespace latchkey
