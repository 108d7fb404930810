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
  s.hole_page_writes = load(c.hole_page_writes);
  s.appended_page_writes = load(c.appended_page_writes);
  s.cleaner_page_writes = load(c.cleaner_page_writes);
  s.plugged_page_writes = load(c.plugged_page_writes);
  s.cleaner_page_reads = load(c.cleaner_page_reads);
  s.cleaner_pages_copied = load(c.cleaner_pages_copied);
  s.cleaned_segments = load(c.cleaned_segments);
  s.plugged_segments = load(c.plugged_segments);
  s.emptied_slots = (s.cleaned_segments + s.plugged_segments) * core.geometry.slots_per_segment;
  s.emptied_live_pages = load(c.cleaned_live_slots);
  s.protected_page_writes = load(c.protected_page_writes);
  s.protection_bytes = load(c.protection_bytes);
  s.protection_syncs = load(c.protection_syncs);
  s.protection_sync_ns = load(c.protection_sync_ns);
  s.meta_bytes_written = load(c.meta_bytes_written);
  s.writes_again = load(c.writes_again);
  s.meta_bytes_written += checkpointer.journal_bytes_written();
  s.live_pages = directory.map().allocated();
  s.live_bytes = directory.live_slots() * core.geometry.slot_size();
  s.capacity_pages = space.capacity_pages();
  s.file_bytes = core.device.geometry().size_bytes;
  s.excess_bytes = space.ExcessSegments() * uint64_t{core.geometry.segment_size};
  s.space_utilization = space.space_utilization();
  const uint64_t slots = uint64_t{directory.segments().total()} * core.geometry.slots_per_segment;
  s.effective_space_utilization =
      slots == 0 ? 0 : static_cast<double>(directory.live_slots()) / static_cast<double>(slots);
  s.min_space_utilization = space.min_utilization();
  s.max_space_utilization = space.max_utilization();
  s.hot_page_proportion = separator.hot_page_proportion();
  s.cleaning_utilization = cleaner.cleaning_utilization();
  if (costs.eta() > 0) s.segment_io_efficiency = costs.eta();

  const DeviceStats& device = s.device = core.device.stats();
  uint64_t data_bytes = 0;
  Nanos data_busy = 0;
  for (const IoClass io_class : kSlotWrites) {
    data_bytes += device.of(io_class).bytes;
    data_busy += device.of(io_class).busy;
  }
  s.capacities_written =
      s.capacity_pages == 0 ? 0 : data_bytes / (s.capacity_pages * core.geometry.page_size);
  if (s.user_page_writes > 0) {
    const double user_bytes = static_cast<double>(s.user_page_writes) * core.geometry.page_size;
    s.write_amplification =
        static_cast<double>(data_bytes + s.protection_bytes + s.meta_bytes_written) / user_bytes;
    const double write_time = static_cast<double>(
        data_busy + device.of(IoClass::kSegmentRead).busy + device.of(IoClass::kProtection).busy +
        static_cast<Nanos>(s.protection_sync_ns));
    if (costs.page_write_ns > 0) {
      s.write_cost = write_time / static_cast<double>(s.user_page_writes) / costs.page_write_ns;
    }
  }
  return s;
}

}  // namespace latchkey
