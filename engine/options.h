// How a database is opened: Options, the techniques of the papers, and options by name. Part of
// latchkey.h, which includes it: programs include that one.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace latchkey {

/// What a commit promises once Commit has returned.
enum class Durability {
  /// Nothing is logged. A commit is durable once the database is closed. If the database was not
  /// closed cleanly, the next open refuses it. For loads and measurements that can be repeated.
  kNone,
  /// Logged. A commit is durable at most Options::group_commit_delay_ms after Commit has returned:
  /// half of that time gathers commits, the other half is for the device to flush them. A slower
  /// flush delays durability accordingly.
  kGroup,
  /// Logged. A commit is durable when Commit returns. The default.
  kCommit,
};

/// How in-place page writes are protected against a crash that leaves half of a write on the device
/// (a torn write). Writes to a fresh place need no protection.
enum class TornWriteProtection {
  /// Each such page is written twice: first to an area of its own, then in place. The default.
  kDoublewrite,
  /// The log holds an image of each page from before the first change after a checkpoint. Costs
  /// more log and saves half of the page writes. Needs a log.
  kImages,
  /// For devices that promise to write a page wholly or not at all.
  kNone,
};

/// The techniques of the papers, by their names on the command line (latchkey --help lists them).
/// The defaults measured best in general.
struct Techniques {
  std::string layout = "overwrite";           ///< overwrite, lfs, wolf, hylog
  std::string segment_cleaning = "auto";      ///< greedy, ...; auto: the layout's own
  /// Of pages that layouts append: none, lz4, zstd. "none" or not is fixed when a database is
  /// created.
  std::string page_compression = "none";
  double space_utilization = 0.8;             ///< live pages / capacity of the file, 0.5 to 0.98
  /// Bytes, a multiple of the page size in 64 KiB-64 MiB. Fixed when the database is created. 0 =
  /// from the measured costs of the device, in whole stripes of an array.
  uint64_t segment_size = 0;
  std::string replacement = "s3-fifo";        ///< lru, clock, 2q, lirs, ...: bufferpool/README.md
  std::string synchronization = "global";  ///< global, regions:N, bp-wrapper, nb-gclock, separate
  std::string fix = "optimistic";          ///< of pages that are only read: optimistic, latched
  std::string page_in = "blocking";  ///< of pages that several users ask for: blocking, optimistic
  std::string cleaner = "self-tuning";  ///< fixed:N (writes outstanding), self-tuning, demand
  uint32_t cleaners = 1;  ///< number of page cleaners, 0 to 128; with 0 users write dirty victims
  std::string cleaning_scope = "coldest";  ///< dirty pages that cleaners write: coldest, all
  std::string victims = "coldest";         ///< pages that evictions prefer: coldest, clean-first
  uint32_t eviction_batch =
      0;               ///< victims of one eviction, 1 to 64; 0: the synchronization's choice
  /// Part of cache_bytes for single puts (Database::Put) that wait for their leaf instead of reading
  /// it, bytes; 0: such puts read it. For random puts into more data than the cache holds:
  /// engine/change_buffer/README.md. At most half of the cache. Not with the synchronization
  /// `separate`, the page-in `optimistic` or TornWriteProtection::kImages.
  uint64_t change_buffer_bytes = 0;
  uint64_t seed = 42;  ///< seed of every random choice inside
};

/// What a transaction is promised about transactions that run at the same time.
enum class Isolation {
  /// The transaction reads its own writes and one snapshot, taken at its first read. If two
  /// transactions write the same key, one of them gets Aborted. Write skew is possible: use
  /// GetForUpdate for keys on which a decision rests.
  kSnapshot,
  /// As kSnapshot. In addition Commit returns Aborted if a commit after the snapshot changed
  /// anything that the transaction has read: keys, missing keys, and the ranges its cursors have
  /// walked. The order of commits is then a serial order of all serializable transactions.
  kSerializable,
};

enum class LogSeverity { kDebug, kInfo, kWarning, kError };

/// Conditions that a program may want to react to.
enum class EventKind {
  kCheckpoint,  ///< a checkpoint is complete
  kStall,  ///< a call has waited 100 ms or longer for a frame of the cache or for room in the log
  kWriteError,  ///< the device refused a write; what was to be written is written again, elsewhere or later
  kReadOnly,  ///< nothing more is written until the database is opened again
  kSlowCall,  ///< a call has taken Options::slow_call_ms or longer
};
struct DatabaseEvent {
  EventKind kind = EventKind::kCheckpoint;
  std::string_view message;  ///< one line, without a newline; valid during the call
  uint64_t duration_ns = 0;  ///< of the checkpoint, the wait or the call; otherwise 0
};

struct Options {
  bool create_if_missing = true;
  bool error_if_exists = false;
  /// Opens for reading alone, and changes no byte on the device, which may be read-only. Several
  /// processes may have the database open so at once; one that writes excludes them, and they it. A
  /// database that was not closed cleanly is recovered in memory, which takes memory beyond
  /// cache_bytes for the pages that recovery changes. Calls that write return FailedPrecondition.
  /// create_if_missing, durability, torn_write_protection and the techniques that concern writes
  /// have no effect. Not with error_if_exists or in_memory_device.
  bool read_only = false;
  /// All memory of the database: frames, page table, maps, versions, I/O buffers. Bytes. At least 1
  /// MiB; with a log at least 1.5 MiB, and more for pages above 4 KiB. A database that is created
  /// with less than 64 MiB gets smaller buffers and segments. The database takes more than this
  ///   - if its segments or pages are too large for the cache, because it was created with a larger
  ///     one: the open then logs a warning that says how much;
  ///   - if its maps grow, below 64 MiB by more than an eighth of the cache or 512 KiB (they take
  ///     about 28 bytes a page): until the next open or SetCacheBytes;
  ///   - below 4 MiB, while transactions run with undo of more than an eighth of the cache.
  uint64_t cache_bytes = 256ull << 20;
  /// Bytes; a power of two in 4096-65536. Fixed when the database is created. 0 = the size the
  /// database has, 4096 for a new one.
  uint32_t page_size = 0;
  /// What a commit promises. May differ from open to open: a database that has a log recovers
  /// first, with every value of this option.
  Durability durability = Durability::kCommit;
  uint32_t group_commit_delay_ms = 10;  ///< for Durability::kGroup, 1 to 10,000
  /// May differ from open to open: the open repairs torn writes with the protection that was used
  /// when they were written. Without a log pages are not protected, and kImages is refused.
  TornWriteProtection torn_write_protection = TornWriteProtection::kDoublewrite;
  /// A checkpoint begins when the log since the last one exceeds this many bytes (at least 64 KiB).
  /// This bounds the log that recovery has to redo, and so the time of recovery. 0 = a quarter of
  /// the cache, at least 256 MiB and at most 1 GiB; engine/log/RECOVERY.md has the reasons.
  uint64_t checkpoint_log_bytes = 0;
  /// Isolation of transactions whose BeginOptions name none.
  Isolation isolation = Isolation::kSnapshot;
  /// Longest wait of one call for other transactions to unlock its key, ms; 1 to 3,600,000. After
  /// it the call returns Aborted. A call that is a transaction of its own repeats if several
  /// transactions have held the key in turn. Two cases return Aborted at once: a deadlock, and a
  /// thread that would wait for a transaction which that thread itself has used last.
  uint32_t lock_wait_ms = 5000;
  /// Share of cache_bytes for old versions, undo of running transactions and read sets, bytes. 0 =
  /// a thirty-second part, at least 512 KiB. When three quarters of it are used, old versions go to
  /// the spill file, a file without a name. The undo of a transaction goes there when it exceeds a
  /// quarter. Two kinds of transactions keep their undo in memory: those with savepoints, and those
  /// that have read for long and then insert records where others have appended meanwhile. Beside a
  /// snapshot with 256 commits behind it, fingerprints of written keys take up to a quarter of it.
  /// Filters for the file take memory in addition, usually less than half as much. When the undo of
  /// many small transactions fills the share, their writes wait a little, then return Aborted.
  uint64_t version_store_bytes = 0;
  /// Largest size of the spill file, bytes; 0 = sixteen times cache_bytes, at least 1 GiB. The file begins
  /// empty, and keeps up to 16 MiB after its first use. When it is full or its device fails, the
  /// transaction with the oldest snapshot gets Aborted ("snapshot too old"), first among the
  /// serializable ones that may write. A write returns ResourceExhausted if there is no room for its undo.
  uint64_t snapshot_spill_bytes = 0;
  /// The engine times one call in this many for Database::GetLatencies; at most 1,000,000. 0: it times no
  /// call.
  uint32_t latency_sampling = 64;
  /// The engine tells event_sink of each call that takes this long, ms, and what the call waited for; at
  /// most 3,600,000. With a value above 0 the engine times every call, and latency_sampling has no
  /// effect. 0: it tells of no call.
  uint32_t slow_call_ms = 0;
  /// A file for other programs. The database replaces it once a second, in one step, by the text of
  /// GetMetrics, and removes it at the close. The text is JSON if the name ends in .json, else in
  /// Prometheus's format. `latchkey stat --watch` reads PATH/metrics.json. If the file cannot be written,
  /// the open fails. Empty: the database writes no such file. A program with this option gets
  /// Statistics::longest_frame_wait_ns of the last second only.
  std::string metrics_path;
  /// Keep everything in memory; the path is then only a name. For tests and experiments.
  bool in_memory_device = false;
  Techniques techniques;
  /// Receives one-line messages; silent by default. May be called from any thread.
  std::function<void(LogSeverity, std::string_view)> log_sink;
  /// Receives events. May be called from any thread, also while the engine holds locks: it must return
  /// soon and not call the database.
  std::function<void(const DatabaseEvent&)> event_sink;
};

/// An option by its name, which is that of its flag on the command line.
struct NamedOption {
  std::string_view name;
  std::string value;      ///< as SetOption reads it
  std::string_view help;  ///< the values that it takes
};

/// Sets the option `name` from text: SetOption("cache-size", "1GiB", &options). A hyphen of a name
/// may be an underscore. InvalidArgument, and *options is unchanged, for an unknown name (the
/// message lists the names) and for a value out of its range (the message states the range).
absl::Status SetOption(std::string_view name, std::string_view value, Options* options);
/// Every option that SetOption knows, with its value in `options`: all but the sinks.
std::vector<NamedOption> ListOptions(const Options& options = {});

}  // namespace latchkey
