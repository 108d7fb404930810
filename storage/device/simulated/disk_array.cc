#include "storage/device/simulated/disk_array.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "storage/base/check.h"

namespace latchkey {

DiskArray::DiskArray(std::vector<std::unique_ptr<DiskModel>> disks, DiskSchedule schedule,
                     const RaidMap& map)
    : schedule_(schedule), map_(map) {
  LATCHKEY_CHECK(disks.size() == map.disks());
  for (std::unique_ptr<DiskModel>& disk : disks) disks_.emplace_back(std::move(disk), schedule);
}

std::unique_ptr<DiskArray> DiskArray::Striped(std::vector<std::unique_ptr<DiskModel>> disks,
                                              uint64_t unit_bytes) {
  const RaidMap map(RaidLevel::kRaid0, static_cast<uint32_t>(disks.size()), unit_bytes);
  return std::make_unique<DiskArray>(std::move(disks), DiskSchedule::kFcfs, map);
}

void DiskArray::Start(Nanos now, MediumRequest& request) {
  AdvanceTo(now);
  RaidPlan plan = map_.Plan(request.io);
  if (decides_at_once()) {
    RunAtOnce(request, plan.first);
    return;
  }
  request.second_ = std::move(plan.second);
  Arrive(now_, request, plan.first);
}

void DiskArray::RunAtOnce(MediumRequest& request, const std::vector<DiskIo>& ios) {
  request.done_at = now_;
  for (const DiskIo& io : ios) {
    request.done_at = std::max(request.done_at, disks_[io.disk].Serve(now_, io, totals_));
  }
}

void DiskArray::Arrive(Nanos now, MediumRequest& request, const std::vector<DiskIo>& ios) {
  request.parts_.clear();
  for (const DiskIo& io : ios) request.parts_.push_back({.io = io, .arrived = now});
  request.undecided_ = ios.size();
  for (size_t part = 0; part < ios.size(); ++part) {
    const DiskIo& io = ios[part];
    DiskQueue& disk = disks_[io.disk];
    if (schedule_ == DiskSchedule::kFcfs) {
      Decide(request, part, disk.Serve(now, io, totals_));
      continue;
    }
    const bool idle = !disk.has_waiting() && disk.free_at() <= now;
    disk.Add({.io = io, .arrived = now, .owner = &request, .part = part});
    if (idle) ServeNext(now, io.disk);
  }
}

void DiskArray::ServeNext(Nanos now, uint32_t disk) {
  const DiskQueue::Waiting next = disks_[disk].TakeNext();
  // It starts now, although it arrived earlier; the wait is charged to the queue.
  totals_.stats.queued += now - next.arrived;
  const Nanos done_at = disks_[disk].Serve(now, next.io, totals_);
  PushEvent(done_at, disk, nullptr);
  Decide(*static_cast<MediumRequest*>(next.owner), next.part, done_at);
}

void DiskArray::Decide(MediumRequest& request, size_t part, Nanos done_at) {
  request.parts_[part].done_at = done_at;
  if (--request.undecided_ > 0) return;
  Nanos last = 0;
  for (const MediumRequest::Part& each : request.parts_) last = std::max(last, each.done_at);
  if (request.second_.empty()) {
    request.done_at = last;
  } else {
    PushEvent(last, 0, &request);
  }
}

void DiskArray::AdvanceTo(Nanos now) {
  while (!events_.empty() && events_.top().when <= now) {
    const Event event = events_.top();
    events_.pop();
    now_ = std::max(now_, event.when);
    if (event.request != nullptr) {
      const std::vector<DiskIo> second = std::exchange(event.request->second_, {});
      Arrive(event.when, *event.request, second);
    } else if (disks_[event.disk].has_waiting() && disks_[event.disk].free_at() <= event.when) {
      ServeNext(event.when, event.disk);
    }
  }
  now_ = std::max(now_, now);
}

Nanos DiskArray::NextNews(const MediumRequest& request) const {
  if (request.done_at != kForever) return request.done_at;
  Nanos news = kForever, last = 0;
  for (const MediumRequest::Part& part : request.parts_) {
    if (part.done_at == kForever) news = std::min(news, disks_[part.io.disk].free_at());
    last = std::max(last, part.done_at);
  }
  return request.undecided_ > 0 ? news : last;
}

void DiskArray::PushEvent(Nanos when, uint32_t disk, MediumRequest* request) {
  events_.push({.when = when, .number = event_number_++, .disk = disk, .request = request});
}

uint64_t DiskArray::capacity_bytes() const {
  const uint64_t of_disk = disks_.front().disk().capacity_bytes();
  if (of_disk == UINT64_MAX) return of_disk;
  return of_disk / map_.unit_bytes() * map_.unit_bytes() * map_.data_disks();
}

void DiskArray::DescribeGeometry(DeviceGeometry& geometry) const {
  if (disks_.size() == 1) return;
  geometry.stripe_unit_bytes = map_.unit_bytes();
  geometry.data_disks = map_.data_disks();
}

std::string DiskArray::Describe() const {
  const std::string disk = fmt::format("{}, {}", disks_.front().disk().Describe(),
                                       kDiskSchedules[static_cast<size_t>(schedule_)]);
  if (disks_.size() == 1) return disk;
  return fmt::format("{} of {} disks striped by {} bytes, each {}",
                     kRaidLevels[static_cast<size_t>(map_.level())], disks_.size(),
                     map_.unit_bytes(), disk);
}

}  // namespace latchkey
