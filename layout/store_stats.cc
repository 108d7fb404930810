#include "layout/store_stats.h"

#include <atomic>

namespace latchkey {

PageStoreStats CollectStats(const PageDirectory& directory, const SpaceManager& space,
                            const MapCheckpointer& checkpointer, const Separator& separator,
                            const SegmentCleaner& cleaner, const PageCosts& costs) {
  const StoreCore& core = directory.core();
  const auto load = [](const std::atomic<uint64_t>& counter) {
    return counter.load(std::memory_order_relaxed);
  };
  const StoreCounters& c = core.counters;
  PageStoreStats s;
  s.page_reads = load(c.page_reads);
  s.user_page_writes = load(c.user_page_writes);
  s.in_place_page_writes = load(c.in_place_page_writes);
  s.appended_page_writes = load(c.appended_page_writes);
  s.cleaner_page_writes = load(c.cleaner_page_writes);
  s.cleaner_page_reads = load(c.cleaner_page_reads);
  s.cleaned_segments = load(c.cleaned_segments);
  s.plugged_segments = load(c.plugged_segments);
  s.meta_bytes_written = load(c.meta_bytes_written);
  s.writes_again = load(c.writes_again);
  s.meta_bytes_written += checkpointer.journal_bytes_written();
  s.live_pages = directory.map().allocated();
  s.capacity_pages = space.capacity_pages();
  s.file_bytes = core.device.geometry().size_bytes;
  s.space_utilization = space.space_utilization();
  s.min_space_utilization = space.min_utilization();
  s.max_space_utilization = space.max_utilization();
  s.hot_page_proportion = separator.hot_page_proportion();
  s.cleaning_utilization = cleaner.cleaning_utilization();
  if (costs.eta() > 0) s.segment_io_efficiency = costs.eta();

  const DeviceStats device = core.device.stats();
  const IoClassStats& page_writes = device.of(IoClass::kPageWrite);
  const IoClassStats& segment_writes = device.of(IoClass::kSegmentWrite);
  const uint64_t data_bytes = page_writes.bytes + segment_writes.bytes;
  s.capacities_written =
      s.capacity_pages == 0 ? 0 : data_bytes / (s.capacity_pages * core.geometry.page_size);
  if (s.user_page_writes > 0) {
    const double user_bytes = static_cast<double>(s.user_page_writes) * core.geometry.page_size;
    s.write_amplification = static_cast<double>(data_bytes + s.meta_bytes_written) / user_bytes;
    const double write_time = static_cast<double>(page_writes.busy + segment_writes.busy +
                                                  device.of(IoClass::kSegmentRead).busy);
    if (costs.page_write_ns > 0) {
      s.write_cost = write_time / static_cast<double>(s.user_page_writes) / costs.page_write_ns;
    }
  }
  return s;
}

}  // namespace latchkey
