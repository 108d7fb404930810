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
  const bool same_prefix = page.Prefix().size() == prefix_length_;
  for (uint32_t slot = begin; slot < end; ++slot) {
    if (same_prefix) {
      AddVerbatim(page, slot);
    } else {
      AddReencoded(page, slot);
    }
  }
}

void NodeEditor::Builder::AddVerbatim(const LatchedNodeView& page, uint32_t slot) {
  Slot copy = page.SlotAt(slot);
  const uint32_t size = page.RecordSize(copy);
  LATCHKEY_CHECK(size > 0);
  const std::byte* record = page.page() + copy.offset;
  copy.offset = node_.AllocateRecord(size);
  RacyCopyIn(node_.bytes_ + copy.offset, record, size);
  node_.PlaceSlot(node_.count(), copy);
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
