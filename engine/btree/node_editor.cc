#include <algorithm>

#include "engine/btree/node.h"
#include "engine/btree/node_builder.h"
#include "engine/btree/node_key.h"
#include "storage/base/check.h"

namespace latchkey {

using namespace node_format;  // NOLINT(build/namespaces): the field names of this page

std::string_view LatchedNodeView::Value(uint32_t slot) const {
  uint32_t offset;
  uint32_t size;
  if (!ValueExtent(SlotAt(slot), &offset, &size)) return {};
  return {reinterpret_cast<const char*>(page_ + offset), size};
}

std::string_view LatchedNodeView::Prefix() const {
  const uint32_t length = std::min(prefix_length(), page_size_);
  return {reinterpret_cast<const char*>(page_ + page_size_ - length), length};
}

std::string LatchedNodeView::KeyAt(uint32_t slot) const {
  std::string key;
  LATCHKEY_CHECK(AppendKey(slot, &key));
  return key;
}

namespace {

/// An empty view may have a null address, which memcpy does not allow.
void CopyIn(std::byte* to_page, std::string_view bytes) {
  if (!bytes.empty()) RacyCopyIn(to_page, bytes.data(), bytes.size());
}

}  // namespace

// Making a page.

void NodeEditor::Init(uint32_t level, const Fences& fences) {
  const uint32_t length = FencePrefixLength(fences.lower, fences.upper);
  InitWithPrefix(level, fences.lower.substr(0, length), length);
}

// The whole page is cleared, so that its bytes depend on its contents alone and nothing of the
// frame's earlier use reaches the device.
void NodeEditor::InitWithPrefix(uint32_t level, std::string_view prefix,
                                uint32_t fence_prefix_length) {
  LATCHKEY_CHECK(level <= UINT8_MAX && prefix.size() <= kMaxNodeKeySize);
  const PageType page_type = level == 0 ? PageType::kTreeLeaf : PageType::kTreeInner;
  SetField<uint8_t>(offsetof(PageHeader, page_type), static_cast<uint8_t>(page_type));
  RacyZero(bytes_ + kPageHeaderSize, page_size_ - kPageHeaderSize);
  SetField<uint8_t>(kLevel, static_cast<uint8_t>(level));
  SetField<uint16_t>(kPrefixLength, static_cast<uint16_t>(prefix.size()));
  SetField<uint16_t>(kFencePrefixLength, static_cast<uint16_t>(fence_prefix_length));
  SetField<uint16_t>(kHeapSize, static_cast<uint16_t>(prefix.size()));
  SetField<uint16_t>(kLastInsertSlot, kNoInsert);
  CopyIn(bytes_ + page_size_ - prefix.size(), prefix);
}

void NodeEditor::set_last_writer(TxnId txn) { SetField<uint64_t>(kLastWriter, Raw(txn)); }

void NodeEditor::set_page_flags(uint8_t flags) { SetField<uint8_t>(kPageFlags, flags); }

// Slots and heap. These functions do not ask whether there is room; a LATCHKEY_CHECK fails if there
// is not.

void NodeEditor::SetSlot(uint32_t slot, const Slot& value) {
  const uint64_t size_and_flags =
      value.suffix_length | (static_cast<uint64_t>(value.flags) << kSuffixLengthBits);
  SetField<uint64_t>(kSlots + slot * kSlotSize, value.head |
                                                    (static_cast<uint64_t>(value.offset) << 32) |
                                                    (size_and_flags << 48));
}

uint32_t NodeEditor::AllocateRecord(uint32_t size) {
  const uint32_t heap = heap_size() + size;
  LATCHKEY_CHECK(kSlots + (count() + 1) * kSlotSize + heap <= page_size_);
  SetField<uint16_t>(kHeapSize, static_cast<uint16_t>(heap));
  return page_size_ - heap;
}

void NodeEditor::PlaceSlot(uint32_t slot, const Slot& value) {
  const uint32_t records = count();
  LATCHKEY_CHECK(slot <= records);
  std::byte* place = bytes_ + kSlots + slot * kSlotSize;
  RacyMove(place + kSlotSize, place, (records - slot) * kSlotSize);
  SetSlot(slot, value);
  SetField<uint16_t>(kCount, static_cast<uint16_t>(records + 1));
}

void NodeEditor::PlaceRecord(uint32_t slot, std::string_view suffix, std::string_view header,
                             std::string_view body, RecordFlags flags) {
  const std::string_view tail = suffix.substr(std::min<size_t>(kHeadSize, suffix.size()));
  const uint32_t offset =
      AllocateRecord(static_cast<uint32_t>(header.size() + tail.size() + body.size()));
  std::byte* to = bytes_ + offset;
  CopyIn(to, header);
  CopyIn(to + header.size(), tail);
  CopyIn(to + header.size() + tail.size(), body);
  PlaceSlot(slot, {.head = LoadHead(suffix),
                   .offset = offset,
                   .suffix_length = static_cast<uint32_t>(suffix.size()),
                   .flags = flags});
}

void NodeEditor::PlaceLeafRecord(uint32_t slot, std::string_view suffix, std::string_view value,
                                 RecordFlags flags) {
  const auto size = static_cast<uint16_t>(value.size());
  PlaceRecord(slot, suffix, {reinterpret_cast<const char*>(&size), sizeof(size)}, value, flags);
}

void NodeEditor::PlaceSeparator(uint32_t slot, std::string_view suffix, PageId child) {
  const uint64_t raw = Raw(child);
  PlaceRecord(slot, suffix, {reinterpret_cast<const char*>(&raw), sizeof(raw)}, {}, 0);
}

void NodeEditor::DropRecord(uint32_t slot) {
  const uint32_t records = count();
  LATCHKEY_CHECK(slot < records);
  const Slot dropped = SlotAt(slot);
  const uint32_t size = RecordSize(dropped);
  if (records == 1) {
    SetField<uint16_t>(kHeapSize, static_cast<uint16_t>(prefix_length()));
    SetField<uint16_t>(kFragmented, 0);
  } else if (dropped.offset == page_size_ - heap_size()) {
    SetField<uint16_t>(kHeapSize, static_cast<uint16_t>(heap_size() - size));
  } else {
    SetField<uint16_t>(kFragmented, static_cast<uint16_t>(fragmented() + size));
  }
  std::byte* place = bytes_ + kSlots + slot * kSlotSize;
  RacyMove(place, place + kSlotSize, (records - slot - 1) * kSlotSize);
  SetField<uint16_t>(kCount, static_cast<uint16_t>(records - 1));
}

void NodeEditor::Rebuild(std::string_view prefix) {
  Builder builder(*this, prefix, fence_prefix_length(), scratch_);
  builder.AddRecords(*this, 0, count());
  if (!is_leaf()) builder.SetRightmost(Child(count()));
  const auto last_insert = Field<uint16_t>(kLastInsertSlot);
  const auto run = Field<uint8_t>(kInsertRun);
  builder.Install(this);
  SetField<uint16_t>(kLastInsertSlot, last_insert);
  SetField<uint8_t>(kInsertRun, run);
}

void NodeEditor::Compact() { Rebuild(Prefix()); }

// `bytes` is for record and slot together.
bool NodeEditor::MakeRoom(uint32_t bytes) {
  if (FreeBytes() < bytes) return false;
  if (FreeBytes() - fragmented() < bytes) Compact();
  return true;
}

// An inner page's prefix may be longer than its fences imply: it is the prefix that its separators
// share. This keeps the heads distinctive in the root and along the tree's edges, where fences
// imply nothing. A separator that does not share the prefix shortens it.
bool NodeEditor::AdaptPrefix(std::string_view separator) {
  if (!HasRoomFor(separator, 0)) return false;
  const uint32_t shared = SharedPrefix(separator);
  if (count() == 0) {
    Rebuild(separator);
  } else if (shared < prefix_length()) {
    Rebuild(separator.substr(0, shared));
  }
  return true;
}

void NodeEditor::NoteInsert(uint32_t slot) {
  const auto last = Field<uint16_t>(kLastInsertSlot);
  auto run = static_cast<int>(Field<int8_t>(kInsertRun));
  if (last == kNoInsert) {
    run = 0;
  } else if (slot == last + 1u) {
    run = std::min(std::max(run + 1, 1), INT8_MAX);
  } else if (slot == last) {
    run = std::max(std::min(run - 1, -1), INT8_MIN);
  } else {
    run = 0;
  }
  SetField<uint16_t>(kLastInsertSlot, static_cast<uint16_t>(slot));
  SetField<int8_t>(kInsertRun, static_cast<int8_t>(run));
}

// Leaves.

bool NodeEditor::Insert(uint32_t slot, std::string_view key, std::string_view value,
                        RecordFlags flags) {
  LATCHKEY_CHECK(key.size() <= kMaxNodeKeySize && flags <= kAllRecordFlags);
  const uint32_t prefix = prefix_length();
  LATCHKEY_DCHECK(key.substr(0, prefix) == Prefix());
  if (!MakeRoom(FootprintOf(static_cast<uint32_t>(key.size()) - prefix, value.size())))
    return false;
  PlaceLeafRecord(slot, key.substr(prefix), value, flags);
  NoteInsert(slot);
  return true;
}

bool NodeEditor::ReplaceValue(uint32_t slot_number, std::string_view value, RecordFlags flags) {
  Slot slot = SlotAt(slot_number);
  const uint32_t old_size = RecordSize(slot);
  LATCHKEY_CHECK(slot_number < count() && old_size > 0 && flags <= kAllRecordFlags);
  const uint32_t tail_end = kValueSizeSize + slot.tail_length();
  const auto new_size = static_cast<uint32_t>(tail_end + value.size());
  if (new_size > old_size) return GrowValue(slot_number, new_size - old_size, value, flags);

  const auto value_size = static_cast<uint16_t>(value.size());
  RacyCopyIn(bytes_ + slot.offset, &value_size, sizeof(value_size));
  CopyIn(bytes_ + slot.offset + tail_end, value);
  SetField<uint16_t>(kFragmented, static_cast<uint16_t>(fragmented() + old_size - new_size));
  if (flags != slot.flags) SetFlags(slot_number, flags);
  return true;
}

bool NodeEditor::GrowValue(uint32_t slot, uint32_t growth, std::string_view value,
                           RecordFlags flags) {
  if (FreeBytes() < growth) return false;
  char key[kMaxNodeKeySize];
  size_t key_size = 0;
  LATCHKEY_CHECK(CopyKey(slot, key, &key_size));
  DropRecord(slot);
  const std::string_view suffix = std::string_view(key, key_size).substr(prefix_length());
  LATCHKEY_CHECK(MakeRoom(FootprintOf(static_cast<uint32_t>(suffix.size()), value.size())));
  PlaceLeafRecord(slot, suffix, value, flags);
  return true;
}

void NodeEditor::SetFlags(uint32_t slot_number, RecordFlags flags) {
  LATCHKEY_CHECK(slot_number < count() && flags <= kAllRecordFlags);
  Slot slot = SlotAt(slot_number);
  slot.flags = flags;
  SetSlot(slot_number, slot);
}

void NodeEditor::Remove(uint32_t slot) {
  DropRecord(slot);
  const auto last = Field<uint16_t>(kLastInsertSlot);
  if (last == kNoInsert || slot > last) return;
  SetField<uint16_t>(kLastInsertSlot, slot < last ? static_cast<uint16_t>(last - 1) : kNoInsert);
}

// Inner pages.

void NodeEditor::SetChild(uint32_t child_slot, PageId child) {
  const uint64_t raw = Raw(child);
  if (child_slot == count()) return SetField<uint64_t>(kRightmostChild, raw);
  const Slot slot = SlotAt(child_slot);
  LATCHKEY_CHECK(child_slot < count() && RecordSize(slot) > 0);
  RacyCopyIn(bytes_ + slot.offset, &raw, sizeof(raw));
}

bool NodeEditor::InsertSeparator(uint32_t child_slot, std::string_view separator, PageId left,
                                 PageId right) {
  LATCHKEY_CHECK(separator.size() <= kMaxNodeKeySize);
  if (!AdaptPrefix(separator)) return false;
  const std::string_view suffix = separator.substr(prefix_length());
  LATCHKEY_CHECK(MakeRoom(FootprintOf(static_cast<uint32_t>(suffix.size()), 0)));
  PlaceSeparator(child_slot, suffix, left);
  SetChild(child_slot + 1, right);
  NoteInsert(child_slot);
  return true;
}

void NodeEditor::RemoveSeparator(uint32_t child_slot) {
  const PageId merged = Child(child_slot);
  Remove(child_slot);
  SetChild(child_slot, merged);
}

// The old separator's bytes count as free only if the new one shares the page's prefix.
bool LatchedNodeView::CanReplaceSeparator(uint32_t slot, std::string_view separator) const {
  if (SharedPrefix(separator) < prefix_length()) return HasRoomFor(separator, 0);
  const uint32_t old_bytes = kSlotSize + RecordSize(SlotAt(slot));
  return FootprintOf(static_cast<uint32_t>(separator.size()) - prefix_length(), 0) <=
         FreeBytes() + old_bytes;
}

void NodeEditor::ReplaceSeparator(uint32_t child_slot, std::string_view separator) {
  const PageId left = Child(child_slot), right = Child(child_slot + 1);
  RemoveSeparator(child_slot);
  LATCHKEY_CHECK(InsertSeparator(child_slot, separator, left, right));
}

}  // namespace latchkey
