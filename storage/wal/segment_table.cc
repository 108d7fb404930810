#include "storage/wal/segment_table.h"

#include <algorithm>
#include <new>
#include <utility>

namespace latchkey {

bool SegmentTable::AddMapped(uint32_t slot, uint64_t index) {
  if (free_.capacity() < 2 * (slots_ + 1)) free_.reserve(4 * (slots_ + 1));
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
  if (free_.size() == free_.capacity()) {
    free_.erase(free_.begin(), free_.begin() + static_cast<ptrdiff_t>(first_free_));
    first_free_ = 0;
  }
  free_.push_back(std::move(node));
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
  const size_t wanted = 2 * (slots_ + count);
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
  for (size_t i = first_free_; i < free_.size(); ++i) slots.push_back(free_[i].mapped().slot);
  const auto end = mapped_.lower_bound(index);
  for (auto it = mapped_.begin(); it != end; ++it) slots.push_back(it->second.slot);
  return slots;
}

bool SegmentTable::Assign(uint64_t index) {
  if (mapped_.contains(index)) return true;
  if (first_free_ == free_.size()) return false;
  Mapped::node_type node = std::move(free_[first_free_++]);
  node.key() = index;
  node.mapped().is_header_durable = false;
  mapped_.insert(std::move(node));
  return true;
}

void SegmentTable::FreeBelow(uint64_t index) {
  const auto end = mapped_.lower_bound(index);
  while (mapped_.begin() != end) PushFree(mapped_.extract(mapped_.begin()));
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
