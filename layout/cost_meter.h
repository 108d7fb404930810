// Measured costs of the device, in busy time (ARCHITECTURE: cost is busy time, not latency at
// depth), as the write cost model takes them.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>

#include "layout/write_cost_model.h"
#include "storage/device/block_device.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// A short measurement on the first bytes of a device that holds nothing yet: page writes and reads
/// at some depth against large writes. Grows the device to what it needs.
struct DeviceProbe {
  PageCosts costs;                   ///< with segment writes of `segment_bytes`
  uint32_t preferred_segment_bytes;  ///< (6.3), a power of two in [256 KiB, 4 MiB]
};
absl::StatusOr<DeviceProbe> ProbeDevice(Runtime& runtime, BlockDevice& device, uint32_t page_size,
                                        uint64_t seed);

/// Bytes that the device transfers in the time of one positioning (T_pos * B), from the costs of a
/// page alone and in a segment.
uint64_t PositioningBytes(const PageCosts& costs, uint32_t page_size);

/// Exponentially weighted costs of the recent past, from what the device counted. A cost of which
/// nothing was seen lately follows the others in proportion, so that their ratio stays what it was
/// when both were measured. Thread-safe.
class CostMeter {
 public:
  CostMeter(Runtime& runtime, const BlockDevice& device, uint32_t page_size,
            const PageCosts& first_estimate);

  /// Takes in what the device did since the last call. `copied_share` of the cleaner's live pages
  /// came from memory and cost no read.
  void Sample(double copied_share);
  /// Costs now; `segment_read_ns` is the mean over read and copied pages.
  PageCosts costs() const;

 private:
  const BlockDevice& device_;
  const uint32_t page_size_;
  mutable Mutex mutex_;
  DeviceStats last_;
  PageCosts estimate_;
  double copied_share_ = 0;
};

}  // namespace latchkey
