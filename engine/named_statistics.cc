// ListStatistics: the figures of Statistics by their names.
#include <optional>
#include <type_traits>
#include <vector>

#include "engine/latchkey.h"

namespace latchkey {
namespace {

NamedStatistic Named(std::string_view name, uint64_t value) {
  return {name, true, true, value, static_cast<double>(value)};
}
NamedStatistic Named(std::string_view name, double value) { return {name, true, false, 0, value}; }
NamedStatistic Named(std::string_view name, std::optional<double> value) {
  return {name, value.has_value(), false, 0, value.value_or(0)};
}
/// A figure of a part that is not there.
template <typename Value>
NamedStatistic Unmeasured(std::string_view name, Value) {
  return {name, false, std::is_same_v<Value, uint64_t>, 0, 0};
}

// A build that stops here has a figure that the lists below lack. Add its line, then the new size.
static_assert(sizeof(Statistics::Log) == 7 * 8 && sizeof(Statistics::Recovery) == 10 * 8);
static_assert(sizeof(Statistics) == 664 + 28 * 8);

#define LATCHKEY_FIGURE(member) Named(#member, statistics.member)
#define LATCHKEY_LOG_FIGURE(member)                              \
  statistics.log ? Named("log." #member, statistics.log->member) \
                 : Unmeasured("log." #member, Statistics::Log().member)
#define LATCHKEY_RECOVERY_FIGURE(member)                                        \
  statistics.recovery ? Named("recovery." #member, statistics.recovery->member) \
                      : Unmeasured("recovery." #member, Statistics::Recovery().member)

}  // namespace

std::vector<NamedStatistic> ListStatistics(const Statistics& statistics) {
  return {
      LATCHKEY_FIGURE(fixes),
      LATCHKEY_FIGURE(hits),
      LATCHKEY_FIGURE(misses),
      LATCHKEY_FIGURE(leaf_fixes),
      LATCHKEY_FIGURE(inner_fixes),
      LATCHKEY_FIGURE(scouting_fixes),
      LATCHKEY_FIGURE(demand_reads),
      LATCHKEY_FIGURE(ahead_reads),
      LATCHKEY_FIGURE(wasted_reads),
      LATCHKEY_FIGURE(redo_reads),
      LATCHKEY_FIGURE(new_pages),
      LATCHKEY_FIGURE(failed_page_ins),
      LATCHKEY_FIGURE(sync_page_writes),
      LATCHKEY_FIGURE(async_page_writes),
      LATCHKEY_FIGURE(frames),
      LATCHKEY_FIGURE(free_frames),
      LATCHKEY_FIGURE(dirty_frames),
      LATCHKEY_FIGURE(cleaner_outstanding),
      LATCHKEY_FIGURE(longest_frame_wait_ns),
      LATCHKEY_FIGURE(policy_lock_acquisitions),
      LATCHKEY_FIGURE(policy_lock_contentions),
      LATCHKEY_FIGURE(commits),
      LATCHKEY_FIGURE(rollbacks),
      LATCHKEY_FIGURE(conflicts),
      LATCHKEY_FIGURE(deadlocks),
      LATCHKEY_FIGURE(serialization_failures),
      LATCHKEY_FIGURE(snapshots_too_old),
      LATCHKEY_FIGURE(versions),
      LATCHKEY_FIGURE(version_bytes),
      LATCHKEY_FIGURE(version_bytes_bound),
      LATCHKEY_FIGURE(version_bytes_spilled),
      LATCHKEY_FIGURE(oldest_snapshot_age),
      LATCHKEY_FIGURE(page_reads),
      LATCHKEY_FIGURE(user_page_writes),
      LATCHKEY_FIGURE(in_place_page_writes),
      LATCHKEY_FIGURE(hole_page_writes),
      LATCHKEY_FIGURE(appended_page_writes),
      LATCHKEY_FIGURE(cleaner_page_writes),
      LATCHKEY_FIGURE(cleaned_segments),
      LATCHKEY_FIGURE(plugged_segments),
      LATCHKEY_FIGURE(plugged_page_writes),
      LATCHKEY_FIGURE(emptied_slots),
      LATCHKEY_FIGURE(emptied_live_pages),
      LATCHKEY_FIGURE(protection_bytes),
      LATCHKEY_FIGURE(protection_syncs),
      LATCHKEY_FIGURE(protection_sync_s),
      LATCHKEY_FIGURE(live_bytes),
      LATCHKEY_FIGURE(file_bytes),
      LATCHKEY_FIGURE(space_utilization),
      LATCHKEY_FIGURE(min_space_utilization),
      LATCHKEY_FIGURE(max_space_utilization),
      LATCHKEY_FIGURE(effective_space_utilization),
      LATCHKEY_FIGURE(capacities_written),
      LATCHKEY_FIGURE(write_cost),
      LATCHKEY_FIGURE(segment_io_efficiency),
      LATCHKEY_FIGURE(cleaning_utilization),
      LATCHKEY_FIGURE(hot_page_proportion),
      LATCHKEY_FIGURE(write_amplification),
      LATCHKEY_FIGURE(reads),
      LATCHKEY_FIGURE(writes),
      LATCHKEY_FIGURE(bytes_read),
      LATCHKEY_FIGURE(bytes_written),
      LATCHKEY_FIGURE(syncs),
      LATCHKEY_FIGURE(device_busy_s),
      LATCHKEY_FIGURE(mean_reads_in_flight),
      LATCHKEY_FIGURE(page_read_busy_s),
      LATCHKEY_FIGURE(page_write_busy_s),
      LATCHKEY_FIGURE(segment_read_busy_s),
      LATCHKEY_FIGURE(segment_write_busy_s),
      LATCHKEY_FIGURE(protection_busy_s),
      LATCHKEY_FIGURE(meta_busy_s),
      LATCHKEY_FIGURE(probe_busy_s),
      LATCHKEY_FIGURE(page_read_requests),
      LATCHKEY_FIGURE(page_read_bytes),
      LATCHKEY_FIGURE(page_write_requests),
      LATCHKEY_FIGURE(page_write_bytes),
      LATCHKEY_FIGURE(segment_reads),
      LATCHKEY_FIGURE(segment_read_bytes),
      LATCHKEY_FIGURE(segment_writes),
      LATCHKEY_FIGURE(segment_write_bytes),
      LATCHKEY_FIGURE(protection_writes),
      LATCHKEY_FIGURE(meta_requests),
      LATCHKEY_FIGURE(meta_bytes),
      LATCHKEY_FIGURE(probe_requests),
      LATCHKEY_FIGURE(probe_bytes),
      LATCHKEY_FIGURE(memory_bytes),
      LATCHKEY_FIGURE(cache_bytes),
      LATCHKEY_LOG_FIGURE(records),
      LATCHKEY_LOG_FIGURE(record_bytes),
      LATCHKEY_LOG_FIGURE(groups),
      LATCHKEY_LOG_FIGURE(group_bytes),
      LATCHKEY_LOG_FIGURE(syncs),
      LATCHKEY_LOG_FIGURE(file_bytes),
      LATCHKEY_LOG_FIGURE(checkpoints),
      LATCHKEY_RECOVERY_FIGURE(layout_s),
      LATCHKEY_RECOVERY_FIGURE(log_read_s),
      LATCHKEY_RECOVERY_FIGURE(redo_s),
      LATCHKEY_RECOVERY_FIGURE(undo_s),
      LATCHKEY_RECOVERY_FIGURE(checkpoint_s),
      LATCHKEY_RECOVERY_FIGURE(log_bytes),
      LATCHKEY_RECOVERY_FIGURE(log_records),
      LATCHKEY_RECOVERY_FIGURE(redone_changes),
      LATCHKEY_RECOVERY_FIGURE(undone_changes),
      LATCHKEY_RECOVERY_FIGURE(repaired_pages),
  };
}

#undef LATCHKEY_FIGURE
#undef LATCHKEY_LOG_FIGURE
#undef LATCHKEY_RECOVERY_FIGURE

}  // namespace latchkey
