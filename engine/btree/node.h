// One page of a B+tree: search, reading, and every change that concerns one page or two siblings.
// Pure functions over a page buffer: they take no latches, resolve no page ids, and allocate
// nothing when reading. node_format.h describes the bytes.
//
// Three classes, by what the caller holds:
//   NodeView         nothing, or an optimistic guard: every answer may be garbage until the page's
//                    version has been validated, but reading is always memory-safe and bounded
//   LatchedNodeView  at least a shared latch: adds views into the page
//   NodeEditor       the exclusive latch: adds every change
// All three are two words, made where they are used and passed by value. Readers may run beside one
// NodeEditor. All accesses go through storage/base/racy_memory.h.
//
// Invariants of a valid page (Check proves them):
//   1. keys ascend strictly; every key lies in the page's fences [lower, upper);
//      an inner page's separators lie strictly between them
//   2. every key begins with the page's prefix; the prefix is at least what the fences imply
//   3. slots, free space, records, fragments and prefix add up to the page; no two overlap
//   4. child i covers keys < separator i, and the rightmost child keys >= the last separator
//
// Fences are not stored. The descent knows them (the separators to the left and right of its path)
// and passes them to the operations that make a page. A key passed to a page lies in its fences.
#pragma once

#include <absl/status/status.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/btree/node_format.h"
#include "storage/base/ids.h"
#include "storage/base/racy_memory.h"
#include "storage/page_format.h"

namespace latchkey {

/// The key range [lower, upper) of a page.
struct Fences {
  std::string_view lower = {};                 ///< "" = from the smallest key on
  std::optional<std::string_view> upper = {};  ///< nullopt = no upper bound
};

/// The place of a key in a page, or the place where it belongs.
struct SlotPosition {
  uint32_t slot;  ///< 0..count()
  bool exact;     ///< the page has the key at `slot` (perhaps as a ghost)
};

/// Reads a page that may change meanwhile. If validation fails, the caller discards every answer.
/// Functions that return bool return false if what they read cannot be a record: the page is
/// changing (optimistic) or corrupt (latched). Slot arguments of any value are safe.
class NodeView {
 public:
  /// `page_size` is a supported page size (IsValidPageSize). `page` is aligned to at least 8 bytes.
  NodeView(const std::byte* page, uint32_t page_size) : page_(page), page_size_(page_size) {}

  /// Prefetches the cache lines that a search reads first. Call it as soon as the page's address is
  /// known, before its version is read.
  static void Prefetch(const std::byte* page);

  const std::byte* page() const { return page_; }
  uint32_t page_size() const { return page_size_; }

  PageType type() const;
  /// Number of records (leaf) or separators (inner). Never more than a page can hold.
  uint32_t count() const;
  /// 0 = leaf.
  uint32_t level() const;
  bool is_leaf() const { return level() == 0; }
  TxnId last_writer() const;
  /// Eight bits for the owner of the page. Splits copy them, merges unite them.
  uint8_t page_flags() const;

  /// The first slot whose key is not less than `key`.
  SlotPosition LowerBound(std::string_view key) const;
  /// Inner pages: the child slot (0..count()) whose subtree covers `key`.
  uint32_t ChildSlotFor(std::string_view key) const {
    const SlotPosition position = LowerBound(key);
    return position.slot + static_cast<uint32_t>(position.exact);
  }
  /// Inner pages: the page id at child slot 0..count(); kInvalidPageId when out of range.
  PageId Child(uint32_t child_slot) const;

  RecordFlags flags(uint32_t slot) const;
  bool is_ghost(uint32_t slot) const { return (flags(slot) & kGhost) != 0; }
  /// Leaves: the first slot from `slot` on, in steps of `step` (1 or -1), that is not a ghost; `end` if
  /// all before it are ghosts. REQUIRES: slots that the page has, and `end` is on the way.
  int32_t SkipGhosts(int32_t slot, int32_t end, int32_t step) const {
    while (slot != end && (LoadSlot(static_cast<size_t>(slot)).flags & kGhost) != 0) slot += step;
    return slot;
  }
  /// Leaves: bytes of the value in the page (kOverflowReferenceSize if it is kOverflow).
  uint32_t value_size(uint32_t slot) const;
  /// Leaves: replaces *value by the value in the page.
  bool CopyValue(uint32_t slot, std::string* value) const;
  /// Leaves: copies the value to `to` when it is exactly `size` bytes long; false otherwise.
  bool CopyValueExactly(uint32_t slot, void* to, size_t size) const;
  /// < 0, 0 or > 0 if the key at `slot` is less than, equal to or greater than `key`.
  int CompareKey(uint32_t slot, std::string_view key) const;
  /// Inner pages: whether the separators on both sides of the child at `slot` are in this page and
  /// show that the child covers `key`. `key` may be any key, even one that this page does not
  /// cover.
  bool ProvesChild(uint32_t slot, std::string_view key) const;
  /// Appends the whole key (or separator) to *key, at most kMaxNodeKeySize bytes.
  bool AppendKey(uint32_t slot, std::string* key) const;
  /// Copies the whole key to `to`, which has room for kMaxNodeKeySize bytes, and sets *size.
  bool CopyKey(uint32_t slot, char* to, size_t* size) const;
  /// Appends the bytes that all keys of the page share.
  void AppendPrefix(std::string* prefix) const;
  /// How many of those bytes both fences of the page have, too.
  uint32_t fence_prefix_length() const { return Field<uint16_t>(node_format::kFencePrefixLength); }
  /// Prefetches the record of `slot`.
  void PrefetchRecord(uint32_t slot) const;
  /// Leaves: prefetches the rest of the record, once its beginning is in the cache.
  void PrefetchValue(uint32_t slot) const;

  /// Bytes that records, slots and prefix occupy, of node_format::Capacity(page_size()).
  uint32_t UsedBytes() const;
  /// Bytes for new slots and records: contiguous or fragmented.
  uint32_t FreeBytes() const;
  /// Whether NodeEditor::Insert of such a record (leaf) would succeed. `key` is not in the page, or
  /// stands for another one of its length.
  bool HasRoomFor(std::string_view key, size_t value_size) const;
  /// Leaves: whether `key`, whose place is `position`, can get a value of `value_size` bytes: by
  /// NodeEditor::Insert, or by ReplaceValue if the page has the key. If not, the writer asks for a
  /// split, which makes the same check again.
  bool HasRoomFor(SlotPosition position, std::string_view key, size_t value_size) const {
    if (!position.exact) return HasRoomFor(key, value_size);
    return this->value_size(position.slot) + FreeBytes() >= value_size;
  }
  /// Leaves: whether the last inserts came in ascending or descending order of their keys, each beside
  /// the one before.
  bool IsInRun() const;
  /// Inner pages: whether InsertSeparator of any separator that lies in the fences would succeed.
  bool HasRoomForAnySeparator() const;

 protected:
  class Search;
  /// One slot, loaded as a whole.
  struct Slot {
    uint32_t head;
    uint32_t offset;
    uint32_t suffix_length;
    RecordFlags flags;

    uint32_t tail_length() const {
      return suffix_length > node_format::kHeadSize ? suffix_length - node_format::kHeadSize : 0;
    }
  };
  static constexpr uint32_t kCacheLine = 64;

  /// The four length fields that every search needs, in one load.
  struct Lengths {
    uint32_t count;
    uint32_t prefix;
    uint32_t fence_prefix;
    uint32_t heap_size;
  };

  template <typename T>
  T Field(size_t offset) const {
    return RacyLoad<T>(page_ + offset);
  }
  template <typename RoomFor>
  bool ReadKey(uint32_t slot, RoomFor room_for) const;
  Lengths LoadLengths() const;
  uint32_t MaxCount() const { return node_format::Capacity(page_size_) / node_format::kSlotSize; }
  uint32_t prefix_length() const { return Field<uint16_t>(node_format::kPrefixLength); }
  uint32_t heap_size() const { return Field<uint16_t>(node_format::kHeapSize); }
  uint32_t fragmented() const { return Field<uint16_t>(node_format::kFragmented); }
  uint32_t HeadAt(size_t slot) const;
  /// A slot number that no page can have reads as a record outside of the page.
  Slot SlotAt(uint32_t slot) const;
  /// As SlotAt. REQUIRES: a slot number that a page can have.
  Slot LoadSlot(size_t slot) const;

  /// Bytes of a record before its tail.
  uint32_t RecordHeaderSize() const {
    return is_leaf() ? node_format::kValueSizeSize : node_format::kChildSize;
  }
  /// Header, tail and value; 0 when they do not lie within the page.
  uint32_t RecordSize(const Slot& slot) const;
  /// Slot and record of a key of which `suffix_length` bytes follow the prefix.
  uint32_t FootprintOf(uint32_t suffix_length, size_t value_size) const;
  /// Bytes of a page that had the records [begin, end) and a prefix of `prefix` bytes.
  uint32_t RangeBytesWithPrefix(uint32_t begin, uint32_t end, uint32_t prefix) const;
  /// UsedBytes if the page's prefix were at most `prefix` bytes long.
  uint32_t UsedBytesWithPrefix(uint32_t prefix) const;
  /// How many of the page's prefix bytes `key` begins with.
  uint32_t SharedPrefix(std::string_view key) const;
  bool ValueExtent(const Slot& slot, uint32_t* offset, uint32_t* size) const;

  static void PrefetchSlots(const std::byte* page, uint32_t count);
  bool ClearlyHasPrefix(std::string_view key, uint32_t prefix) const;
  int CompareWithPrefix(std::string_view key, uint32_t length, uint32_t fence_length) const;

  const std::byte* page_;
  uint32_t page_size_;
};

// The accessors on the path of every search, inline.

inline NodeView::Lengths NodeView::LoadLengths() const {
  const auto word = Field<uint64_t>(node_format::kCount);
  Lengths lengths;
  lengths.count = std::min<uint32_t>(word & 0xffff, MaxCount());
  lengths.prefix = (word >> 16) & 0xffff;
  lengths.fence_prefix = (word >> 32) & 0xffff;
  lengths.heap_size = word >> 48;
  return lengths;
}

inline PageType NodeView::type() const {
  return static_cast<PageType>(Field<uint8_t>(offsetof(PageHeader, page_type)));
}

inline uint32_t NodeView::count() const {
  return std::min<uint32_t>(Field<uint16_t>(node_format::kCount), MaxCount());
}

inline uint32_t NodeView::level() const { return Field<uint8_t>(node_format::kLevel); }

inline TxnId NodeView::last_writer() const {
  return TxnId{Field<uint64_t>(node_format::kLastWriter)};
}

inline uint8_t NodeView::page_flags() const { return Field<uint8_t>(node_format::kPageFlags); }

inline NodeView::Slot NodeView::SlotAt(uint32_t slot) const {
  if (slot >= MaxCount()) return {.head = 0, .offset = page_size_, .suffix_length = 0, .flags = 0};
  return LoadSlot(slot);
}

inline NodeView::Slot NodeView::LoadSlot(size_t slot) const {
  const auto word = Field<uint64_t>(node_format::kSlots + slot * node_format::kSlotSize);
  return {.head = static_cast<uint32_t>(word),
          .offset = static_cast<uint32_t>(word >> 32) & 0xffff,
          .suffix_length =
              static_cast<uint32_t>(word >> 48) & ((1u << node_format::kSuffixLengthBits) - 1),
          .flags = static_cast<RecordFlags>(word >> (48 + node_format::kSuffixLengthBits))};
}

inline PageId NodeView::Child(uint32_t child_slot) const {
  const uint32_t separators = count();
  if (child_slot > separators) return kInvalidPageId;
  if (child_slot == separators) return PageId{Field<uint64_t>(node_format::kRightmostChild)};
  const Slot slot = LoadSlot(child_slot);
  if (slot.offset + node_format::kChildSize > page_size_) return kInvalidPageId;
  uint64_t child;
  RacyCopyOut(&child, page_ + slot.offset, sizeof(child));
  return PageId{child};
}

inline uint32_t NodeView::HeadAt(size_t slot) const {
  return Field<uint32_t>(node_format::kSlots + slot * node_format::kSlotSize);
}

/// Reads a page that the caller has latched, shared or exclusive.
class LatchedNodeView : public NodeView {
 public:
  using NodeView::NodeView;

  /// Leaves: the value, valid until the latch is released or the page changed; empty if corrupt.
  std::string_view Value(uint32_t slot) const;
  std::string_view Prefix() const;
  /// Leaves: reads a whole record with one look at its slot, for walks. *key already begins with
  /// the page's prefix (see AppendPrefix); the rest of it is replaced. False if corrupt.
  bool ReadRecord(uint32_t slot, std::string* key, std::string_view* value,
                  RecordFlags* flags) const;
  /// The parts of a leaf's record. Its key is Prefix(), head and tail.
  struct RecordParts {
    uint32_t head;  ///< its first head_size bytes in memory
    uint32_t head_size;
    std::string_view tail;
    std::string_view value;
    RecordFlags flags;
  };
  /// Leaves: as ReadRecord, without a copy of the key.
  bool ReadParts(uint32_t slot, RecordParts* parts) const;

  /// Whether MergeFrom(right, separator, fences) would fit.
  bool CanMergeWith(LatchedNodeView right, std::string_view separator, const Fences& fences) const;

  /// The first `records` records of the next leaf, and what separates them from its others.
  struct Filling {
    uint32_t records = 0;
    std::string separator;
  };
  /// The most records of `right`, the next leaf, that fit into this leaf beside its own. At least
  /// one stays in `right`. `fences`: those of both leaves together.
  Filling FillingFrom(const LatchedNodeView& right, const Fences& fences) const;
  /// Inner pages: whether NodeEditor::ReplaceSeparator(slot, separator) has room.
  bool CanReplaceSeparator(uint32_t slot, std::string_view separator) const;

  /// Proves the invariants above, on any bytes: DataLoss names the first violation. O(n log n).
  absl::Status Check(const Fences& fences) const;
  /// The part of Check that needs no fences and that every change of a page relies on: the places
  /// of the page's parts and the order of the keys. O(n); runs once for each page that comes from
  /// the device.
  absl::Status CheckShape() const;

 private:
  friend class NodeEditor;

  absl::Status CheckHeader() const;
  absl::Status CheckPrefix(const Fences& fences) const;
  absl::Status CheckRecords() const;
  absl::Status CheckRecord(uint32_t slot) const;
  bool IsAscending(uint32_t slot, std::string* previous, std::string* key) const;
  absl::Status CheckOrder(const Fences& fences) const;
  std::string KeyAt(uint32_t slot) const;
  std::string PrefixOfRange(uint32_t begin, uint32_t end, const Fences& fences) const;
  std::string PrefixOfUnion(const LatchedNodeView& right, std::string_view separator,
                            const Fences& fences) const;
  bool UnionFits(const LatchedNodeView& right, std::string_view separator, size_t prefix) const;
};

inline bool LatchedNodeView::ReadParts(uint32_t slot_number, RecordParts* parts) const {
  const Slot slot = SlotAt(slot_number);
  const uint32_t tail = slot.tail_length();
  const uint32_t tail_offset = slot.offset + node_format::kValueSizeSize;
  const uint32_t value_offset = tail_offset + tail;
  if (prefix_length() + slot.suffix_length > kMaxNodeKeySize || value_offset > page_size_) {
    return false;
  }
  const uint32_t size = Field<uint16_t>(slot.offset);
  if (value_offset + size > page_size_) return false;
  const auto* bytes = reinterpret_cast<const char*>(page_);
  parts->head = __builtin_bswap32(slot.head);
  parts->head_size = slot.suffix_length - tail;
  parts->tail = {bytes + tail_offset, tail};
  parts->value = {bytes + value_offset, size};
  parts->flags = slot.flags;
  return true;
}

/// Changes a page. The caller ensures that keys are at most kMaxNodeKeySize bytes and values at
/// most MaxInlineValue(). A function that returns false has changed nothing.
class NodeEditor : public LatchedNodeView {
 public:
  /// `scratch`: page_size bytes aligned as uint64_t, for rebuilding the page. With it only
  /// SplitInto, MergeFrom and FillFrom take memory, and they take it before they change anything.
  NodeEditor(std::byte* page, uint32_t page_size, uint64_t* scratch = nullptr)
      : LatchedNodeView(page, page_size), bytes_(page), scratch_(scratch) {}

  /// Makes an empty page: a leaf for level 0, else an inner page without separators, whose
  /// rightmost child the caller sets. Of the PageHeader it writes only the type.
  void Init(uint32_t level, const Fences& fences);

  void set_last_writer(TxnId txn);
  void set_page_flags(uint8_t flags);

  // Leaves.

  /// Inserts a record at `slot`, which is LowerBound(key).slot with exact = false. Compacts the
  /// page if needed. False: there is no room even so; use SplitInto.
  bool Insert(uint32_t slot, std::string_view key, std::string_view value, RecordFlags flags);
  /// Gives the record another value and flags, in place if the new value is not longer. False:
  /// there is no room even after compaction; use SplitInto, then ReplaceValue in the half that has
  /// the key.
  bool ReplaceValue(uint32_t slot, std::string_view value, RecordFlags flags);
  void SetFlags(uint32_t slot, RecordFlags flags);
  void Remove(uint32_t slot);

  // Inner pages.

  void SetChild(uint32_t child_slot, PageId child);
  void SetRightmost(PageId child) { SetChild(count(), child); }
  /// The child at `child_slot` was split at `separator`: `left` takes its slot, and `right` the
  /// next one. False: there is no room; use SplitInto first.
  bool InsertSeparator(uint32_t child_slot, std::string_view separator, PageId left, PageId right);
  /// The child behind `child_slot` was merged into it: removes the separator between the two.
  void RemoveSeparator(uint32_t child_slot);
  /// Records were moved between the children at `child_slot` and behind it: `separator` is between
  /// them now. REQUIRES: CanReplaceSeparator.
  void ReplaceSeparator(uint32_t child_slot, std::string_view separator);

  // Two pages.

  /// The record (leaf) or separator (inner, value size 0) that did not fit.
  struct Incoming {
    std::string_view key;
    size_t value_size;
  };
  /// Moves the upper part of this page into `right` (whose old contents are dropped) and sets
  /// *separator: this page then covers [fences.lower, *separator), `right` covers [*separator,
  /// fences.upper). In a leaf the separator is the shortest key that separates the halves; an inner
  /// page's separator moves up.
  ///
  /// `incoming` is not inserted, but the half that covers it has room for it. It may be a key of
  /// this page whose value grows. If inserts run up or down (ascending keys, also within a range of
  /// the page), the page is split at the run, which leaves full pages behind; otherwise in the
  /// middle. A leaf half may be left empty for `incoming`; an inner half may have no separator.
  /// REQUIRES: count() > 0.
  void SplitInto(NodeEditor right, const Fences& fences, const Incoming& incoming,
                 std::string* separator);
  /// Recovery: does again to this page what SplitInto did to it. `fence_prefix`: its
  /// fence_prefix_length afterwards. False: this is not the page that was split, and stays as it is.
  [[nodiscard]] bool SplitAgain(std::string_view separator, uint32_t fence_prefix);
  /// Takes over all records of `right`, the next page to the right, which stays as it is.
  /// `separator`: the parent's separator between the two. `fences`: those of the united page.
  /// False: the records do not fit.
  bool MergeFrom(LatchedNodeView right, std::string_view separator, const Fences& fences);
  /// Moves records from `right`, the next leaf, to this one. `filling`: what FillingFrom(right,
  /// fences) returned, with at least one record. The parent's separator becomes filling.separator.
  void FillFrom(NodeEditor right, const Filling& filling, const Fences& fences);

  /// Moves all free space into one piece.
  void Compact();

 private:
  class Builder;
  class SplitSearch;
  struct SplitPoint;

  template <typename T>
  void SetField(uint32_t offset, T value) {
    RacyStore<T>(bytes_ + offset, value);
  }
  void InitWithPrefix(uint32_t level, std::string_view prefix, uint32_t fence_prefix_length);
  void SetSlot(uint32_t slot, const Slot& value);
  bool MakeRoom(uint32_t bytes);
  bool AdaptPrefix(std::string_view separator);
  void Rebuild(std::string_view prefix);
  void PlaceRecord(uint32_t slot, std::string_view suffix, std::string_view header,
                   std::string_view body, RecordFlags flags);
  void PlaceLeafRecord(uint32_t slot, std::string_view suffix, std::string_view value,
                       RecordFlags flags);
  void PlaceSeparator(uint32_t slot, std::string_view suffix, PageId child);
  void PlaceSlot(uint32_t slot, const Slot& value);
  uint32_t AllocateRecord(uint32_t size);
  void DropRecord(uint32_t slot);
  bool GrowValue(uint32_t slot, uint32_t growth, std::string_view value, RecordFlags flags);
  void NoteInsert(uint32_t slot);

  std::string SeparatorFor(const SplitPoint& split, const Incoming& incoming) const;
  Builder MakeHalf(uint32_t begin, uint32_t end, const Fences& fences) const;

  std::byte* bytes_;
  uint64_t* scratch_;
};

}  // namespace latchkey
