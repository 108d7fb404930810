#include "storage/device/simulated/disk_queue.h"

#include <algorithm>
#include <iterator>

#include "storage/base/check.h"

namespace latchkey {

Nanos DiskQueue::Serve(Nanos arrived, const DiskIo& io, MediumTotals& totals) {
  const Nanos start = std::max(free_at_, arrived);
  const ServiceTime time = disk_->Serve(start, io);
  const Nanos total = time.total();
  const bool sequential = io.offset == position_;
  free_at_ = start + total;
  position_ = io.offset + io.length;

  MediumStats& stats = totals.stats;
  DiskIoStats& kind = io.op == IoRequest::Op::kRead
                          ? (sequential ? stats.sequential_reads : stats.random_reads)
                          : (sequential ? stats.sequential_writes : stats.random_writes);
  ++kind.requests;
  kind.bytes += io.length;
  kind.service += total;
  stats.queued += start - arrived;
  stats.seek += time.seek;
  stats.rotation += time.rotation;
  stats.transfer += time.transfer;
  stats.cylinders_crossed += time.cylinders;
  totals.service[static_cast<size_t>(io.io_class)] += total;
  return free_at_;
}

void DiskQueue::Add(const Waiting& request) {
  waiting_.emplace(std::pair(request.io.offset, arrivals_++), request);
}

DiskQueue::Waiting DiskQueue::TakeNext() {
  LATCHKEY_CHECK(has_waiting());
  auto next = waiting_.lower_bound({position_, 0});  // the first at or above the head
  if (upwards_ ? next == waiting_.end() : next == waiting_.begin()) upwards_ = !upwards_;
  if (!upwards_) next = std::prev(next);
  const Waiting request = next->second;
  waiting_.erase(next);
  return request;
}

}  // namespace latchkey
