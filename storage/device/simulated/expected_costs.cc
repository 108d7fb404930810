#include "storage/device/simulated/expected_costs.h"

#include <algorithm>

#include "storage/base/check.h"

namespace latchkey {
namespace {

using Op = IoRequest::Op;

struct DiskCosts {
  double positioning_ns = 0;
  double ns_per_byte = 0;
};

DiskCosts CostsOfOneDisk(const DeviceSpec& spec, uint64_t span_on_disk) {
  if (spec.kind == DeviceSpec::Kind::kFixed) {
    const auto rate = static_cast<double>(spec.bytes_per_second);
    return {static_cast<double>(spec.service), rate > 0 ? kNanosPerSecond / rate : 0};
  }
  const MechanicalDiskParameters& disk = *spec.mechanics;
  const double share = static_cast<double>(span_on_disk) / static_cast<double>(disk.capacity_bytes);
  const auto cylinders = static_cast<uint64_t>(std::min(share, 1.0) * disk.cylinders + 0.5);
  const double seek_ms = SeekCurve(disk).MeanMilliseconds(cylinders);
  return {(seek_ms + disk.revolution_ms() / 2) * kNanosPerMilli,
          kNanosPerSecond / static_cast<double>(disk.bytes_per_second)};
}

// The sum over the single-disk I/O of a request at offset 0.
double CostOf(const RaidMap& map, const DiskCosts& disk, Op op, uint64_t length) {
  const RaidPlan plan = map.Plan({.op = op, .offset = 0, .length = length});
  double cost = 0;
  for (const std::vector<DiskIo>* ios : {&plan.first, &plan.second}) {
    for (const DiskIo& io : *ios) {
      cost += disk.positioning_ns + static_cast<double>(io.length) * disk.ns_per_byte;
    }
  }
  return cost;
}

}  // namespace

ExpectedCosts ExpectedCostsOf(const DeviceSpec& spec, const CostQuestion& question) {
  LATCHKEY_CHECK(spec.is_simulated());
  const uint64_t page = question.page_bytes, segment = question.segment_bytes;
  if (spec.kind == DeviceSpec::Kind::kFlash) {
    return {.page_read_ns = spec.flash.OccupancyNanos(Op::kRead, page),
            .page_write_ns = spec.flash.OccupancyNanos(Op::kWrite, page),
            .segment_read_ns = spec.flash.OccupancyNanos(Op::kRead, segment),
            .segment_write_ns = spec.flash.OccupancyNanos(Op::kWrite, segment)};
  }
  const RaidMap map(spec.raid, spec.disks, spec.stripe_bytes);
  const uint64_t span = question.span_bytes == 0 ? UINT64_MAX : question.span_bytes;
  const DiskCosts disk = CostsOfOneDisk(spec, span / map.data_disks());
  return {.page_read_ns = CostOf(map, disk, Op::kRead, page),
          .page_write_ns = CostOf(map, disk, Op::kWrite, page),
          .segment_read_ns = CostOf(map, disk, Op::kRead, segment),
          .segment_write_ns = CostOf(map, disk, Op::kWrite, segment)};
}

}  // namespace latchkey
