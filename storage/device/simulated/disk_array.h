// DiskArray: one or more disks behind a RaidMap. The content of parity is not kept, because a
// device keeps its content elsewhere; the I/O of parity takes its time.
#pragma once

#include <cstdint>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "storage/device/simulated/disk_queue.h"
#include "storage/device/simulated/medium.h"
#include "storage/device/simulated/raid_map.h"

namespace latchkey {

/// Not thread-safe. A request is done when the last of its single-disk I/O is.
class DiskArray final : public SimulatedMedium {
 public:
  /// REQUIRES: as many disks as `map` has, all of the same capacity.
  DiskArray(std::vector<std::unique_ptr<DiskModel>> disks, DiskSchedule schedule,
            const RaidMap& map);
  /// RAID-0 with FCFS, as in chapter 4 of the thesis.
  static std::unique_ptr<DiskArray> Striped(std::vector<std::unique_ptr<DiskModel>> disks,
                                            uint64_t unit_bytes);

  bool decides_at_once() const override {
    return schedule_ == DiskSchedule::kFcfs && map_.level() == RaidLevel::kRaid0;
  }
  void Start(Nanos now, MediumRequest& request) override;
  void AdvanceTo(Nanos now) override;
  Nanos NextNews(const MediumRequest& request) const override;

  uint64_t capacity_bytes() const override;
  void DescribeGeometry(DeviceGeometry& geometry) const override;
  MediumTotals totals() const override { return totals_; }
  std::string Describe() const override;

 private:
  // A disk becomes free (`request` is null), or the first I/O of `request` is done.
  struct Event {
    Nanos when = 0;
    uint64_t number = 0;  // orders events of one moment
    uint32_t disk = 0;
    MediumRequest* request = nullptr;
    bool operator>(const Event& other) const {
      return when != other.when ? when > other.when : number > other.number;
    }
  };

  void RunAtOnce(MediumRequest& request, const std::vector<DiskIo>& ios);
  void Arrive(Nanos now, MediumRequest& request, const std::vector<DiskIo>& ios);
  void ServeNext(Nanos now, uint32_t disk);
  void Decide(MediumRequest& request, size_t part, Nanos done_at);
  void PushEvent(Nanos when, uint32_t disk, MediumRequest* request);

  const DiskSchedule schedule_;
  const RaidMap map_;
  std::vector<DiskQueue> disks_;
  Nanos now_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  uint64_t event_number_ = 0;
  MediumTotals totals_;
};

}  // namespace latchkey
