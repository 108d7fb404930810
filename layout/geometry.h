// Geometry of the data file: a header area, then segments of equal size, each of S slots. A slot is
// the place of one page. In a file with page compression it is an eighth of that: a page takes as
// many slots as it needs, one to eight, side by side in one segment. A *block* is a page-sized,
// aligned piece of a segment; all I/O is of whole blocks, and a page lies in one or two of them.
// Slots are numbered through the whole file.
#pragma once

#include <bit>
#include <cstdint>

#include "storage/base/ids.h"

namespace latchkey {

/// A place in the data file: segment * slots_per_segment + index within the segment.
enum class SlotId : uint64_t {};
inline constexpr SlotId kNoSlot = SlotId{UINT64_MAX};

/// Index of a segment, from 0 at the front of the file.
enum class SegmentId : uint32_t {};

/// Superblocks and doublewrite areas live in the first MiB; segments follow.
inline constexpr uint64_t kHeaderAreaBytes = uint64_t{1} << 20;
/// Each half of the header area begins with two superblocks; the rest is a doublewrite area.
inline constexpr uint64_t kHeaderHalfBytes = kHeaderAreaBytes / 2;
inline constexpr uint64_t kSuperblocksBytes = 8192;

/// Offset of doublewrite area 0 or 1 in bytes, and the number of pages in one area.
constexpr uint64_t DoublewriteOffset(int area) {
  return static_cast<uint64_t>(area) * kHeaderHalfBytes + kSuperblocksBytes;
}
constexpr uint32_t DoublewriteCapacity(uint32_t page_size) {
  return static_cast<uint32_t>((kHeaderHalfBytes - kSuperblocksBytes) / page_size);
}

/// Size of a segment in bytes, a multiple of the page size, and the least number of its pages.
inline constexpr uint32_t kMinSegmentSize = 64u << 10;
inline constexpr uint32_t kMaxSegmentSize = 64u << 20;
inline constexpr uint32_t kMinSlots = 8;
/// The sizes that every build reads. Files with other sizes are aligned.
constexpr bool IsOldSegmentSize(uint32_t segment_size) {
  return std::has_single_bit(segment_size) && segment_size <= 16u << 20;
}
/// Offset of segment 0. `aligned`: the segments lie at multiples of their size, so that each begins
/// with a stripe of an array.
constexpr uint64_t FirstSegmentOffset(uint32_t segment_size, bool aligned) {
  if (!aligned && IsOldSegmentSize(segment_size)) return kHeaderAreaBytes;
  return (kHeaderAreaBytes + segment_size - 1) / segment_size * segment_size;
}
/// Slots of a page in a file with page compression.
inline constexpr uint32_t kSlotsOfCompressed = 8;

struct StoreGeometry {
  uint32_t page_size = 0;          ///< bytes
  uint32_t segment_size = 0;       ///< bytes
  uint32_t slots_per_segment = 0;  ///< the thesis's S, times slots_per_page
  uint32_t slots_per_page = 1;     ///< kSlotsOfCompressed in a file with page compression
  uint64_t first_segment_offset = kHeaderAreaBytes;  ///< bytes

  static constexpr StoreGeometry Of(uint32_t page_size, uint32_t segment_size,
                                    uint32_t slots_per_page = 1, bool aligned = false) {
    return {page_size, segment_size, segment_size / page_size * slots_per_page, slots_per_page,
            FirstSegmentOffset(segment_size, aligned)};
  }
  constexpr bool compresses() const { return slots_per_page > 1; }
  constexpr uint32_t slot_size() const { return page_size / slots_per_page; }
  constexpr uint32_t pages_per_segment() const { return segment_size / page_size; }
  /// The first slot of the block in which `slot` lies.
  constexpr SlotId BlockOf(SlotId slot) const {
    return SlotId{Raw(slot) - Raw(slot) % slots_per_page};
  }
  /// Offset in bytes of a slot within its block.
  constexpr uint32_t OffsetInBlock(SlotId slot) const {
    return static_cast<uint32_t>(Raw(slot) % slots_per_page) * slot_size();
  }
  /// Whether `slots` slots from `slot` on are those of a page: no more, and all in one segment.
  constexpr bool MayBePage(SlotId slot, uint32_t slots) const {
    return slots <= slots_per_page && Raw(slot) % slots_per_segment + slots <= slots_per_segment;
  }
  /// Whether they are a block.
  constexpr bool IsBlock(SlotId slot, uint32_t slots) const {
    return slots == slots_per_page && Raw(slot) % slots_per_page == 0;
  }
  /// Bytes of the blocks in which they lie: of one or two.
  constexpr uint32_t BlockBytes(SlotId slot, uint32_t slots) const {
    const uint64_t end = Raw(slot) % slots_per_page + slots;
    return static_cast<uint32_t>((end + slots_per_page - 1) / slots_per_page) * page_size;
  }
  constexpr SegmentId SegmentOf(SlotId slot) const {
    return SegmentId{static_cast<uint32_t>(Raw(slot) / slots_per_segment)};
  }
  constexpr SlotId SlotAt(SegmentId segment, uint32_t index) const {
    return SlotId{uint64_t{Raw(segment)} * slots_per_segment + index};
  }
  constexpr uint64_t OffsetOf(SlotId slot) const {
    return first_segment_offset + Raw(slot) * slot_size();
  }
  constexpr uint64_t OffsetOf(SegmentId segment) const {
    return first_segment_offset + uint64_t{Raw(segment)} * segment_size;
  }
  constexpr uint64_t FileBytes(uint32_t segments) const { return OffsetOf(SegmentId{segments}); }
};

}  // namespace latchkey
