// The true costs of page writes and segment writes on a simulated device under the load of a run, in
// exact service times. A layout's measured segment I/O efficiency is compared with them.
//
// ExpectedCostsOf (storage/device/simulated) computes costs from the parameters alone, for requests
// in the order of their arrival. This adds what the load changes: SCAN shortens the seeks when many
// requests wait, and flash collects garbage.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>

#include "storage/device/device_list.h"

namespace latchkey {

struct LoadedCostsQuestion {
  DeviceSpec device;
  uint64_t page_bytes = 4096;
  uint64_t segment_bytes = 1 << 20;
  uint64_t span_bytes = 1 << 30;  ///< requests are in so many bytes
  double page_share = 1;          ///< pages are in the first part of them, which has this share
  uint32_t users = 1;
  double reads_per_write = 0;
  uint64_t seed = 42;

  friend bool operator==(const LoadedCostsQuestion& a, const LoadedCostsQuestion& b) {
    return CanonicalDeviceSpec(a.device) == CanonicalDeviceSpec(b.device) &&
           a.page_bytes == b.page_bytes && a.segment_bytes == b.segment_bytes &&
           a.span_bytes == b.span_bytes && a.page_share == b.page_share && a.users == b.users &&
           a.reads_per_write == b.reads_per_write && a.seed == b.seed;
  }
};

/// Nanoseconds of service, summed over the disks, per page.
struct LoadedCosts {
  double page_write_ns = 0;
  double segment_write_ns = 0;  ///< of a whole segment, divided by its pages

  /// The thesis's eta (6.1).
  double eta() const { return page_write_ns / segment_write_ns; }
};

/// Two closed systems, in virtual time, on fresh devices: `users` users read and write random pages;
/// and one writes random segments while the other users read random pages. Flash is written full
/// first. Segments begin at multiples of their size.
/// REQUIRES: question.device is simulated, and no simulation runs. Errors: the device's.
absl::StatusOr<LoadedCosts> MeasureLoadedCosts(const LoadedCostsQuestion& question);

}  // namespace latchkey
