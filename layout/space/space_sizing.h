// How large the data file must be so that live slots / capacity is the wanted space utilisation
// (thesis: u_d). Pages that compress take fewer slots. Pure arithmetic.
//
//   file = header area + (data + reserve + metadata) segments
//   capacity = slots of the data segments
//
// The reserve is the room that the open append logs, the segment cleaner's output and its
// watermarks need for progress. From four times its size on, a file has a reserve that is constant
// in bytes, not in segments (LAYOUT_REFERENCE A15); the reserve of a smaller file is a quarter of its
// data segments, at least kMinReserveSegments. A layout that appends no pages has kMinReserveSegments
// in a file of any size, because no cleaning makes room for its writes. Metadata is room for two
// checkpoints of page map and segment table.
//
// A new file is *young*: it has one segment for pages and two for checkpoints. SpaceManager says how
// it grows up.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "layout/geometry.h"

namespace latchkey {

inline constexpr double kMinSpaceUtilization = 0.5;
inline constexpr double kMaxSpaceUtilization = 0.98;

struct SpaceSizing {
  StoreGeometry geometry;
  double space_utilization = 0.8;  ///< wanted u_d
  uint32_t reserve_segments = 0;   ///< of a large file

  /// Open append logs for which the reserve has room: 2 hot, 1 cold, 2 of the cleaner. More streams
  /// open only within the free segments (stream_choice.h).
  static constexpr uint32_t kOpenLogs = 5;
  /// The open logs, 2 segments that only the cleaner may take (SpaceManager::hard_watermark), the
  /// rest as margin.
  static constexpr uint32_t kMinReserveSegments = 12;
  /// If the file cannot grow, a new page id is refused beyond this share of the capacity. The
  /// remaining slots and the reserve suffice to rewrite every page any number of times.
  static constexpr double kFullestUtilization = 0.985;
  /// Data segments of a file for each segment of its reserve, until the reserve has its full size.
  static constexpr uint32_t kDataPerReserve = 4;
  /// Segments of a young file: one for pages, and those for two checkpoints.
  static constexpr uint32_t kYoungMetaSegments = 2;
  static constexpr uint32_t kYoungSegments = 1 + kYoungMetaSegments;

  static SpaceSizing Make(StoreGeometry geometry, double space_utilization,
                          uint64_t reserve_bytes) {
    const uint64_t segments = (reserve_bytes + geometry.segment_size - 1) / geometry.segment_size;
    return {geometry, space_utilization,
            std::max(kMinReserveSegments, static_cast<uint32_t>(segments))};
  }

  /// The most slots of the pages of a young file. As many are left for their newer copies, so that
  /// a round always makes room in the one segment.
  uint32_t YoungSlots() const { return geometry.slots_per_segment / 2; }

  /// The reserve of a file with so many data segments.
  uint32_t ReserveFor(uint32_t data_segments) const {
    return std::clamp(data_segments / kDataPerReserve, kMinReserveSegments, reserve_segments);
  }

  /// Segments that one checkpoint of `map_bytes` of page map (PageMap::checkpoint_bytes) and
  /// `segments` table entries takes.
  uint32_t CheckpointSegments(uint64_t map_bytes, uint32_t segments) const {
    constexpr uint32_t kPerPageOverhead = 64;  // page header and chain link
    const uint64_t bytes = map_bytes + 8 * uint64_t{segments};
    const uint64_t payload =
        uint64_t{geometry.pages_per_segment()} * (geometry.page_size - kPerPageOverhead);
    return static_cast<uint32_t>(bytes / payload + 1);
  }

  /// Segments wanted for pages of `live` slots and a page map of `map_bytes`, in a file that is not
  /// young.
  uint32_t TargetSegments(uint64_t live, uint64_t map_bytes) const {
    const double data = static_cast<double>(live) /
                        (space_utilization * static_cast<double>(geometry.slots_per_segment));
    const uint32_t data_segments = std::max(1u, static_cast<uint32_t>(std::ceil(data)));
    const uint32_t without_meta = data_segments + ReserveFor(data_segments);
    return without_meta + 2 * CheckpointSegments(map_bytes, without_meta);
  }

  /// `segments` less reserve and metadata: the most data segments with which, with their reserve,
  /// the file has that size.
  uint32_t DataSegments(uint32_t segments, uint64_t map_bytes) const {
    const uint32_t meta = 2 * CheckpointSegments(map_bytes, segments);
    if (segments <= meta + kMinReserveSegments) return 0;
    const uint32_t rest = segments - meta;
    // The reserve is the least one, a quarter of the data, or the full one.
    uint32_t data = rest - kMinReserveSegments;
    const uint32_t in_proportion = static_cast<uint32_t>(
        (uint64_t{rest} * kDataPerReserve + kDataPerReserve) / (kDataPerReserve + 1));
    data = std::min(data, in_proportion);
    if (rest > reserve_segments) data = std::max(data, rest - reserve_segments);
    while (data > 0 && data + ReserveFor(data) > rest) --data;
    return data;
  }

  /// The reserve of a file of `segments`.
  uint32_t ReserveOf(uint32_t segments, uint64_t map_bytes) const {
    return ReserveFor(DataSegments(segments, map_bytes));
  }

  /// Slots of `segments` less reserve and metadata.
  uint64_t CapacitySlots(uint32_t segments, uint64_t map_bytes) const {
    return uint64_t{DataSegments(segments, map_bytes)} * geometry.slots_per_segment;
  }

  /// Segments that growth adds beyond the target, so that a large file is rarely resized. Lowers
  /// u_d by at most .17 % of its value.
  static uint32_t GrowthStep(uint32_t segments) { return std::min(segments / 600, 64u); }

  /// Whether `segments` are too many. A margin of a quarter segment keeps repeated allocating and
  /// freeing of one page from resizing the file each time. With page compression the slots of the
  /// pages change at each write, and a new page counts as a whole one until then: the margin is a
  /// sixteenth and four segments.
  bool TooLarge(uint32_t segments, uint64_t live, uint64_t map_bytes) const {
    const uint64_t margin = geometry.compresses() ? live / 16 + 4 * geometry.slots_per_segment
                                                  : geometry.slots_per_segment / 4;
    const uint64_t map_margin = 4 * margin / geometry.slots_per_page;
    return segments > TargetSegments(live + margin, map_bytes + map_margin) + GrowthStep(segments);
  }
};

}  // namespace latchkey
