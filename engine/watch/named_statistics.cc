// ListStatistics: the figures of Statistics by their names, each with its kind and a line about it.
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "engine/latchkey.h"

namespace latchkey {
namespace {

NamedStatistic Named(NamedStatistic named, uint64_t value) {
  named.measured = named.is_integer = true;
  named.integer = value;
  named.real = static_cast<double>(value);
  return named;
}
NamedStatistic Named(NamedStatistic named, double value) {
  named.measured = true;
  named.real = value;
  return named;
}
NamedStatistic Named(NamedStatistic named, std::optional<double> value) {
  named.measured = value.has_value();
  named.real = value.value_or(0);
  return named;
}
/// A figure of a part that is not there.
template <typename Value>
NamedStatistic Unmeasured(NamedStatistic named, Value) {
  named.is_integer = std::is_same_v<Value, uint64_t>;
  return named;
}
NamedStatistic Of(std::string_view name, bool is_counter, std::string_view help) {
  NamedStatistic named;
  named.name = name;
  named.is_counter = is_counter;
  named.help = help;
  return named;
}

// A build that stops here has a figure that the lists below lack. Add its line, then the new size.
static_assert(sizeof(Statistics::Log) == 7 * 8 && sizeof(Statistics::Recovery) == 10 * 8);
static_assert(sizeof(Statistics) == 680 + 28 * 8);

#define LATCHKEY_FIGURE(member, is_counter, help) \
  Named(Of(#member, is_counter, help), statistics.member)
#define LATCHKEY_PART(part, Type, member, is_counter, help)                               \
  statistics.part ? Named(Of(#part "." #member, is_counter, help), statistics.part->member) \
                  : Unmeasured(Of(#part "." #member, is_counter, help), Statistics::Type().member)
#define LATCHKEY_COUNTER(member, help) LATCHKEY_FIGURE(member, true, help)
#define LATCHKEY_GAUGE(member, help) LATCHKEY_FIGURE(member, false, help)
#define LATCHKEY_LOG_COUNTER(member, help) LATCHKEY_PART(log, Log, member, true, help)
#define LATCHKEY_LOG_GAUGE(member, help) LATCHKEY_PART(log, Log, member, false, help)
#define LATCHKEY_RECOVERY_GAUGE(member, help) LATCHKEY_PART(recovery, Recovery, member, false, help)

}  // namespace

std::vector<NamedStatistic> ListStatistics(const Statistics& statistics) {
  return {
      LATCHKEY_COUNTER(fixes, "visits of pages: hits, misses and new pages"),
      LATCHKEY_COUNTER(hits, "fixes of pages that were in a frame"),
      LATCHKEY_COUNTER(misses, "fixes for which a page was read, by the fix itself or ahead of it"),
      LATCHKEY_COUNTER(leaf_fixes, "fixes of leaves"),
      LATCHKEY_COUNTER(inner_fixes, "fixes of inner pages of the trees"),
      LATCHKEY_COUNTER(scouting_fixes, "fixes made only to find what to read ahead"),
      LATCHKEY_COUNTER(demand_reads, "pages read because a fix asked for them"),
      LATCHKEY_COUNTER(ahead_reads, "pages read before a fix asked for them"),
      LATCHKEY_COUNTER(wasted_reads, "pages read ahead and evicted before a fix used them"),
      LATCHKEY_COUNTER(redo_reads, "pages read for recovery"),
      LATCHKEY_COUNTER(change_reads, "pages read because puts waited for them"),
      LATCHKEY_COUNTER(change_buffer_puts, "puts that waited for their leaf instead of reading it"),
      LATCHKEY_COUNTER(new_pages, "pages that came into a frame without a read"),
      LATCHKEY_COUNTER(failed_page_ins, "pages read in vain: another user was first"),
      LATCHKEY_COUNTER(sync_page_writes, "dirty victims that a user handed to the layout itself"),
      LATCHKEY_COUNTER(async_page_writes, "dirty pages that page cleaners handed to the layout"),
      LATCHKEY_GAUGE(frames, "frames of the buffer pool"),
      LATCHKEY_GAUGE(free_frames, "frames without a page"),
      LATCHKEY_GAUGE(dirty_frames, "frames whose page is newer than the device's"),
      LATCHKEY_GAUGE(cleaner_outstanding,
                     "writes that a page cleaner keeps outstanding: the controller's N"),
      LATCHKEY_GAUGE(longest_frame_wait_ns,
                     "longest wait of a miss for a frame since the statistics were read before"),
      LATCHKEY_COUNTER(policy_lock_acquisitions, "locks of the synchronization scheme taken"),
      LATCHKEY_COUNTER(policy_lock_contentions, "of these, locks that a user waited for"),
      LATCHKEY_COUNTER(commits, "transactions committed"),
      LATCHKEY_COUNTER(rollbacks, "transactions rolled back"),
      LATCHKEY_COUNTER(conflicts, "calls refused because another transaction had written the key"),
      LATCHKEY_COUNTER(deadlocks, "transactions refused because they waited for each other"),
      LATCHKEY_COUNTER(serialization_failures,
                       "commits of serializable transactions that were refused"),
      LATCHKEY_COUNTER(snapshots_too_old,
                       "snapshots that expired because the version store was full"),
      LATCHKEY_GAUGE(versions, "old versions of records"),
      LATCHKEY_GAUGE(version_bytes, "bytes of old versions and undo in memory"),
      LATCHKEY_GAUGE(version_bytes_bound, "the most that version_bytes may be"),
      LATCHKEY_GAUGE(version_bytes_spilled, "bytes of old versions and undo on disk"),
      LATCHKEY_GAUGE(oldest_snapshot_age,
                     "commits of writing transactions since the oldest snapshot"),
      LATCHKEY_COUNTER(page_reads, "pages read from the layout"),
      LATCHKEY_COUNTER(user_page_writes, "pages that the layout accepted from the buffer pool"),
      LATCHKEY_COUNTER(in_place_page_writes,
                       "of these, pages written over their older version or into a hole"),
      LATCHKEY_COUNTER(hole_page_writes, "of these, pages written into a hole"),
      LATCHKEY_COUNTER(appended_page_writes, "pages appended to a segment"),
      LATCHKEY_COUNTER(cleaner_page_writes, "pages that segment cleaning moved"),
      LATCHKEY_COUNTER(cleaned_segments, "segments emptied by moving their pages"),
      LATCHKEY_COUNTER(plugged_segments, "segments emptied into holes of others"),
      LATCHKEY_COUNTER(plugged_page_writes, "pages that segment cleaning moved into a hole"),
      LATCHKEY_COUNTER(emptied_slots, "page slots of the segments that were emptied"),
      LATCHKEY_COUNTER(emptied_live_pages, "pages that had to be moved out of them"),
      LATCHKEY_COUNTER(protection_bytes, "bytes written to the doublewrite areas"),
      LATCHKEY_COUNTER(protection_syncs, "syncs of the doublewrite areas"),
      LATCHKEY_COUNTER(protection_sync_s, "seconds of these syncs"),
      LATCHKEY_GAUGE(live_bytes, "bytes of pages that hold data"),
      LATCHKEY_GAUGE(file_bytes, "bytes of the data file"),
      LATCHKEY_GAUGE(space_utilization, "live pages / capacity of the file"),
      LATCHKEY_GAUGE(min_space_utilization, "the least of it since the open or the last reset"),
      LATCHKEY_GAUGE(max_space_utilization, "the most of it since the open or the last reset"),
      LATCHKEY_GAUGE(effective_space_utilization,
                     "live pages / all slots of the file, the reserve included"),
      LATCHKEY_COUNTER(capacities_written, "times that the file's capacity was written"),
      LATCHKEY_GAUGE(write_cost,
                     "device time of the layout for each page accepted / time of a page write"),
      LATCHKEY_GAUGE(segment_io_efficiency,
                     "eta: measured device time of a page in a segment / time of a single page"),
      LATCHKEY_GAUGE(cleaning_utilization,
                     "u: share of live pages in the segments that were emptied"),
      LATCHKEY_GAUGE(hot_page_proportion,
                     "h: share of the live pages that the separator calls hot"),
      LATCHKEY_GAUGE(write_amplification,
                     "bytes written to the device / bytes of the pages that the layout accepted"),
      LATCHKEY_COUNTER(reads, "requests that read, probes left out"),
      LATCHKEY_COUNTER(writes, "requests that wrote, probes left out"),
      LATCHKEY_COUNTER(bytes_read, "bytes of these reads"),
      LATCHKEY_COUNTER(bytes_written, "bytes of these writes"),
      LATCHKEY_COUNTER(syncs, "syncs of the data file"),
      LATCHKEY_COUNTER(device_busy_s, "seconds in which the device had a request"),
      LATCHKEY_GAUGE(mean_reads_in_flight, "requests in flight while there are any"),
      LATCHKEY_COUNTER(page_read_busy_s, "of device_busy_s, for reads of pages"),
      LATCHKEY_COUNTER(page_write_busy_s, "of device_busy_s, for writes of pages"),
      LATCHKEY_COUNTER(segment_read_busy_s, "of device_busy_s, for reads of segments"),
      LATCHKEY_COUNTER(segment_write_busy_s, "of device_busy_s, for writes of segments"),
      LATCHKEY_COUNTER(protection_busy_s, "of device_busy_s, for the doublewrite areas"),
      LATCHKEY_COUNTER(meta_busy_s, "of device_busy_s, for maps, journals and superblocks"),
      LATCHKEY_COUNTER(probe_busy_s, "of device_busy_s, for measurements of the device"),
      LATCHKEY_COUNTER(page_read_requests, "requests that read pages"),
      LATCHKEY_COUNTER(page_read_bytes, "bytes of these"),
      LATCHKEY_COUNTER(page_write_requests, "requests that wrote pages"),
      LATCHKEY_COUNTER(page_write_bytes, "bytes of these"),
      LATCHKEY_COUNTER(segment_reads, "requests that read segments"),
      LATCHKEY_COUNTER(segment_read_bytes, "bytes of these"),
      LATCHKEY_COUNTER(segment_writes, "requests that wrote segments, whole or in parts"),
      LATCHKEY_COUNTER(segment_write_bytes, "bytes of these"),
      LATCHKEY_COUNTER(protection_writes, "requests that wrote to the doublewrite areas"),
      LATCHKEY_COUNTER(meta_requests, "requests for maps, journals and superblocks"),
      LATCHKEY_COUNTER(meta_bytes, "bytes of these"),
      LATCHKEY_COUNTER(probe_requests, "requests that measured the device"),
      LATCHKEY_COUNTER(probe_bytes, "bytes of these"),
      LATCHKEY_GAUGE(memory_bytes, "memory of the database, against cache_bytes"),
      LATCHKEY_GAUGE(cache_bytes, "the bound of memory_bytes"),
      LATCHKEY_LOG_COUNTER(records, "records logged"),
      LATCHKEY_LOG_COUNTER(record_bytes, "bytes of these"),
      LATCHKEY_LOG_COUNTER(groups, "groups written to the log"),
      LATCHKEY_LOG_COUNTER(group_bytes, "bytes of these, with headers and padding"),
      LATCHKEY_LOG_COUNTER(syncs, "syncs of the log"),
      LATCHKEY_LOG_GAUGE(file_bytes, "bytes of the log"),
      LATCHKEY_LOG_COUNTER(checkpoints, "checkpoints completed"),
      LATCHKEY_RECOVERY_GAUGE(layout_s,
                              "recovery: seconds for page map, segment table and torn writes"),
      LATCHKEY_RECOVERY_GAUGE(log_read_s, "recovery: seconds for reading and proving the log"),
      LATCHKEY_RECOVERY_GAUGE(redo_s, "recovery: seconds for repeating changes on the pages"),
      LATCHKEY_RECOVERY_GAUGE(undo_s, "recovery: seconds for rolling back unfinished transactions"),
      LATCHKEY_RECOVERY_GAUGE(
          checkpoint_s,
          "recovery: seconds for writing everything back; 0: this went on after the open"),
      LATCHKEY_RECOVERY_GAUGE(log_bytes, "recovery: bytes of log read"),
      LATCHKEY_RECOVERY_GAUGE(log_records, "recovery: records read"),
      LATCHKEY_RECOVERY_GAUGE(redone_changes, "recovery: changes repeated"),
      LATCHKEY_RECOVERY_GAUGE(undone_changes, "recovery: changes rolled back"),
      LATCHKEY_RECOVERY_GAUGE(repaired_pages,
                              "recovery: damaged pages restored from their images in the log"),
  };
}

#undef LATCHKEY_FIGURE
#undef LATCHKEY_PART
#undef LATCHKEY_COUNTER
#undef LATCHKEY_GAUGE
#undef LATCHKEY_LOG_COUNTER
#undef LATCHKEY_LOG_GAUGE
#undef LATCHKEY_RECOVERY_GAUGE

}  // namespace latchkey
