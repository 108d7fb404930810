// The figures that a database tells of itself: statistics, and latencies of its calls. Part of latchkey.h, which embedders
// include.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace latchkey {

/// Counters since open, unless noted. nullopt = not measured; a value that was not measured is
/// never 0.
struct Statistics {
  // Buffer pool.
  uint64_t fixes = 0;  ///< visits of pages: hits, misses and new pages
  uint64_t hits = 0;
  uint64_t misses = 0;  ///< fixes for which a page was read, by the fix itself or ahead of it
  uint64_t leaf_fixes = 0, inner_fixes = 0;  ///< of these fixes, those of tree pages
  uint64_t scouting_fixes = 0;    ///< of these fixes, those made only to find what to read ahead
  uint64_t demand_reads = 0;      ///< pages read because a fix asked for them
  uint64_t ahead_reads = 0;       ///< pages read before a fix asked for them
  uint64_t wasted_reads = 0;      ///< of these, pages that were evicted before a fix used them
  uint64_t redo_reads = 0;        ///< pages read for recovery
  uint64_t change_reads = 0;      ///< pages read because puts waited for them
  uint64_t change_buffer_puts = 0;  ///< puts that have waited for their leaf instead of reading it
  uint64_t new_pages = 0;         ///< pages that came into a frame without a read
  uint64_t failed_page_ins = 0;   ///< pages read in vain: another user was first (not in the above)
  uint64_t sync_page_writes = 0;  ///< dirty victims that a user handed to the layout itself
  uint64_t async_page_writes = 0;                          ///< by page cleaners
  uint64_t frames = 0, free_frames = 0, dirty_frames = 0;  ///< now
  double cleaner_outstanding = 0;  ///< now: the controller's N, writes per cleaner
  /// The longest wait of a miss for a frame since the last GetStatistics; 0: no miss had to evict.
  uint64_t longest_frame_wait_ns = 0;
  uint64_t policy_lock_acquisitions = 0;  ///< of the synchronization scheme's locks
  uint64_t policy_lock_contentions = 0;   ///< of these, those that waited without a processor
  // Transactions.
  uint64_t commits = 0, rollbacks = 0, conflicts = 0, deadlocks = 0;
  uint64_t serialization_failures = 0;  ///< commits of serializable transactions that got Aborted
  uint64_t snapshots_too_old = 0;       ///< snapshots that expired: the store was full
  uint64_t versions = 0, version_bytes = 0, version_bytes_bound = 0;  ///< now
  uint64_t version_bytes_spilled = 0;                                 ///< now, on disk
  uint64_t oldest_snapshot_age = 0;  ///< now, in commits of writing transactions
  // Layout (see PageStoreStats in storage/page_store.h).
  uint64_t page_reads = 0, user_page_writes = 0, in_place_page_writes = 0, appended_page_writes = 0;
  uint64_t hole_page_writes = 0;  ///< of in_place_page_writes, those into a hole
  uint64_t cleaner_page_writes = 0, cleaned_segments = 0, plugged_segments = 0;
  uint64_t plugged_page_writes = 0;  ///< of cleaner_page_writes, those into a hole
  /// Slots of all segments emptied, and pages that had to be moved out of them: their ratio between
  /// two readings is the cleaning utilisation u of the interval.
  uint64_t emptied_slots = 0, emptied_live_pages = 0;
  uint64_t protection_bytes = 0, protection_syncs = 0;  ///< of the doublewrite areas
  double protection_sync_s = 0;
  uint64_t live_bytes = 0, file_bytes = 0;
  double space_utilization = 0, min_space_utilization = 0, max_space_utilization = 0;
  double effective_space_utilization = 0;  ///< live / all slots of the file, the reserve included
  uint64_t capacities_written = 0;
  std::optional<double> write_cost, segment_io_efficiency, cleaning_utilization,
      hot_page_proportion, write_amplification;
  // Device. `reads` to `bytes_written` leave out the probes (below).
  uint64_t reads = 0, writes = 0, bytes_read = 0, bytes_written = 0, syncs = 0;
  double device_busy_s = 0, mean_reads_in_flight = 0;
  /// device_busy_s by the purpose of the requests (IoClass in storage/device/block_device.h).
  double page_read_busy_s = 0, page_write_busy_s = 0, segment_read_busy_s = 0;
  double segment_write_busy_s = 0, protection_busy_s = 0, meta_busy_s = 0, probe_busy_s = 0;
  /// Requests and bytes by the same purposes. Segment writes: of append logs, whole or in parts.
  uint64_t page_read_requests = 0, page_read_bytes = 0, page_write_requests = 0;
  uint64_t page_write_bytes = 0, segment_reads = 0, segment_read_bytes = 0;
  uint64_t segment_writes = 0, segment_write_bytes = 0, protection_writes = 0;
  uint64_t meta_requests = 0, meta_bytes = 0, probe_requests = 0, probe_bytes = 0;
  /// The write-ahead log. nullopt for Durability::kNone.
  struct Log {
    uint64_t records = 0, record_bytes = 0;  ///< logged records
    uint64_t groups = 0, group_bytes = 0;    ///< written to the device, with headers and padding
    uint64_t syncs = 0;
    uint64_t file_bytes = 0;   ///< now
    uint64_t checkpoints = 0;  ///< completed
  };
  std::optional<Log> log;
  // Memory in use now, bytes, against cache_bytes.
  uint64_t memory_bytes = 0, cache_bytes = 0;

  /// The work of this open after a crash, and the seconds of its phases in their order.
  struct Recovery {
    double layout_s = 0;    ///< page map and segment table: map journal, torn writes
    double log_read_s = 0;  ///< reading and proving the log
    double redo_s = 0;      ///< repeating changes on the pages
    double undo_s = 0;      ///< rolling back unfinished transactions
    /// Writing everything back and cutting the log off. 0 = this continues after the open.
    double checkpoint_s = 0;
    uint64_t log_bytes = 0, log_records = 0, redone_changes = 0, undone_changes = 0;
    uint64_t repaired_pages = 0;  ///< damaged pages restored from their images in the log
  };
  std::optional<Recovery> recovery;  ///< nullopt = nothing to recover
};

/// A figure of Statistics by the name of its member, e.g. "commits", "log.syncs", "recovery.undo_s".
struct NamedStatistic {
  std::string_view name;
  bool measured = false;    ///< false: both values are 0
  bool is_integer = false;  ///< true: `integer` is exact, and `real` the nearest double
  uint64_t integer = 0;
  double real = 0;
  bool is_counter = false;  ///< it only grows while the database is open; false: a state of now
  std::string_view help;    ///< a line about it; ends with a NUL
};
/// Every figure of `statistics`, measured or not, in the order of the members.
std::vector<NamedStatistic> ListStatistics(const Statistics& statistics);

/// How long one kind of call took, or one kind of wait, since the open.
struct OperationLatency {
  struct Bucket {
    uint64_t most_ns = 0;  ///< latencies up to this, and above that of the bucket before
    uint64_t count = 0;
  };
  /// Calls, of which one in Options::latency_sampling is timed: "get", "get_for_update", "put", "delete", "commit" of
  /// transactions, "write" of the database. Waits: "log_sync", "page_read", "page_write"; each is timed, except syncs
  /// with in_memory_device, pages read ahead of their use, and writes of a `fixed` cleaner.
  std::string_view operation;
  std::string_view help;  ///< a line about it
  uint64_t count = 0;     ///< timed
  uint64_t sum_ns = 0, longest_ns = 0;
  std::vector<Bucket> buckets;  ///< those that are not empty, ascending; each at most 25 % wide
  /// The latency that the share `share` (0 to 1) of them does not exceed, at most 25 % above the
  /// exact one. 0: none was timed.
  uint64_t Quantile(double share) const;
};

/// Texts of all statistics and latencies, for monitoring systems.
enum class MetricsFormat {
  /// Prometheus's text format, each figure as latchkey_NAME.
  kPrometheus,
  /// {"written_at": seconds since 1970, "statistics": {NAME: number or null},
  /// "latencies": {OPERATION: {"count", "mean_s", "p50_s", ..., "buckets": [[nanoseconds, count], ...]}}}
  kJson,
};

}  // namespace latchkey
