// The bytes of a B+tree page: a slotted page with prefix truncation and key heads (Graefe, "Modern
// B-Tree Techniques" 2011, sections 3.2-3.5; LeanStore, ICDE 2018, section IV).
//
//   OFFSET SIZE  FIELD
//        0   32  PageHeader               storage/page_format.h; type kTreeLeaf or kTreeInner
//       32    8  last writer              TxnId, opaque here
//       40    8  rightmost child          inner pages; 0 in leaves
//       48    2  count                    records (inner: separators; children = count + 1)
//       50    2  prefix length            bytes that every key of the page begins with
//       52    2  fence prefix length      the part of it that both fences imply; equal in leaves
//       54    2  heap size                bytes from the heap's begin to the page's end
//       56    2  fragmented               bytes of the heap that no record and no prefix uses
//       58    2  last insert slot         of the newest insert; 65535 = none
//       60    1  level                    0 = leaf, else distance to the leaves
//       61    1  page flags               opaque here
//       62    1  insert run               signed: consecutive inserts, each right after (> 0)
//                                         or right before (< 0) the previous one; saturates
//       63    1  zero
//       64  8*n  slots                    in key order
//        .    .  free                     between the slots and the heap
//        .    .  heap                     records in any order, growing downwards
//   size-p    p  prefix                   stored once, at the page's very end
//
//   SLOT    SIZE  FIELD
//        0    4  head                     first 4 suffix bytes as a big-endian number, zero padded
//        4    2  heap offset              of the record; at most size - 2, so 16 bits do for 64 KiB
//        6    2  suffix length (12 bits), record flags (4 bits, high)
//
//   LEAF RECORD: value size (2), tail, value.    INNER RECORD: child page id (8), tail.
//
// A key is prefix + suffix. The suffix's first four bytes are stored only in the head; the *tail*
// is the rest of the suffix. So a short separator costs 16 bytes and is compared without touching
// the heap. All integers are little-endian. Records are not aligned.
#pragma once

#include <cstddef>
#include <cstdint>

#include "storage/page_format.h"

namespace latchkey {

/// Flags of one record.
using RecordFlags = uint8_t;
/// Deleted, but kept because older snapshots may still look for the key.
inline constexpr RecordFlags kGhost = 1;
/// The value is a reference (kOverflowReferenceSize bytes) to a chain of overflow pages.
inline constexpr RecordFlags kOverflow = 2;
inline constexpr RecordFlags kAllRecordFlags = 15;

/// Size of the value of a kOverflow record.
inline constexpr size_t kOverflowReferenceSize = 16;

/// Longest key of every page size.
inline constexpr size_t kMaxNodeKeySize = 1024;

namespace node_format {

inline constexpr uint32_t kLastWriter = 32;
inline constexpr uint32_t kRightmostChild = 40;
inline constexpr uint32_t kCount = 48;
inline constexpr uint32_t kPrefixLength = 50;
inline constexpr uint32_t kFencePrefixLength = 52;
inline constexpr uint32_t kHeapSize = 54;
inline constexpr uint32_t kFragmented = 56;
inline constexpr uint32_t kLastInsertSlot = 58;
inline constexpr uint32_t kLevel = 60;
inline constexpr uint32_t kPageFlags = 61;
inline constexpr uint32_t kInsertRun = 62;
inline constexpr uint32_t kZero = 63;
inline constexpr uint32_t kSlots = 64;

inline constexpr uint32_t kSlotSize = 8;
inline constexpr uint32_t kHeadSize = 4;
inline constexpr uint32_t kValueSizeSize = 2;
inline constexpr uint32_t kChildSize = 8;
inline constexpr uint32_t kSuffixLengthBits = 12;
inline constexpr uint16_t kNoInsert = 65535;

static_assert(offsetof(PageHeader, page_type) == 28 && sizeof(PageHeader) == kLastWriter);
static_assert(kMaxNodeKeySize < (1u << kSuffixLengthBits));

/// Bytes of a page that slots, records and prefix share.
constexpr uint32_t Capacity(uint32_t page_size) { return page_size - kSlots; }

}  // namespace node_format

/// The most bytes that a record and its slot take. A page stores the prefix that its keys share only
/// once, so there the record takes fewer.
constexpr size_t MostRecordBytes(size_t key_size, size_t value_size) {
  return node_format::kSlotSize + node_format::kValueSizeSize + key_size + value_size;
}

/// The largest value that a caller stores in the page beside a key of `key_size` bytes. A larger
/// value goes to overflow pages. Slot, key and value together then take at most a quarter of a
/// page, or are a long key with kOverflowReferenceSize bytes, about 1050 bytes. In both cases any
/// two records fill less than a page, which NodeEditor::SplitInto relies on.
constexpr size_t MaxInlineValue(uint32_t page_size, size_t key_size) {
  const size_t quarter = node_format::Capacity(page_size) / 4;
  const size_t rest = MostRecordBytes(key_size, 0);
  const size_t value = quarter > rest ? quarter - rest : 0;
  return value > kOverflowReferenceSize ? value : kOverflowReferenceSize;
}

}  // namespace latchkey
