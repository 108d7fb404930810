// Measured costs of the device, the input of the write cost model. A cost is device busy time, not
// latency: in a deep queue, latency is mostly waiting (ARCHITECTURE).
#pragma once

#include <absl/status/statusor.h>

#include <array>
#include <cstdint>

#include "layout/geometry.h"
#include "layout/separate/write_cost_model.h"
#include "storage/device/block_device.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// The result of a short measurement on an empty device. It compares page writes and page reads,
/// several in flight at once, with large writes, and grows the device as far as needed.
struct DeviceProbe {
  PageCosts costs;         ///< with segments of `segment_bytes`
  uint32_t segment_bytes;  ///< as asked for, or (6.3), a power of two
};
/// `segment_bytes` 0: chosen by (6.3), in [256 KiB, 4 MiB] but at most `most_segment_bytes` and at
/// least `least_segment_bytes`.
struct ProbedSegment {
  uint32_t segment_bytes = 0;
  uint32_t least_segment_bytes = 0, most_segment_bytes = UINT32_MAX;
};
absl::StatusOr<DeviceProbe> ProbeDevice(Runtime& runtime, BlockDevice& device, uint32_t page_size,
                                        const ProbedSegment& segment, uint64_t seed);

/// Bytes that the device transfers in the time of one positioning (T_pos * B), computed from the
/// costs of a page written alone and as part of a segment of `slots` pages.
uint64_t PositioningBytes(const PageCosts& costs, uint32_t page_size, uint32_t slots);

/// What the store counts beside the device: totals since it was opened.
struct CostCounts {
  uint64_t live_pages_read = 0;    ///< by the cleaner
  uint64_t live_pages_copied = 0;  ///< got from the pool above instead
  uint64_t protected_pages = 0;    ///< written in place through a doublewrite area
  uint64_t protection_sync_ns = 0;
};

/// Exponentially weighted recent costs, from the device's counters. Each cost is measured by itself:
/// one without recent samples stays as last measured. Thread-safe.
class CostMeter {
 public:
  CostMeter(Runtime& runtime, const BlockDevice& device, const StoreGeometry& geometry,
            const PageCosts& first_estimate);

  /// Adds the device's I/O since the last call; `counts`: now.
  void Sample(const CostCounts& counts);
  /// Costs now; reads are the mean over live pages read and copied.
  PageCosts costs() const;

 private:
  // I/O of one class since it was last enough for a sample.
  struct Window {
    IoClassStats device;
    CostCounts counts;
  };
  IoClassStats Since(IoClass io_class, const DeviceStats& now) const LATCHKEY_REQUIRES(mutex_);
  void End(IoClass io_class, const DeviceStats& now, const CostCounts& counts)
      LATCHKEY_REQUIRES(mutex_);
  void SampleReads(const DeviceStats& now, const CostCounts& counts) LATCHKEY_REQUIRES(mutex_);
  void SampleProtection(const DeviceStats& now, const CostCounts& counts) LATCHKEY_REQUIRES(mutex_);
  const Window& Last(IoClass io_class) const LATCHKEY_REQUIRES(mutex_) {
    return windows_[static_cast<size_t>(io_class)];
  }

  const BlockDevice& device_;
  const uint32_t page_size_;
  mutable Mutex mutex_;
  std::array<Window, kIoClasses> windows_ LATCHKEY_GUARDED_BY(mutex_);  // their beginnings
  PageCosts estimate_ LATCHKEY_GUARDED_BY(mutex_);
  double copied_share_ LATCHKEY_GUARDED_BY(mutex_) = 0;
};

}  // namespace latchkey
