// Service times of the disks as the thesis's separating algorithm uses them (6.2.2): the mean of the most recent
// 10,000 requests of each kind, and the share of the time in which the disks are idle.
//
// A service time is the time that a request takes in a disk, without waiting, summed over the disks of an array. A
// device that does not tell it counts as one disk: then it is the device's busy time, divided among the requests in
// flight.
#pragma once

#include <cstdint>
#include <vector>

#include "storage/device/block_device.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// Not thread-safe.
class ServiceTimes {
 public:
  static constexpr uint64_t kRecentRequests = 10'000;

  /// `disks`: of the device, at least 1.
  ServiceTimes(uint32_t disks, uint32_t page_size);

  /// Notes the device's totals of a moment. Called often: a mean goes over whole intervals between calls.
  void Note(const DeviceStats& stats);
  /// Nanoseconds of service per page, of pages written by themselves and as part of whole segments. 0: no request yet.
  double page_write_ns() const { return MeanOf(pages_); }
  double segment_page_ns() const { return MeanOf(segments_); }
  /// Of the time since the last call, the share in which the disks were idle, [0, 1). `now`, `stats`: of this moment.
  double TakeIdle(const DeviceStats& stats, Nanos now);

 private:
  struct Totals {
    uint64_t requests = 0, bytes = 0;
    Nanos service = 0;
  };
  using Window = std::vector<Totals>;  // oldest first; spans the recent requests

  static Totals TotalsOf(const DeviceStats& stats, IoClass io_class);
  static void NoteIn(Window& window, const Totals& now);
  double MeanOf(const Window& window) const;
  Nanos Busy(const DeviceStats& stats) const;

  const uint32_t disks_, page_size_;
  Window pages_, segments_;
  Nanos idle_since_ = 0, busy_then_ = 0;
};

}  // namespace latchkey
