#include <algorithm>
#include <cstdlib>

#include "engine/btree/node.h"
#include "engine/btree/node_key.h"

namespace latchkey {

using namespace node_format;  // NOLINT(build/namespaces): the field names of this page

RecordFlags NodeView::flags(uint32_t slot) const { return SlotAt(slot).flags; }

bool NodeView::ValueExtent(const Slot& slot, uint32_t* offset, uint32_t* size) const {
  if (slot.offset + kValueSizeSize > page_size_) return false;
  uint16_t value_size;
  RacyCopyOut(&value_size, page_ + slot.offset, sizeof(value_size));
  *offset = slot.offset + kValueSizeSize + slot.tail_length();
  *size = value_size;
  return *offset + *size <= page_size_;
}

uint32_t NodeView::RecordSize(const Slot& slot) const {
  if (is_leaf()) {
    uint32_t offset;
    uint32_t size;
    return ValueExtent(slot, &offset, &size) ? offset + size - slot.offset : 0;
  }
  const uint32_t size = kChildSize + slot.tail_length();
  return slot.offset + size <= page_size_ ? size : 0;
}

uint32_t NodeView::value_size(uint32_t slot) const {
  uint32_t offset;
  uint32_t size;
  return ValueExtent(SlotAt(slot), &offset, &size) ? size : 0;
}

bool NodeView::CopyValue(uint32_t slot, std::string* value) const {
  uint32_t offset;
  uint32_t size;
  if (!ValueExtent(SlotAt(slot), &offset, &size)) return false;
  value->resize(size);
  RacyCopyOut(value->data(), page_ + offset, size);
  return true;
}

bool NodeView::CopyValueExactly(uint32_t slot, void* to, size_t size) const {
  uint32_t offset;
  uint32_t actual_size;
  if (!ValueExtent(SlotAt(slot), &offset, &actual_size) || actual_size != size) return false;
  RacyCopyOut(to, page_ + offset, size);
  return true;
}

// `room_for(size)` returns the place for the key.
template <typename RoomFor>
bool NodeView::ReadKey(uint32_t slot_number, RoomFor room_for) const {
  const Slot slot = SlotAt(slot_number);
  const uint32_t prefix = prefix_length();
  const uint32_t tail = slot.tail_length();
  const uint32_t tail_offset = slot.offset + RecordHeaderSize();
  if (prefix + slot.suffix_length > kMaxNodeKeySize || tail_offset + tail > page_size_)
    return false;

  char* to = room_for(prefix + slot.suffix_length);
  RacyCopyOut(to, page_ + page_size_ - prefix, prefix);
  char head[kHeadSize];
  StoreHead(slot.head, head);
  std::copy_n(head, slot.suffix_length - tail, to + prefix);
  RacyCopyOut(to + prefix + (slot.suffix_length - tail), page_ + tail_offset, tail);
  return true;
}

bool NodeView::AppendKey(uint32_t slot, std::string* key) const {
  return ReadKey(slot, [key](size_t size) {
    const size_t begin = key->size();
    key->resize(begin + size);
    return key->data() + begin;
  });
}

bool NodeView::CopyKey(uint32_t slot, char* to, size_t* size) const {
  return ReadKey(slot, [to, size](size_t key_size) {
    *size = key_size;
    return to;
  });
}

void NodeView::AppendPrefix(std::string* prefix) const {
  const uint32_t length = std::min<uint32_t>(prefix_length(), kMaxNodeKeySize);
  const size_t begin = prefix->size();
  prefix->resize(begin + length);
  RacyCopyOut(prefix->data() + begin, page_ + page_size_ - length, length);
}

bool LatchedNodeView::ReadRecord(uint32_t slot, std::string* key, std::string_view* value,
                                 RecordFlags* flags) const {
  RecordParts parts;
  if (!ReadParts(slot, &parts)) return false;
  const uint32_t prefix = prefix_length();
  key->resize(prefix + parts.head_size + parts.tail.size());
  char* const to = key->data() + prefix;
  std::copy_n(reinterpret_cast<const char*>(&parts.head), parts.head_size, to);
  RacyCopyOut(to + parts.head_size, parts.tail.data(), parts.tail.size());
  *value = parts.value;
  *flags = parts.flags;
  return true;
}

void NodeView::PrefetchRecord(uint32_t slot) const {
  const uint32_t offset = SlotAt(slot).offset;
  if (offset < page_size_) __builtin_prefetch(page_ + offset);
}

void NodeView::PrefetchValue(uint32_t slot_number) const {
  constexpr uint32_t kMostBytes = 1024;  // behind them the processor has seen the sequence
  const Slot slot = SlotAt(slot_number);
  uint32_t offset;
  uint32_t size;
  if (!ValueExtent(slot, &offset, &size)) return;
  const uint32_t end = std::min(offset + size, slot.offset + kMostBytes);
  for (uint32_t at = slot.offset / kCacheLine * kCacheLine + kCacheLine; at < end;
       at += kCacheLine) {
    __builtin_prefetch(page_ + at);
  }
}

// Sizes.

uint32_t NodeView::UsedBytes() const {
  const Lengths lengths = LoadLengths();
  const uint32_t heap = lengths.heap_size - std::min(lengths.heap_size, fragmented());
  return std::min(lengths.count * kSlotSize + heap, Capacity(page_size_));
}

uint32_t NodeView::FreeBytes() const { return Capacity(page_size_) - UsedBytes(); }

uint32_t NodeView::FootprintOf(uint32_t suffix_length, size_t value_size) const {
  const uint32_t tail = suffix_length > kHeadSize ? suffix_length - kHeadSize : 0;
  return static_cast<uint32_t>(kSlotSize + RecordHeaderSize() + tail + value_size);
}

uint32_t NodeView::RangeBytesWithPrefix(uint32_t begin, uint32_t end, uint32_t prefix) const {
  const uint32_t old_prefix = prefix_length();
  uint32_t bytes = prefix;
  for (uint32_t i = begin; i < end; ++i) {
    const Slot slot = SlotAt(i);
    const uint32_t value_size = RecordSize(slot) - slot.tail_length() - RecordHeaderSize();
    bytes += FootprintOf(slot.suffix_length + old_prefix - prefix, value_size);
  }
  return bytes;
}

uint32_t NodeView::UsedBytesWithPrefix(uint32_t prefix) const {
  return prefix >= prefix_length() ? UsedBytes() : RangeBytesWithPrefix(0, count(), prefix);
}

bool NodeView::HasRoomFor(std::string_view key, size_t value_size) const {
  if (count() == 0) return true;
  const uint32_t prefix = SharedPrefix(key);
  return UsedBytesWithPrefix(prefix) +
             FootprintOf(static_cast<uint32_t>(key.size()) - prefix, value_size) <=
         Capacity(page_size_);
}

bool NodeView::IsInRun() const {
  constexpr int kShortest = 3;  // fewer are chance
  return std::abs(int{Field<int8_t>(node_format::kInsertRun)}) >= kShortest;
}

bool NodeView::HasRoomForAnySeparator() const {
  const uint32_t prefix = fence_prefix_length();
  return prefix <= kMaxNodeKeySize &&
         UsedBytesWithPrefix(prefix) + FootprintOf(kMaxNodeKeySize - prefix, 0) <=
             Capacity(page_size_);
}

}  // namespace latchkey
