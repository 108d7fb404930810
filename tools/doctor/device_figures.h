// Measures a device with the requests that Latchkey makes: pages at several depths, segments, syncs.
#pragma once

#include <absl/status/statusor.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "layout/separate/device_probe.h"
#include "storage/device/block_device.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// Requests of one kind and size, `depth` in flight.
struct Timing {
  uint32_t depth = 1;
  uint32_t bytes = 0;  ///< of each request
  uint64_t requests = 0;
  double per_second = 0;
  double p50_us = 0, p99_us = 0;
  double mb_per_second() const { return per_second * bytes / 1e6; }
};

struct DeviceFigures {
  uint64_t file_bytes = 0;
  double fill_mb_per_second = 0;       ///< of the file's first write, from its begin to its end
  std::vector<Timing> page_reads;      ///< at random places, one for each of kDepths
  std::vector<Timing> page_writes;     ///< as page_reads
  std::vector<Timing> segment_writes;  ///< one for each of kSegments, 2 in flight
  Timing sync_after_write;             ///< a page is written, then synced; the sync's time alone
  Timing empty_sync;                   ///< nothing was written since the sync before
  DeviceProbe probe;                   ///< what a new database would measure
};

inline constexpr uint32_t kExaminedPage = 4096;
inline constexpr uint32_t kDepths[] = {1, 4, 16, 64};
inline constexpr uint32_t kSegments[] = {256u << 10, 1u << 20, 4u << 20};
/// Bytes of the file: at least this many.
inline constexpr uint64_t kLeastExamined = uint64_t{16} << 20;

struct ExaminationPlan {
  Nanos time = 10 * kNanosPerSecond;     ///< about; one request or one step of growth may exceed it
  uint64_t bytes = uint64_t{256} << 20;  ///< most bytes of the file
  const std::atomic<bool>* stop = nullptr;  ///< becomes true: Cancelled
  std::function<void(std::string_view)> progress = nullptr;
};
/// Grows the empty `device` to at most plan.bytes, and measures. A device so slow that the growth
/// takes a fifth of the time is measured on fewer bytes. InvalidArgument: bytes below kLeastExamined.
/// ResourceExhausted: no space. Others: the device's.
absl::StatusOr<DeviceFigures> MeasureDevice(Runtime& runtime, BlockDevice& device,
                                            const ExaminationPlan& plan);

}  // namespace latchkey
