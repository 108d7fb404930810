// The true mean costs of the simulated devices, from their parameters. Tests compare with them what
// the layouts measure.
#pragma once

#include <cstdint>

#include "storage/device/device_list.h"

namespace latchkey {

/// Nanoseconds of device time, summed over the disks of an array: the mean of IoClassStats::service
/// per request.
struct ExpectedCosts {
  double page_read_ns = 0, page_write_ns = 0;        ///< one page at a random place
  double segment_read_ns = 0, segment_write_ns = 0;  ///< one whole segment at a random place
};

struct CostQuestion {
  uint64_t page_bytes = 4096;        ///< divides the stripe unit
  uint64_t segment_bytes = 1 << 20;  ///< places are multiples of it; RAID-5: of full stripes
  /// Places are random in so many bytes at the beginning of the device. 0: on the whole device.
  uint64_t span_bytes = 0;
};

/// T_pos + n/B for each single-disk I/O of a request, where T_pos is a mean seek over the span and
/// half a revolution (thesis 6.1), or the fixed time. Exact for requests that a disk serves in the
/// order of their arrival, each at a random place. SCAN shortens the seeks.
///
/// RAID-5 page writes are four such I/O (the small-write formula: 4 (n-1)/n times the cost ratio of
/// RAID-0). That is exact for `fixed`, and for mechanical disks if other requests move the heads
/// between the reads and the writes of one request. On an idle array the writes need no seek and
/// cost less.
///
/// Flash: the time that the request occupies the device, without garbage collection.
/// REQUIRES: spec.is_simulated().
ExpectedCosts ExpectedCostsOf(const DeviceSpec& spec, const CostQuestion& question);

}  // namespace latchkey
