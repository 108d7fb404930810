#include "engine/btree/node_builder.h"

#include <algorithm>

#include "engine/btree/node_key.h"
#include "storage/base/check.h"

namespace latchkey {

using namespace node_format;  // NOLINT(build/namespaces): the field names of this page

NodeEditor::Builder::Builder(const NodeView& origin, std::string_view prefix,
                             uint32_t fence_prefix_length, uint64_t* scratch)
    : buffer_(scratch != nullptr ? nullptr : std::make_unique<uint64_t[]>(origin.page_size() / 8)),
      node_(reinterpret_cast<std::byte*>(scratch != nullptr ? scratch : buffer_.get()),
            origin.page_size()),
      prefix_length_(static_cast<uint32_t>(prefix.size())) {
  node_.InitWithPrefix(origin.level(), prefix, std::min(fence_prefix_length, prefix_length_));
  SetWriterAndFlags(origin.last_writer(), origin.page_flags());
}

void NodeEditor::Builder::SetWriterAndFlags(TxnId last_writer, uint8_t page_flags) {
  node_.set_last_writer(last_writer);
  node_.set_page_flags(page_flags);
}

void NodeEditor::Builder::AddRecords(const LatchedNodeView& page, uint32_t begin, uint32_t end) {
  const auto old_prefix = static_cast<uint32_t>(page.Prefix().size());
  if (old_prefix <= prefix_length_) return AddShortened(page, begin, end, old_prefix);
  for (uint32_t slot = begin; slot < end; ++slot) AddReencoded(page, slot);
}

namespace {

/// The head of a suffix without its first `dropped` bytes. `tail`: what follows the head.
uint32_t ShiftedHead(uint32_t head, std::string_view tail, uint32_t dropped) {
  if (dropped >= kHeadSize) {
    return LoadHead(tail.substr(std::min<size_t>(tail.size(), dropped - kHeadSize)));
  }
  const uint64_t bytes = static_cast<uint64_t>(head) << 32 | LoadHead(tail);
  return static_cast<uint32_t>(bytes >> (32 - 8 * dropped));
}

}  // namespace

// The new prefix has taken over the first bytes of every suffix. The rest of a record's tail still
// lies beside its value, so both are copied as one.
void NodeEditor::Builder::AddShortened(const LatchedNodeView& page, uint32_t begin, uint32_t end,
                                       uint32_t old_prefix) {
  const uint32_t dropped = prefix_length_ - old_prefix;
  const uint32_t header_size = page.RecordHeaderSize();
  const uint32_t page_size = page.page_size();
  uint32_t heap = node_.heap_size();
  uint32_t records = node_.count();
  for (uint32_t slot = begin; slot < end; ++slot) {
    Slot copy = page.SlotAt(slot);
    const uint32_t size = page.RecordSize(copy);
    LATCHKEY_CHECK(size > 0 && copy.suffix_length >= dropped);
    const std::byte* from = page.page() + copy.offset;
    const uint32_t tail_length = copy.tail_length();
    const uint32_t cut = std::min(dropped, tail_length);
    const std::string_view tail(reinterpret_cast<const char*>(from) + header_size, tail_length);
    if (dropped > 0) copy.head = ShiftedHead(copy.head, tail, dropped);
    copy.suffix_length -= dropped;
    heap += size - cut;
    LATCHKEY_CHECK(kSlots + (records + 1) * kSlotSize + heap <= page_size);
    copy.offset = page_size - heap;
    std::byte* to = node_.bytes_ + copy.offset;
    RacyCopyIn(to, from, header_size);
    RacyCopyIn(to + header_size, from + header_size + cut, size - cut - header_size);
    node_.SetSlot(records++, copy);
  }
  node_.SetField<uint16_t>(kHeapSize, static_cast<uint16_t>(heap));
  node_.SetField<uint16_t>(kCount, static_cast<uint16_t>(records));
}

void NodeEditor::Builder::AddReencoded(const LatchedNodeView& page, uint32_t slot) {
  char bytes[kMaxNodeKeySize];
  size_t size = 0;
  LATCHKEY_CHECK(page.CopyKey(slot, bytes, &size));
  const std::string_view key(bytes, size);
  if (!page.is_leaf()) return AddSeparator(key, page.Child(slot));
  node_.PlaceLeafRecord(node_.count(), key.substr(prefix_length_), page.Value(slot),
                        page.flags(slot));
}

void NodeEditor::Builder::AddSeparator(std::string_view separator, PageId child) {
  node_.PlaceSeparator(node_.count(), separator.substr(prefix_length_), child);
}

void NodeEditor::Builder::Install(NodeEditor* page) const {
  page->SetField<uint8_t>(offsetof(PageHeader, page_type), static_cast<uint8_t>(node_.type()));
  RacyCopyIn(page->bytes_ + kPageHeaderSize, node_.page() + kPageHeaderSize,
             page->page_size() - kPageHeaderSize);
}

}  // namespace latchkey
