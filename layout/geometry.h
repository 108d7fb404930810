// Geometry of the data file: a header area, then segments of equal size, each of S slots of one
// page. Slots are numbered through the whole file.
#pragma once

#include <cstdint>

#include "storage/base/ids.h"

namespace latchkey {

/// A page-sized place in the data file: segment * slots_per_segment + index within the segment.
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

/// Size of a segment in bytes, a power of two, and the least number of its slots.
inline constexpr uint32_t kMinSegmentSize = 64u << 10;
inline constexpr uint32_t kMaxSegmentSize = 16u << 20;
inline constexpr uint32_t kMinSlots = 8;

struct StoreGeometry {
  uint32_t page_size = 0;          ///< bytes
  uint32_t segment_size = 0;       ///< bytes
  uint32_t slots_per_segment = 0;  ///< the thesis's S

  static constexpr StoreGeometry Of(uint32_t page_size, uint32_t segment_size) {
    return {page_size, segment_size, segment_size / page_size};
  }
  constexpr SegmentId SegmentOf(SlotId slot) const {
    return SegmentId{static_cast<uint32_t>(Raw(slot) / slots_per_segment)};
  }
  constexpr SlotId SlotAt(SegmentId segment, uint32_t index) const {
    return SlotId{uint64_t{Raw(segment)} * slots_per_segment + index};
  }
  constexpr uint64_t OffsetOf(SlotId slot) const {
    return kHeaderAreaBytes + Raw(slot) * page_size;
  }
  constexpr uint64_t OffsetOf(SegmentId segment) const {
    return kHeaderAreaBytes + uint64_t{Raw(segment)} * segment_size;
  }
  constexpr uint64_t FileBytes(uint32_t segments) const { return OffsetOf(SegmentId{segments}); }
};

}  // namespace latchkey
