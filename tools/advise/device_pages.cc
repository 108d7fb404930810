#include "tools/advise/device_pages.h"

#include <algorithm>
#include <cmath>

#include "storage/base/status_macros.h"
#include "tools/layout_lab/loaded_costs.h"

namespace latchkey {
namespace {

// The time of a page's transfer, ns: S sw = T_pos + S t and T_pg = T_pos + t.
double TransferNanos(const PageCosts& costs) {
  const double slots = costs.slots_per_segment;
  return (slots * costs.segment_write_ns - costs.page_write_ns) / (slots - 1);
}

}  // namespace

DevicePages WithSegments(const DevicePages& of, uint64_t segment_bytes) {
  DevicePages other = of;
  other.segment_bytes = segment_bytes;
  PageCosts& costs = other.costs;
  const double slots = costs.slots_per_segment;
  const auto other_slots = static_cast<double>(segment_bytes / of.page_bytes);
  const double transfer = std::clamp(TransferNanos(costs), 0.0, costs.segment_write_ns);
  const double positioning = slots * (costs.segment_write_ns - transfer);
  costs.segment_write_ns = transfer + positioning / other_slots;
  costs.slots_per_segment = static_cast<uint32_t>(other_slots);
  return other;
}

DeviceSpec DiskOfCosts(const DevicePages& of) {
  const PageCosts& costs = of.costs;
  const double transfer =
      std::clamp(TransferNanos(costs), 0.01 * costs.page_write_ns, costs.page_write_ns);
  DeviceSpec disk;
  disk.kind = DeviceSpec::Kind::kFixed;
  disk.service =
      std::max<Nanos>(1, static_cast<Nanos>(std::llround(costs.page_write_ns - transfer)));
  disk.bytes_per_second = std::max<uint64_t>(
      1, static_cast<uint64_t>(std::llround(of.page_bytes / transfer * kNanosPerSecond)));
  return disk;
}

absl::StatusOr<DevicePages> UnderLoad(const DeviceSpec& device, const DevicePages& of,
                                      const DeviceLoad& load) {
  LATCHKEY_ASSIGN_OR_RETURN(const LoadedCosts loaded,
                            MeasureLoadedCosts({.device = device,
                                                .page_bytes = of.page_bytes,
                                                .segment_bytes = of.segment_bytes,
                                                .span_bytes = load.span_bytes,
                                                .users = load.users,
                                                .reads_per_write = load.reads_per_write,
                                                .seed = load.seed}));
  DevicePages result = of;
  PageCosts& costs = result.costs;
  const double factor = device.is_array() ? loaded.page_write_ns / costs.page_write_ns : 1;
  costs.page_write_ns = loaded.page_write_ns;
  costs.segment_write_ns = loaded.segment_write_ns;
  for (double PageCosts::*cost :
       {&PageCosts::page_read_ns, &PageCosts::segment_read_ns, &PageCosts::protection_ns}) {
    costs.*cost *= factor;
  }
  return result;
}

}  // namespace latchkey
