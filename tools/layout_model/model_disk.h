// The disks of the model: any simulated device, or any ratio of costs.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "layout/separate/write_cost_model.h"
#include "storage/device/device_list.h"

namespace latchkey {

/// What "1 MB/s" of a disk's bandwidth means, where a KiB is 1024 bytes (LAYOUT_REFERENCE A1).
enum class Megabyte : uint8_t {
  kThesis,   ///< 1000 KiB: eta is 32.77 where the thesis prints 32.8
  kDecimal,  ///< 10^6 bytes, as in the simulated devices: 32.21
  kBinary,   ///< 1024 KiB: 33.34
};
inline constexpr std::string_view kMegabytes[] = {"thesis", "decimal", "binary"};

/// Protection of writes over a page's slot.
enum class ModelProtection : uint8_t {
  kNone,
  kDoublewrite,  ///< in batches of the store's doublewrite area first
  kTwice,        ///< each page by itself once more
};
inline constexpr std::string_view kModelProtections[] = {"none", "doublewrite", "twice"};

/// Most bytes of a segment.
inline constexpr uint64_t kMostModelSegment = uint64_t{1} << 30;

struct SegmentQuestion {
  uint32_t page_bytes = 8192;
  /// 0: 4 T_pos B of each data disk, rounded to a power of two (6.3).
  uint64_t segment_bytes = 0;
  ModelProtection protection = ModelProtection::kNone;
};

struct SegmentCosts {
  PageCosts costs;
  uint64_t segment_bytes = 0;
};

/// `disk` as the thesis's tables and arithmetic have it: a fixed T_pos (rz26: 15.0 ms, atlas10k: 8.6
/// ms, as printed in table 6.2), and the bandwidth in these megabytes. Flash stays as it is.
/// REQUIRES: disk.is_simulated().
DeviceSpec AsModelled(const DeviceSpec& disk, Megabyte megabyte);

/// T_pos + n/B of each single-disk request. InvalidArgument, with the range: the disk takes no time,
/// or has no bandwidth; the segment is no multiple of the page, has fewer than 2 pages or more than
/// kMostModelSegment bytes; a segment of RAID-5 is no multiple of its full stripe; the page is no
/// part of the unit of an array. REQUIRES: `disk` is of AsModelled.
absl::StatusOr<SegmentCosts> CostsOfDisk(const DeviceSpec& disk, const SegmentQuestion& question);

/// A disk known by its ratios alone, in units of a page's share of a segment write.
struct CostRatios {
  double eta = 32.8;  ///< a page write
  double rho = 1;     ///< a page's share of the read of a whole segment
  double read = 0;    ///< a page read by itself; 0: eta
};
/// Segments of 1 MiB unless the question says more. Errors: those of the segment. A doublewrite
/// batch costs what follows from eta.
absl::StatusOr<SegmentCosts> CostsOfRatios(const CostRatios& ratios,
                                           const SegmentQuestion& question);

/// InvalidArgument: the segment is no multiple of the page, or has fewer than 2 pages or more than
/// `most` bytes.
absl::Status CheckSegment(uint64_t segment_bytes, uint32_t page_bytes, uint64_t most);

}  // namespace latchkey
