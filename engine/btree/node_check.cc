// Proves a page's structure, on any bytes: for scrubs, tests and readers that suspect damage.
#include <algorithm>
#include <utility>
#include <vector>

#include "engine/btree/node.h"
#include "engine/btree/node_key.h"
#include "storage/base/status_macros.h"

namespace latchkey {

using namespace node_format;  // NOLINT(build/namespaces): the field names of this page

namespace {

template <typename... Args>
absl::Status Corrupt(fmt::format_string<Args...> format, Args&&... args) {
  return MakeStatus(absl::StatusCode::kDataLoss, "tree page is corrupt: {}",
                    fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace

absl::Status LatchedNodeView::Check(const Fences& fences) const {
  LATCHKEY_RETURN_IF_ERROR(CheckHeader());
  LATCHKEY_RETURN_IF_ERROR(CheckPrefix(fences));
  LATCHKEY_RETURN_IF_ERROR(CheckRecords());
  return CheckOrder(fences);
}

absl::Status LatchedNodeView::CheckHeader() const {
  const PageType expected = is_leaf() ? PageType::kTreeLeaf : PageType::kTreeInner;
  if (type() != expected) {
    return Corrupt("page type {} at level {}", static_cast<int>(type()), level());
  }
  const uint32_t records = Field<uint16_t>(kCount);
  if (kSlots + records * kSlotSize + heap_size() > page_size_) {
    return Corrupt("{} slots and a heap of {} bytes exceed the page size {}", records, heap_size(),
                   page_size_);
  }
  const auto last_insert = Field<uint16_t>(kLastInsertSlot);
  if (last_insert != kNoInsert && last_insert >= records) {
    return Corrupt("last insert at slot {} of {}", last_insert, records);
  }
  if (Field<uint8_t>(kZero) != 0) return Corrupt("the byte at {} is not zero", kZero);
  const auto rightmost = Field<uint64_t>(kRightmostChild);
  if (is_leaf() ? rightmost != 0 : rightmost >= kMaxPageIds) {
    return Corrupt("rightmost child {} at level {}", rightmost, level());
  }
  return absl::OkStatus();
}

absl::Status LatchedNodeView::CheckPrefix(const Fences& fences) const {
  const uint32_t prefix = prefix_length();
  const uint32_t implied = FencePrefixLength(fences.lower, fences.upper);
  if (prefix > kMaxNodeKeySize || prefix > heap_size()) {
    return Corrupt("a prefix of {} bytes in a heap of {}", prefix, heap_size());
  }
  if (is_leaf() && prefix > implied) {
    return Corrupt("a prefix of {} bytes, of which the fences imply {}", prefix, implied);
  }
  const uint32_t shared = std::min(prefix, implied);
  if (fence_prefix_length() != shared) {
    return Corrupt("fence prefix length {} instead of {}", fence_prefix_length(), shared);
  }
  if (Prefix().substr(0, shared) != fences.lower.substr(0, shared)) {
    return Corrupt("the prefix is not that of the fences");
  }
  return absl::OkStatus();
}

absl::Status LatchedNodeView::CheckRecord(uint32_t slot_number) const {
  const Slot slot = SlotAt(slot_number);
  const uint32_t size = RecordSize(slot);
  if (size == 0 || slot.offset < page_size_ - heap_size() ||
      slot.offset + size > page_size_ - prefix_length()) {
    return Corrupt("the record of slot {} at {} lies outside of the heap", slot_number,
                   slot.offset);
  }
  if (prefix_length() + slot.suffix_length > kMaxNodeKeySize) {
    return Corrupt("the key of slot {} has {} bytes", slot_number,
                   prefix_length() + slot.suffix_length);
  }
  if (slot.suffix_length < kHeadSize &&
      (static_cast<uint64_t>(slot.head) << (8 * slot.suffix_length) & UINT32_MAX) != 0) {
    return Corrupt("the head of slot {} is not padded with zeros", slot_number);
  }
  const RecordFlags known = is_leaf() ? kGhost | kOverflow : 0;
  if ((slot.flags & ~known) != 0) return Corrupt("slot {} has flags {}", slot_number, slot.flags);
  if ((slot.flags & kOverflow) != 0 && value_size(slot_number) != kOverflowReferenceSize) {
    return Corrupt("the overflow reference of slot {} has {} bytes", slot_number,
                   value_size(slot_number));
  }
  if (!is_leaf() && Raw(Child(slot_number)) >= kMaxPageIds) {
    return Corrupt("child {} is page {}", slot_number, Raw(Child(slot_number)));
  }
  return absl::OkStatus();
}

absl::Status LatchedNodeView::CheckRecords() const {
  std::vector<std::pair<uint32_t, uint32_t>> extents;
  uint64_t bytes = prefix_length() + fragmented();
  for (uint32_t i = 0; i < count(); ++i) {
    LATCHKEY_RETURN_IF_ERROR(CheckRecord(i));
    extents.emplace_back(SlotAt(i).offset, RecordSize(SlotAt(i)));
    bytes += extents.back().second;
  }
  if (bytes != heap_size()) {
    return Corrupt("records, fragments and prefix add up to {} bytes, the heap has {}", bytes,
                   heap_size());
  }
  std::sort(extents.begin(), extents.end());
  for (size_t i = 1; i < extents.size(); ++i) {
    if (extents[i - 1].first + extents[i - 1].second > extents[i].first) {
      return Corrupt("the records at {} and {} overlap", extents[i - 1].first, extents[i].first);
    }
  }
  return absl::OkStatus();
}

// Whether the key of `slot` is above that of the slot before it. Usually the heads decide;
// otherwise the whole keys do.
bool LatchedNodeView::IsAscending(uint32_t slot, std::string* previous, std::string* key) const {
  const uint32_t before = HeadAt(slot - 1), here = HeadAt(slot);
  if (before != here) return before < here;
  previous->clear();
  key->clear();
  return AppendKey(slot - 1, previous) && AppendKey(slot, key) && *previous < *key;
}

absl::Status LatchedNodeView::CheckShape() const {
  LATCHKEY_RETURN_IF_ERROR(CheckHeader());
  const uint32_t prefix = prefix_length();
  if (prefix > kMaxNodeKeySize || prefix > heap_size() || fence_prefix_length() > prefix) {
    return Corrupt("a prefix of {} bytes, {} of them of the fences, in a heap of {}", prefix,
                   fence_prefix_length(), heap_size());
  }
  uint64_t bytes = prefix + fragmented();
  std::string previous, key;
  for (uint32_t i = 0; i < count(); ++i) {
    LATCHKEY_RETURN_IF_ERROR(CheckRecord(i));
    bytes += RecordSize(SlotAt(i));
    if (i > 0 && !IsAscending(i, &previous, &key)) {
      return Corrupt("slots {} and {} are not in order", i - 1, i);
    }
  }
  if (bytes == heap_size()) return absl::OkStatus();
  return Corrupt("records, fragments and prefix add up to {} bytes, the heap has {}", bytes,
                 heap_size());
}

absl::Status LatchedNodeView::CheckOrder(const Fences& fences) const {
  std::string previous;
  std::string key;
  for (uint32_t i = 0; i < count(); ++i) {
    key.clear();
    if (!AppendKey(i, &key)) return Corrupt("the key of slot {} lies outside of the page", i);
    if (i > 0 && previous >= key) return Corrupt("slots {} and {} are not in order", i - 1, i);
    previous.swap(key);
    const bool too_low = is_leaf() ? previous < fences.lower : previous <= fences.lower;
    if (too_low || (fences.upper && previous >= *fences.upper)) {
      return Corrupt("the key of slot {} lies outside of the fences", i);
    }
  }
  return absl::OkStatus();
}

}  // namespace latchkey
