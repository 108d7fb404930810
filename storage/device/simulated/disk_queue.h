// DiskQueue: one disk and the requests that wait for it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "storage/device/simulated/disk_model.h"
#include "storage/device/simulated/medium.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// The order in which a disk serves the requests that wait for it.
enum class DiskSchedule : uint8_t {
  kFcfs,  ///< first come, first served
  /// By address: onwards in one direction while requests wait there, then back (SCAN as in thesis
  /// 6.3.3, "based on logical page numbers"; the head turns at the last request, which is also
  /// called LOOK).
  kScan,
};
inline constexpr std::string_view kDiskSchedules[] = {"fcfs", "scan"};  // in that order

/// Not thread-safe.
class DiskQueue {
 public:
  DiskQueue(std::unique_ptr<DiskModel> disk, DiskSchedule schedule)
      : disk_(std::move(disk)), schedule_(schedule) {}

  DiskSchedule schedule() const { return schedule_; }
  const DiskModel& disk() const { return *disk_; }
  /// The end of the request that is being served, and of all before it.
  Nanos free_at() const { return free_at_; }

  /// Serves `io`, which arrived at `arrived`, as soon as the disk is free; returns its end. With
  /// kFcfs, call it for each request on its arrival.
  Nanos Serve(Nanos arrived, const DiskIo& io, MediumTotals& totals);

  /// kScan: a request in the queue; `owner` and `part` are the caller's.
  struct Waiting {
    DiskIo io;
    Nanos arrived = 0;
    void* owner = nullptr;
    size_t part = 0;
  };
  void Add(const Waiting& request);
  bool has_waiting() const { return !waiting_.empty(); }
  /// REQUIRES: has_waiting().
  Waiting TakeNext();

 private:
  std::unique_ptr<DiskModel> disk_;
  const DiskSchedule schedule_;
  Nanos free_at_ = 0;
  uint64_t position_ = 0;  // end of the last request
  bool upwards_ = true;
  uint64_t arrivals_ = 0;
  // By offset, equal ones in the order of arrival.
  std::map<std::pair<uint64_t, uint64_t>, Waiting> waiting_;
};

}  // namespace latchkey
