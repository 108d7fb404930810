// Measured costs of the device, the input of the write cost model. A cost is device busy time, not
// latency: in a deep queue, latency is mostly waiting (ARCHITECTURE).
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>

#include "layout/separate/write_cost_model.h"
#include "storage/device/block_device.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// The result of a short measurement on an empty device. It compares page writes and page reads,
/// several in flight at once, with large writes, and grows the device as far as needed.
struct DeviceProbe {
  PageCosts costs;                   ///< with segment writes of `segment_bytes`
  uint32_t preferred_segment_bytes;  ///< (6.3), a power of two in [256 KiB, 4 MiB]
};
absl::StatusOr<DeviceProbe> ProbeDevice(Runtime& runtime, BlockDevice& device, uint32_t page_size,
                                        uint64_t seed);

/// Bytes that the device transfers in the time of one positioning (T_pos * B), computed from the
/// costs of a page written alone and as part of a segment.
uint64_t PositioningBytes(const PageCosts& costs, uint32_t page_size);

/// Exponentially weighted recent costs, from the device's counters. A cost without recent samples
/// changes in proportion to the other costs, so its ratio to them stays as last measured.
/// Thread-safe.
class CostMeter {
 public:
  CostMeter(Runtime& runtime, const BlockDevice& device, uint32_t page_size,
            const PageCosts& first_estimate);

  /// Adds the device's I/O since the last call. `copied_share` of the cleaner's live pages came
  /// from memory and cost no read.
  void Sample(double copied_share);
  /// Costs now; `segment_read_ns` is the mean over read and copied pages.
  PageCosts costs() const;

 private:
  const BlockDevice& device_;
  const uint32_t page_size_;
  mutable Mutex mutex_;
  DeviceStats last_ LATCHKEY_GUARDED_BY(mutex_);
  PageCosts estimate_ LATCHKEY_GUARDED_BY(mutex_);
  double copied_share_ LATCHKEY_GUARDED_BY(mutex_) = 0;
};

}  // namespace latchkey
