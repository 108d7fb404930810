// Latchkey: an embedded, ordered, transactional key/value store. This is the one header to include.
//
//   auto db = latchkey::Database::Open("/var/lib/my.db", {});
//   auto tree = (*db)->OpenTree("accounts");
//   (*db)->Put(*tree, "alice", "100");
//
//   latchkey::Transaction txn = (*db)->Begin();       // snapshot isolation
//   std::string value;
//   if (txn.Get(*tree, "alice", &value).ok()) txn.Put(*tree, "alice", "90").IgnoreError();
//   absl::Status done = txn.Commit();               // Aborted: somebody else was first; run it
//   again
//
// Errors are absl::Status; exceptions cross no border (but see "Out of memory"). The codes that
// callers act on:
//   NotFound            no such key, tree or database
//   Aborted             conflict with another transaction, deadlock, not serializable, snapshot too
//                       old, version store full of others: the transaction is over; run it again
//   InvalidArgument     a limit or an option; the message names the value, the range and the remedy
//   ResourceExhausted   disk full, no frame could be freed, no room for undo, or "out of memory":
//                       the operation had no effect, and may be tried again
//   FailedPrecondition  not ours, other page size, open elsewhere, not closed cleanly, or the
//                       transaction is over
//   DataLoss            a page failed its proof: nothing wrong is ever returned as data
//   Unavailable         the device failed; after a failed sync or write of the log, or a page that
//                       could not be written elsewhere or again, the database is read-only
//
// Out of memory: a call that fails so is as if it had not been made (what *value holds apart); a
// transaction stays open, a cursor ends with that status and can seek again, and a Transaction or
// Cursor that could not be made at all answers it to every call. A commit that has reached the log
// is never taken back for lack of memory: Unavailable says that its outcome is unknown. Where
// memory runs out in the middle of the device's work the database turns read-only, which is
// Unavailable, too; close and reopen it. ListTrees and WriteBatch fill the caller's own memory and
// let std::bad_alloc through.
//
// Limits: keys 0 to 1024 bytes (Database::kMaxKeySize), values 0 to 1 GiB, tree names 1 to 255
// bytes. Keys are ordered bytewise (memcmp).
//
// Thread-safety: Database and Tree may be used by every thread at once. A Transaction or Cursor
// belongs to one thread at a time.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace latchkey {

class DatabaseImpl;
class TransactionImpl;
class CursorImpl;
class TreeImpl;

/// What "committed" promises once Commit has returned.
enum class Durability {
  /// Nothing is logged: durable when the database is closed. A database that was not closed cleanly
  /// is refused at the next open. For loads and measurements that can be made again.
  kNone,
  /// Logged: durable Options::group_commit_delay_ms after Commit has returned at the latest. Half
  /// of
  /// that gathers commits; a device that takes longer than the other half to flush is as late as
  /// it is slow.
  kGroup,
  /// Logged: durable when Commit returns. The default.
  kCommit,
};

/// How pages are protected that are written over their present place on the device, where a crash
/// may leave half of a write. Other writes need no protection.
enum class TornWriteProtection {
  /// They go to an area of their own first: every such page is written twice. The default.
  kDoublewrite,
  /// The log holds an image of each page from before its first change since a checkpoint: more log,
  /// half the page writes. Needs a log.
  kImages,
  /// For devices that promise to write a page wholly or not at all.
  kNone,
};

/// The techniques of the papers, by the names that the command line uses (latchkey --help lists
/// them). The defaults are what measures best in general.
struct Techniques {
  std::string layout = "overwrite";           ///< overwrite, lfs, wolf, hylog
  std::string segment_cleaning = "adaptive";  ///< greedy, cost-benefit, hole-plugging, adaptive
  double space_utilization = 0.8;             ///< live pages / capacity of the file, 0.5 to 0.98
  uint64_t segment_size = 0;                  ///< bytes; 0 = from the measured costs of the device
  std::string replacement = "clock";          ///< random, lru, clock, gclock, 2q
  std::string synchronization = "global";     ///< global, regions:N
  std::string cleaner = "self-tuning";        ///< fixed:N (writes outstanding), self-tuning
  uint32_t cleaners = 1;  ///< page cleaners, 0 to 64 (0: users write dirty victims)
  uint64_t seed = 42;     ///< of every random choice inside
};

/// What a transaction is promised about others that run at the same time.
enum class Isolation {
  /// It reads one snapshot, taken when it first reads, and its own writes; of two that write the
  /// same key one gets Aborted. Write skew is possible: lock with GetForUpdate what a decision
  /// rests
  /// on.
  kSnapshot,
  /// As kSnapshot, and Commit gives Aborted when anything that it has read (keys, missing keys, the
  /// ranges its cursors have walked) was changed by a commit after its snapshot: the order of
  /// commits is a serial order for all that are serializable.
  kSerializable,
};

enum class LogSeverity { kDebug, kInfo, kWarning, kError };

struct Options {
  bool create_if_missing = true;
  bool error_if_exists = false;
  /// All memory together: frames, page table, maps, versions, I/O buffers. Bytes, at least 1 MiB;
  /// with a log 1.5 MiB, and more for pages larger than 4 KiB.
  uint64_t cache_bytes = 256ull << 20;
  /// Bytes; a power of two in 4096-65536. Fixed when the database is created; 0 takes what it has
  /// (4096 for a new one).
  uint32_t page_size = 0;
  /// What a commit promises. May differ from open to open: a database that was logged recovers
  /// first whatever this says.
  Durability durability = Durability::kCommit;
  uint32_t group_commit_delay_ms = 10;  ///< of Durability::kGroup, 1 to 10,000
  /// May differ from open to open: what a crash has torn is repaired by what protected it. Without
  /// a log nothing is protected, and kImages is refused.
  TornWriteProtection torn_write_protection = TornWriteProtection::kDoublewrite;
  /// A checkpoint begins when the log since the last one exceeds this many bytes (at least 64 KiB):
  /// the log that recovery has to redo, and so its time, are bounded by it. 0 = a quarter of the
  /// cache, at least 256 MiB and at most 1 GiB; engine/log/README.md has the reasons.
  uint64_t checkpoint_log_bytes = 0;
  /// Of transactions that do not ask for another.
  Isolation isolation = Isolation::kSnapshot;
  /// Bytes that old versions, undo of running transactions and read sets may take, of cache_bytes;
  /// 0 = a thirty-second part, at least 512 KiB. Beyond it the oldest snapshot's transaction gets
  /// Aborted ("snapshot too old"). When the undo of running transactions alone fills it, their
  /// writes wait a little, then get Aborted, but ResourceExhausted if the transaction's own undo is
  /// more than half of it.
  uint64_t version_store_bytes = 0;
  /// Keep everything in memory; the path is only a name. For tests and experiments.
  bool in_memory_device = false;
  Techniques techniques;
  /// Receives one-line messages; silent by default. May be called from any thread.
  std::function<void(LogSeverity, std::string_view)> log_sink;
};

/// A named tree of a database: a cheap handle, valid until the database is closed or the tree
/// dropped.
class Tree {
 public:
  Tree() = default;
  bool valid() const { return impl_ != nullptr; }

 private:
  friend class Database;
  friend class Transaction;
  friend class DatabaseImpl;
  explicit Tree(TreeImpl* impl) : impl_(impl) {}
  TreeImpl* impl_ = nullptr;
};

/// Both ends of a range of keys: `from` <= key < `to`; nullopt = unbounded.
struct KeyRange {
  std::optional<std::string> from;
  std::optional<std::string> to;
};

/// An ordered walk through a range of one tree as its transaction sees it, in both directions.
/// Begins before the range: call a Seek first. `key` and `value` stay valid until the next move.
class Cursor {
 public:
  ~Cursor();
  Cursor(Cursor&&) noexcept;
  Cursor& operator=(Cursor&&) noexcept;

  void SeekToFirst();
  void SeekToLast();
  /// To the first key >= `key` / the last key <= `key` within the range.
  void Seek(std::string_view key);
  void SeekForPrev(std::string_view key);
  void Next();  ///< REQUIRES: Valid()
  void Prev();  ///< REQUIRES: Valid()

  /// False at either end and after an error: look at status().
  bool Valid() const;
  absl::Status status() const;
  std::string_view key() const;    ///< REQUIRES: Valid()
  std::string_view value() const;  ///< REQUIRES: Valid()

 private:
  friend class Transaction;
  explicit Cursor(std::unique_ptr<CursorImpl> impl);
  std::unique_ptr<CursorImpl> impl_;
};

struct BeginOptions {
  /// nullopt: as Options::isolation says.
  std::optional<Isolation> isolation = std::nullopt;
  /// Writes and locks give FailedPrecondition. Never waits for others and is never waited for;
  /// always serializable, since nothing it does can be in a wrong place of the order.
  bool read_only = false;
};

/// A point in a transaction: see Transaction::SetSavepoint.
class Savepoint {
 public:
  Savepoint() = default;

 private:
  friend class TransactionImpl;
  explicit Savepoint(uint64_t id) : id_(id) {}
  uint64_t id_ = 0;
};

/// Snapshot isolation unless begun otherwise: reads see what was committed when the transaction
/// first read, and its own writes; of two that write the same key, one gets Aborted. Destroying an
/// unfinished transaction rolls it back.
class Transaction {
 public:
  ~Transaction();
  Transaction(Transaction&&) noexcept;
  Transaction& operator=(Transaction&&) noexcept;

  absl::Status Get(Tree tree, std::string_view key, std::string* value);
  /// Inserts or replaces. Waits for another writer of the key; Aborted if that one committed after
  /// this transaction's snapshot, or if waiting would be a deadlock.
  absl::Status Put(Tree tree, std::string_view key, std::string_view value);
  /// As Put, but AlreadyExists when the key is there.
  absl::Status Insert(Tree tree, std::string_view key, std::string_view value);
  /// NotFound when the key is not there.
  absl::Status Delete(Tree tree, std::string_view key);
  /// Get, and the write lock of the key with it. As the first call of a transaction it never ends
  /// in Aborted for what others committed before: the snapshot is taken when the lock is held.
  absl::Status GetForUpdate(Tree tree, std::string_view key, std::string* value);

  Cursor NewCursor(Tree tree, KeyRange range = {});

  /// Brings the pages of `keys` into the cache with many reads in flight. A hint: no result, no
  /// error. What is read or written afterwards in the order of `keys`, some left out, is also found
  /// faster: the leaves of up to 256 keys of up to 39 bytes stay known.
  void Prefetch(Tree tree, std::span<const std::string_view> keys);
  void Prefetch(std::span<const std::pair<Tree, std::string_view>> keys);

  /// A point to which RollbackTo can return, any number of times; they nest.
  absl::StatusOr<Savepoint> SetSavepoint();
  /// Undoes what was written since `savepoint`. It stays, those set after it are gone; locks stay
  /// held to the end of the transaction. InvalidArgument: not a savepoint of this transaction, or
  /// gone. On any other error the transaction is rolled back.
  absl::Status RollbackTo(const Savepoint& savepoint);

  /// After Commit or Rollback, and after Aborted, every other call gives FailedPrecondition.
  absl::Status Commit();
  absl::Status Rollback();

 private:
  friend class Database;
  explicit Transaction(std::unique_ptr<TransactionImpl> impl);
  std::unique_ptr<TransactionImpl> impl_;
};

/// Puts and deletes that are applied together or not at all.
class WriteBatch {
 public:
  void Put(Tree tree, std::string_view key, std::string_view value);
  void Delete(Tree tree, std::string_view key);  ///< of a missing key: nothing
  void Clear() { operations_.clear(); }
  size_t size() const { return operations_.size(); }

 private:
  friend class Database;
  struct Operation {
    Tree tree;
    std::string key;
    std::optional<std::string> value;
  };
  std::vector<Operation> operations_;
};

/// Counters since open, unless said otherwise. nullopt = not measured (never 0 in its place).
struct Statistics {
  // Buffer pool.
  uint64_t fixes = 0, hits = 0, misses = 0;
  uint64_t sync_page_writes = 0;   ///< dirty victims that a user had to hand to the layout itself
  uint64_t async_page_writes = 0;  ///< by page cleaners
  uint64_t frames = 0, free_frames = 0, dirty_frames = 0;  ///< now
  double cleaner_outstanding = 0;  ///< now: the controller's N, writes per cleaner
  uint64_t policy_lock_contentions = 0;
  // Transactions.
  uint64_t commits = 0, rollbacks = 0, conflicts = 0, deadlocks = 0;
  uint64_t serialization_failures = 0;  ///< commits of serializable transactions that got Aborted
  uint64_t snapshots_too_old = 0;       ///< snapshots that expired because the store was full
  uint64_t versions = 0, version_bytes = 0, version_bytes_bound = 0;  ///< now
  uint64_t oldest_snapshot_age = 0;  ///< now, in commits of writing transactions
  // Layout (see docs of PageStoreStats).
  uint64_t page_reads = 0, user_page_writes = 0, in_place_page_writes = 0, appended_page_writes = 0;
  uint64_t cleaner_page_writes = 0, cleaned_segments = 0, plugged_segments = 0;
  uint64_t live_bytes = 0, file_bytes = 0;
  double space_utilization = 0, min_space_utilization = 0, max_space_utilization = 0;
  uint64_t capacities_written = 0;
  std::optional<double> write_cost, segment_io_efficiency, cleaning_utilization,
      hot_page_proportion, write_amplification;
  // Device.
  uint64_t reads = 0, writes = 0, bytes_read = 0, bytes_written = 0, syncs = 0;
  double device_busy_s = 0, mean_reads_in_flight = 0;
  /// The write-ahead log. nullopt: durability none.
  struct Log {
    uint64_t records = 0, record_bytes = 0;  ///< what was logged
    uint64_t groups = 0, group_bytes = 0;    ///< what was written for it: with headers and padding
    uint64_t syncs = 0;
    uint64_t file_bytes = 0;   ///< now
    uint64_t checkpoints = 0;  ///< that ended well
  };
  std::optional<Log> log;
  // Memory in use now, bytes, against cache_bytes.
  uint64_t memory_bytes = 0, cache_bytes = 0;

  /// What the open had to do after a crash, and the seconds of its parts, in their order.
  struct Recovery {
    double layout_s = 0;    ///< page map and segment table: map journal, torn writes
    double log_read_s = 0;  ///< the log proved readable
    double redo_s = 0;      ///< changes repeated on the pages
    double undo_s = 0;      ///< unfinished transactions taken back
    /// Everything written back, the log cut off; 0 when that goes on behind the open.
    double checkpoint_s = 0;
    uint64_t log_bytes = 0, log_records = 0, redone_changes = 0, undone_changes = 0;
    uint64_t repaired_pages = 0;  ///< damaged, made again from their images in the log
  };
  std::optional<Recovery> recovery;  ///< nullopt: there was nothing to recover
};

class Database {
 public:
  static constexpr size_t kMaxKeySize = 1024;
  static constexpr size_t kMaxValueSize = size_t{1} << 30;
  static constexpr size_t kMaxTreeNameSize = 255;

  /// `path` is a directory that holds the database's files; created when missing (its parent must
  /// exist). Refused without a change: FailedPrecondition when it is open elsewhere, not closed
  /// cleanly, not ours, of another page size; InvalidArgument for impossible options.
  static absl::StatusOr<std::unique_ptr<Database>> Open(const std::string& path,
                                                        const Options& options);
  /// Closes as Close does, dropping its status.
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// Rolls back what is unfinished and writes everything out. REQUIRES: no other call in progress,
  /// and no Transaction or Cursor used afterwards.
  absl::Status Close();

  /// The tree of that name, created when missing unless `create` is false (then NotFound).
  absl::StatusOr<Tree> OpenTree(std::string_view name, bool create = true);
  /// REQUIRES: nobody uses the tree.
  absl::Status DropTree(std::string_view name);
  std::vector<std::string> ListTrees() const;

  Transaction Begin(const BeginOptions& options = {});

  // Each of these is a transaction of its own; conflicts are retried inside.
  absl::Status Get(Tree tree, std::string_view key, std::string* value);
  absl::Status Put(Tree tree, std::string_view key, std::string_view value);
  absl::Status Delete(Tree tree, std::string_view key);
  absl::Status Write(const WriteBatch& batch);

  /// Writes every dirty page and makes the file consistent with this moment.
  absl::Status Checkpoint();
  /// Changes Options::cache_bytes while running. InvalidArgument below what is needed, naming it.
  absl::Status SetCacheBytes(uint64_t cache_bytes);

  Statistics GetStatistics() const;
  /// Restarts the minimum and maximum of space utilisation from now.
  void ResetStatisticsExtremes();
  uint32_t page_size() const;
  /// What the data lives on, e.g. "file(O_DIRECT, libaio)".
  std::string DeviceDescription() const;
  /// Walks every page: tree order, separators, overflow chains, page ownership, checksums of what
  /// is read from the device. DataLoss names the first fault. REQUIRES: no writers.
  absl::Status Verify();

 private:
  friend class DatabaseImpl;
  explicit Database(std::unique_ptr<DatabaseImpl> impl);
  std::unique_ptr<DatabaseImpl> impl_;
};

}  // namespace latchkey
