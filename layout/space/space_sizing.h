// How large the data file must be so that live pages / capacity is the wanted space utilisation
// (thesis: u_d). Pure arithmetic.
//
//   file = header area + (data + reserve + metadata) segments
//   capacity = slots of the data segments
//
// The reserve is the room that the open append logs, the segment cleaner's output and its
// watermarks need for progress. It is constant in bytes, not in segments (LAYOUT_REFERENCE A15).
// Metadata is room for two checkpoints of page map and segment table.
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
  uint32_t reserve_segments = 0;

  /// 5 open append logs (2 hot, 1 cold, 2 of the cleaner), 2 segments that only the cleaner may
  /// take, the rest as margin.
  static constexpr uint32_t kMinReserveSegments = 12;
  /// If the file cannot grow, a new page id is refused beyond this share of the capacity. The
  /// remaining slots and the reserve suffice to rewrite every page any number of times.
  static constexpr double kFullestUtilization = 0.985;

  static SpaceSizing Make(StoreGeometry geometry, double space_utilization,
                          uint64_t reserve_bytes) {
    const uint64_t segments = (reserve_bytes + geometry.segment_size - 1) / geometry.segment_size;
    return {geometry, space_utilization,
            std::max(kMinReserveSegments, static_cast<uint32_t>(segments))};
  }

  /// Segments that one checkpoint of `page_ids` map entries and `segments` table entries takes.
  uint32_t CheckpointSegments(uint64_t page_ids, uint32_t segments) const {
    constexpr uint32_t kPerPageOverhead = 64;  // page header and chain link
    const uint64_t bytes = 8 * (page_ids + segments);
    const uint64_t payload =
        uint64_t{geometry.slots_per_segment} * (geometry.page_size - kPerPageOverhead);
    return static_cast<uint32_t>(bytes / payload + 1);
  }

  /// Segments wanted for `live` pages and ids below `limit`.
  uint32_t TargetSegments(uint64_t live, uint64_t limit) const {
    const double data = static_cast<double>(live) /
                        (space_utilization * static_cast<double>(geometry.slots_per_segment));
    const auto data_segments = static_cast<uint32_t>(std::ceil(data));
    const uint32_t without_meta = std::max(1u, data_segments) + reserve_segments;
    return without_meta + 2 * CheckpointSegments(limit, without_meta);
  }

  /// Slots of `segments` less reserve and metadata.
  uint64_t CapacityPages(uint32_t segments, uint64_t limit) const {
    const uint32_t overhead = reserve_segments + 2 * CheckpointSegments(limit, segments);
    return segments <= overhead ? 0 : uint64_t{segments - overhead} * geometry.slots_per_segment;
  }

  /// Segments that growth adds beyond the target, so that a large file is rarely resized. Lowers
  /// u_d by at most .17 % of its value.
  static uint32_t GrowthStep(uint32_t segments) { return std::min(segments / 600, 64u); }

  /// Whether `segments` are too many. A margin of a quarter segment keeps repeated allocating and
  /// freeing of one page from resizing the file each time.
  bool TooLarge(uint32_t segments, uint64_t live, uint64_t limit) const {
    return segments >
           TargetSegments(live + geometry.slots_per_segment / 4, limit) + GrowthStep(segments);
  }
};

}  // namespace latchkey
