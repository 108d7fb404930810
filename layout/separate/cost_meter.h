// Measured costs of the device, the input of the write cost model. A cost is device busy time, not
// latency: in a deep queue, latency is mostly waiting (ARCHITECTURE).
#pragma once

#include <array>
#include <cstdint>

#include "layout/geometry.h"
#include "layout/separate/device_probe.h"
#include "layout/separate/probed_cost.h"
#include "layout/separate/write_cost_model.h"
#include "storage/device/block_device.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// Kinds of I/O whose costs are measured apart.
enum class CostKind : uint8_t { kPageWrite, kSegmentWrite, kPageRead, kSegmentRead, kProtection };
inline constexpr size_t kCostKinds = 5;

/// What the store counts beside the device: totals since it was opened.
struct CostCounts {
  uint64_t live_pages_read = 0;    ///< by the cleaner
  uint64_t live_pages_copied = 0;  ///< got from the pool above instead
  uint64_t protected_pages = 0;    ///< written in place through a doublewrite area
  uint64_t protection_sync_ns = 0;
};

/// Recent costs. Samples of the device's counters are weighted exponentially. Those kinds of I/O that
/// the store itself rarely makes are probed (ProbedCost). Each cost is measured by itself: one without
/// recent samples stays as last measured. The first sample of a cost replaces the first estimate,
/// which may be of an earlier open. Thread-safe.
class CostMeter {
 public:
  CostMeter(Runtime& runtime, const BlockDevice& device, const StoreGeometry& geometry,
            const PageCosts& first_estimate);

  /// Adds the device's I/O since the last call; `counts`: now.
  void Sample(const CostCounts& counts);
  /// Adds a probe of `kind`. Its `request_ns` is the time of a page, of a whole segment, or of the
  /// protection of a page. `replaces`: the old estimate is worth nothing, for instance because it is
  /// of an earlier open.
  void AddProbe(CostKind kind, const ProbeResult& probe, bool replaces);
  /// Device time since this kind was last sampled, by the store's own I/O or by a probe.
  double NanosSinceSample(CostKind kind) const;
  /// Costs now.
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
  void NoteSample(CostKind kind, double* estimate, double fresh, double device_ns)
      LATCHKEY_REQUIRES(mutex_);
  void NoteProbe(CostKind kind, double* estimate, const ProbeResult& probe, double fresh,
                 bool replaces, double device_ns) LATCHKEY_REQUIRES(mutex_);
  void SampleParts(const DeviceStats& now, const CostCounts& counts) LATCHKEY_REQUIRES(mutex_);
  void SampleReads(const DeviceStats& now, const CostCounts& counts) LATCHKEY_REQUIRES(mutex_);
  void SampleProtection(const DeviceStats& now, const CostCounts& counts) LATCHKEY_REQUIRES(mutex_);
  void SampleCollection(const DeviceStats& now) LATCHKEY_REQUIRES(mutex_);
  void ForgetPagesAlone(uint32_t pages, uint64_t plugged) LATCHKEY_REQUIRES(mutex_);
  const Window& Last(IoClass io_class) const LATCHKEY_REQUIRES(mutex_) {
    return windows_[static_cast<size_t>(io_class)];
  }

  const BlockDevice& device_;
  const uint32_t page_size_;
  /// The device is flash, and a segment fills its erase units. The pages of such a unit die together, so
  /// segments cause no garbage collection: pages that are written by themselves are charged for all.
  const bool charges_collection_;
  mutable Mutex mutex_;
  std::array<Window, kIoClasses> windows_ LATCHKEY_GUARDED_BY(mutex_);       // their beginnings
  std::array<double, kCostKinds> sampled_at_ LATCHKEY_GUARDED_BY(mutex_){};  // device time
  std::array<bool, kCostKinds> is_sampled_ LATCHKEY_GUARDED_BY(mutex_){};
  std::array<ProbedCost, kCostKinds> probed_ LATCHKEY_GUARDED_BY(mutex_);
  // Until the last sample: garbage collection of the device, and pages written by themselves.
  Nanos collected_ LATCHKEY_GUARDED_BY(mutex_) = 0;
  uint64_t pages_alone_ LATCHKEY_GUARDED_BY(mutex_) = 0;
  uint64_t plugged_ LATCHKEY_GUARDED_BY(mutex_) = 0;        // at the last probe of a page
  uint64_t pages_written_ LATCHKEY_GUARDED_BY(mutex_) = 0;  // of any kind
  PageCosts estimate_ LATCHKEY_GUARDED_BY(mutex_);
};

}  // namespace latchkey
