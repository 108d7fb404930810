// Probes: short measurements of the device, made only to learn what a kind of I/O costs. They are
// of classes of their own, so their cost is known beside other I/O too.
#pragma once

#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "layout/geometry.h"
#include "layout/separate/write_cost_model.h"
#include "storage/device/block_device.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// Requests of one kind, one for each of `offsets`; at most `depth` in flight.
struct ProbeBurst {
  IoRequest::Op op = IoRequest::Op::kRead;
  uint32_t length = 0;  ///< bytes of each request
  std::span<const uint64_t> offsets;
  std::span<std::byte> memory;  ///< aligned for the device; at least `depth` times `length` bytes
  uint32_t depth = 1;
  bool then_sync = false;  ///< the latency of a sync counts, too
};

struct ProbeResult {
  double request_ns = 0;  ///< device time of one request, at least 1
  bool exact = false;     ///< the device knows what its disks did; other devices divide busy time
  bool alone = false;     ///< nothing else was in flight meanwhile, so nothing had to be divided
  uint32_t requests = 0;  ///< whose device time is known: of one burst, or of all if exact
};

/// Fills the memory with content that does not compress. REQUIRES: one probe of a device at a time.
absl::StatusOr<ProbeResult> MeasureBurst(Runtime& runtime, BlockDevice& device,
                                         const ProbeBurst& burst);

inline constexpr Nanos kSureNanos = 20 * kNanosPerMilli;
inline constexpr size_t kSureRounds = 4;
inline constexpr size_t kSyncRounds = 2;  ///< of a burst with a sync, at most

/// How often a burst is repeated: until `nanos` have passed, at most `most` times. On a loaded machine one
/// round may take that long: then kSureRounds, unless kSureNanos pass.
struct ProbeRounds {
  Nanos nanos = 0;
  size_t most = 0;
  bool takes_median = false;  ///< of what a device without service times says; false: the least
};
/// At creation. Takes the least, because other load on the machine only adds time. A delayed request would
/// look like positioning, and the segments of the file would be too large (ProbedSegment).
inline constexpr ProbeRounds kRoundsOfCreation{.nanos = 3 * kNanosPerMilli, .most = 8};
/// At an open. Takes the median, because HyLog decides by these costs. The reads of a virtual disk took 6 to
/// 14 us in the first ten rounds, and 12 to 13 us in most later ones.
inline constexpr ProbeRounds kRoundsOfOpen{
    .nanos = 8 * kNanosPerMilli, .most = 32, .takes_median = true};

/// Repeats a burst as `rounds` says, on a device that tells service times as kRoundsOfCreation. Other load
/// does not change service times, so more rounds would only cost device time.
absl::StatusOr<ProbeResult> MeasureRounds(Runtime& runtime, BlockDevice& device,
                                          const ProbeBurst& burst, const ProbeRounds& rounds);
/// What rounds of one burst say together: the mean if they are exact, otherwise the lower median or the
/// least of those that were alone, or of all if none was. Changes their order. REQUIRES: `rounds` is not
/// empty.
ProbeResult Together(std::span<ProbeResult> rounds, bool takes_median);

/// The costs of an empty device.
struct DeviceProbe {
  PageCosts costs;         ///< with segments of `segment_bytes`
  uint32_t segment_bytes;  ///< as asked for, or by (6.3)
  bool aligned;  ///< segments begin with stripes of the array only at multiples of their size
};
/// `segment_bytes` 0: 128 KiB on a device that positions in less than 0.25 ms, else chosen by (6.3), a
/// power of two in [128 KiB, 4 MiB]; but at most `most_segment_bytes` and at least
/// `least_segment_bytes`. On an array whole stripes, the next higher number, if that is at most
/// `most_segment_bytes`; on flash at least an erase unit, if that is at most `most_erased_bytes`.
struct ProbedSegment {
  uint32_t segment_bytes = 0;
  uint32_t least_segment_bytes = 0, most_segment_bytes = UINT32_MAX;
  uint32_t most_erased_bytes = UINT32_MAX;
};
/// Measures page writes, page reads, long writes, long reads and a batch with its sync, each by
/// itself, on 512 KiB behind the header area (an array: on whole stripes, which are no shorter). Grows
/// the device to that size. A segment's cost follows from the page and the long request.
absl::StatusOr<DeviceProbe> ProbeDevice(Runtime& runtime, BlockDevice& device, uint32_t page_size,
                                        const ProbedSegment& segment, uint64_t seed);

/// The times of requests that have these costs, in a store with `slots` pages a segment. If the cost of
/// reads is not known, they take as long as writes. If the cost of writes is not known, the result is
/// the initial times. The time of a page read is limited: at least an eighth and at most eight times that
/// of a page write.
RequestTimes RequestTimesOf(const PageCosts& costs, uint32_t page_size, uint32_t slots);

}  // namespace latchkey
