// Latchkey: an embedded, ordered, transactional key/value store. This is the one header to include.
//
//   auto db = latchkey::Database::Open("/var/lib/my.db", {});
//   auto tree = (*db)->OpenTree("accounts");
//   (*db)->Put(*tree, "alice", "100");
//
//   latchkey::Transaction txn = (*db)->Begin();       // snapshot isolation
//   std::string value;
//   if (txn.Get(*tree, "alice", &value).ok()) txn.Put(*tree, "alice", "90").IgnoreError();
//   absl::Status done = txn.Commit();   // Aborted: another transaction was first; run it again
//
// Errors are absl::Status. Exceptions cross no border (for std::bad_alloc see "Out of memory"). The
// codes that callers act on:
//   NotFound            no such key, tree or database
//   AlreadyExists       Insert: the tree holds the key; Open: see Options::error_if_exists
//   Aborted             conflict with another transaction, deadlock, not serializable, snapshot too
//                       old, lock_wait_ms over, version store full of the undo of other
//                       transactions: the transaction is over; run it again
//   InvalidArgument     a limit or an option; the message names the value, the range and the remedy
//   ResourceExhausted   disk full, no frame could be freed, no room for undo, or "out of memory":
//                       the operation had no effect, and may be tried again
//   FailedPrecondition  not a Latchkey database, open elsewhere, not closed cleanly; the
//                       transaction is over; an unusable handle (see "Handles")
//   DataLoss            a page failed its proof; its bytes are never returned as data
//   Unavailable         the device failed. The database is read-only after a sync or a write of the
//                       log failed, and after every retry of a page write failed
//
// Out of memory: a call that runs out of memory has no effect, except that *value is unspecified. A
// transaction stays open. A cursor ends with that status and can seek again. If a Transaction or
// Cursor could not be made, the object returned answers every call with that status. A commit that
// has reached the log is never taken back for lack of memory: Commit then returns Unavailable, and
// its outcome is unknown. If memory runs out in the middle of the device's work, the database
// becomes read-only (Unavailable): close it and open it again. ListTrees and WriteBatch fill the
// caller's own memory and let std::bad_alloc through.
//
// Limits: keys 0 to 1024 bytes (Database::kMaxKeySize), values 0 to 1 GiB, tree names 1 to 255
// bytes. Keys are ordered bytewise (memcmp).
//
// Handles: a call with a handle that it cannot use returns an error and has no effect, whatever the
// order of calls. The error is FailedPrecondition, with a message that names the reason, for
//   a Tree that was dropped, even if a new tree has its name
//   a Tree of another database, or of an earlier open of the same database
//   a Transaction that is over or was moved from, and a Cursor of such a Transaction
//   every call after Database::Close, also of a Transaction or Cursor that outlives the Database
//   every call in a child process of the one that opened the database (see Database)
// The error is InvalidArgument for an empty Tree (Tree()), for an output pointer that is null, and
// for a Savepoint that is empty or of another transaction.
//
// Views: an argument may view memory that the call writes. Get(tree, value, &value) reads the
// record whose key `value` holds. Seek(cursor.key()) and Put(tree, cursor.key(), cursor.value())
// work, too. After an error the contents of *value are unspecified.
//
// Thread-safety: all threads may use a Database or Tree at once. One thread at a time may use a
// Transaction or Cursor.
#pragma once

#include <absl/functional/function_ref.h>
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

#include "engine/abseil_release.h"
#include "engine/cursor.h"
#include "engine/keys.h"
#include "engine/options.h"
#include "engine/statistics.h"

namespace latchkey {

class DatabaseImpl;
class TransactionImpl;
class TreeImpl;
class BulkLoadImpl;

/// A handle to a named tree of a database, cheap to copy. Calls refuse it once the database is
/// closed or the tree dropped.
class Tree {
 public:
  Tree() = default;
  /// False for Tree() alone. The handle of a dropped tree is still valid(); calls refuse it and
  /// name the tree.
  bool valid() const { return impl_ != nullptr; }

 private:
  friend class DatabaseIdentity;
  Tree(TreeImpl* impl, uint64_t database) : impl_(impl), database_(database) {}
  TreeImpl* impl_ = nullptr;
  uint64_t database_ = 0;  // DatabaseIdentity::number; checked before impl_ is followed
};

/// Writes the value of one key in parts, in memory for a page and 8 bytes for each page written: a
/// value of 1 GiB takes about 2 MiB. The key is locked from the start. Other calls of the transaction
/// see its present value until Finish. A transaction has at most one writer that is not finished, and
/// cannot commit before that one is finished or destroyed.
///
/// An unfinished writer that is destroyed gives the value up, and the key keeps the one that it has. So
/// do the transaction's end and RollbackTo, after which the calls return FailedPrecondition.
class ValueWriter {
 public:
  ~ValueWriter();
  ValueWriter(ValueWriter&&) noexcept;
  ValueWriter& operator=(ValueWriter&&) noexcept;

  /// OK if the value has begun; else the reason with which this object answers every call.
  absl::Status status() const;
  /// Adds `part` at the end of the value. InvalidArgument: the value would exceed kMaxValueSize; the
  /// writer goes on without this part. After any other error the value is given up.
  absl::Status Append(std::string_view part);
  /// Puts the value. The writer is over, except after InvalidArgument. Errors as Transaction::Put.
  absl::Status Finish();

 private:
  friend class Transaction;
  explicit ValueWriter(absl::Status refusal);
  ValueWriter(std::shared_ptr<TransactionImpl> transaction, uint64_t number);
  void GiveUp();
  std::shared_ptr<TransactionImpl> transaction_;
  uint64_t number_ = 0;   // of the value, in its transaction
  absl::Status refusal_;  // if transaction_ is null: the reason; OK = this object was moved from
};

struct BeginOptions {
  /// nullopt = Options::isolation.
  std::optional<Isolation> isolation = std::nullopt;
  /// Writes and locks return FailedPrecondition. The transaction never waits for another one, and
  /// no other waits for it. It is always serializable: its place in the serial order is that of its
  /// snapshot.
  bool read_only = false;
};

struct CommitOptions {
  /// What this commit promises; nullopt = Options::durability. kCommit waits for the device, kGroup
  /// promises it within Options::group_commit_delay_ms. With kNone the commit becomes durable with a
  /// later one, with Sync, a checkpoint or the close; a crash takes back the newest commits only.
  /// FailedPrecondition, and the transaction goes on: kCommit or kGroup with Durability::kNone.
  std::optional<Durability> durability = std::nullopt;
};

struct RunOptions {
  BeginOptions begin;
  CommitOptions commit;
  uint32_t most_attempts = 0;  ///< Aborted is returned after this many; 0 = no limit
};

/// A point in a transaction: see Transaction::SetSavepoint.
class Savepoint {
 public:
  Savepoint() = default;

 private:
  friend class TransactionImpl;
  Savepoint(uint64_t id, uint64_t database) : id_(id), database_(database) {}
  uint64_t id_ = 0;
  uint64_t database_ = 0;  // ids are unique within one database only
};

/// Reads see the writes of the transaction itself and the commits before its first read (snapshot
/// isolation, unless begun otherwise). If two transactions write the same key, one gets Aborted.
/// Destroying an unfinished transaction rolls it back.
class Transaction {
 public:
  ~Transaction();
  Transaction(Transaction&&) noexcept;
  Transaction& operator=(Transaction&&) noexcept;

  /// OK if Database::Begin began it, also once it is over; else the reason with which this object
  /// answers every call.
  absl::Status status() const;

  absl::Status Get(Tree tree, std::string_view key, std::string* value);
  /// Inserts or replaces. Waits while another transaction holds the key. Returns Aborted
  ///   - if another transaction changed the key and committed after this transaction's snapshot
  ///   - if the wait would be a deadlock, or would be for another transaction of this thread
  ///   - if the wait exceeds Options::lock_wait_ms
  absl::Status Put(Tree tree, std::string_view key, std::string_view value);
  /// As Put, but returns AlreadyExists if the tree holds the key.
  absl::Status Insert(Tree tree, std::string_view key, std::string_view value);
  /// As Put. Returns NotFound if the tree does not hold the key.
  absl::Status Delete(Tree tree, std::string_view key);
  /// Get that also takes the write lock of the key. As the first call of a transaction it takes the
  /// snapshot after the lock, so an earlier commit of another transaction never makes it return
  /// Aborted.
  absl::Status GetForUpdate(Tree tree, std::string_view key, std::string* value);
  /// Reads many keys, with the reads of missing pages in flight together. (*values)[i] is the value
  /// of keys[i], or nullopt if the tree does not hold it. On an error *values is unspecified.
  absl::Status MultiGet(Tree tree, std::span<const std::string_view> keys,
                        std::vector<std::optional<std::string>>* values);

  /// Replaces *part by up to `size` bytes of the value from byte `offset` on: fewer at its end, none
  /// behind it. *value_size, unless null, becomes the size of the whole value, so `size` 0 asks for
  /// that alone. Each call finds the key anew; all calls of a transaction read the same value, unless
  /// it writes the key. The cost grows by a page read for each 2 MiB (with pages of 4 KiB) of `offset`.
  absl::Status GetPart(Tree tree, std::string_view key, uint64_t offset, size_t size,
                       std::string* part, uint64_t* value_size = nullptr);
  /// Begins a put of a value that comes in parts. Waits for the key, and may fail, as Put does; the
  /// reason is in status() of the writer.
  ValueWriter PutInParts(Tree tree, std::string_view key);

  Cursor NewCursor(Tree tree, KeyRange range = {});

  /// Brings the pages of `keys` into the cache with many reads in flight. A hint: it has no result
  /// and no error. Calls that then use these keys in the same order (they may skip some) find them
  /// faster: the transaction remembers the leaves of up to 256 keys of up to 39 bytes each.
  void Prefetch(Tree tree, std::span<const std::string_view> keys);
  void Prefetch(std::span<const std::pair<Tree, std::string_view>> keys);

  /// A point to which RollbackTo can return any number of times. Savepoints nest.
  absl::StatusOr<Savepoint> SetSavepoint();
  /// Undoes the writes since `savepoint`. `savepoint` stays usable; savepoints set after it are
  /// gone. Locks stay held until the end of the transaction. InvalidArgument: not a savepoint of
  /// this transaction, or gone. On any other error the transaction is rolled back.
  absl::Status RollbackTo(const Savepoint& savepoint);

  /// After Commit, Rollback or an Aborted, every other call returns FailedPrecondition.
  absl::Status Commit(const CommitOptions& options = {});
  absl::Status Rollback();

  /// After an Aborted of a write or GetForUpdate: whether a repetition would end in the same way.
  /// One other transaction has kept the key locked for Options::lock_wait_ms, or a transaction of
  /// this thread has it. RunTransaction then ends; a loop of the caller's should end too.
  bool is_vain_to_repeat() const;

 private:
  friend class Database;
  explicit Transaction(absl::Status refusal);
  explicit Transaction(std::shared_ptr<TransactionImpl> impl);
  absl::Status Refusal() const;
  std::shared_ptr<TransactionImpl> impl_;  // shared with the cursors of this transaction
  absl::Status refusal_;  // if impl_ is null: the reason; OK = this object was moved from
};

/// Puts and deletes that are applied together or not at all. Database::Write reads the pages of up to
/// 256 of them at a time, so a batch over a database larger than the cache is faster than its writes
/// one by one.
class WriteBatch {
 public:
  void Put(Tree tree, std::string_view key, std::string_view value);
  void Delete(Tree tree, std::string_view key);  ///< no effect if the key is missing
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

struct BulkLoadOptions {
  double fill = 1.0;  ///< share of each leaf that is filled, 0.5 to 1
};

/// Makes a new tree out of records that come in ascending order of their keys. Pages are filled and
/// written once, past the cache and the log: a few bytes of log a page, some MiB of memory.
///
/// The tree appears at Finish with all its records, for every transaction, and is then as durable as
/// a commit. If the loader is destroyed before Finish, or Finish fails, or the process ends, nothing
/// of the load stays. To replace a tree, load a new one, drop the old one and rename the new one.
/// Thread-safety: one thread at a time may use a loader; others may use the database meanwhile.
class BulkLoader {
 public:
  ~BulkLoader();
  BulkLoader(const BulkLoader&) = delete;
  BulkLoader& operator=(const BulkLoader&) = delete;

  /// InvalidArgument: the key is not above the one before, or a limit is exceeded; the load goes on
  /// without this record. Any other error ends the load, and every later call returns it.
  absl::Status Put(std::string_view key, std::string_view value);
  /// Makes the records durable, then the tree visible. AlreadyExists: another tree got the name
  /// meanwhile. The load is over in every case, except after ResourceExhausted for lack of memory.
  absl::StatusOr<Tree> Finish();
  uint64_t records() const;  ///< accepted so far

 private:
  friend class Database;
  explicit BulkLoader(std::unique_ptr<BulkLoadImpl> impl);
  std::unique_ptr<BulkLoadImpl> impl_;
};

// ---- Compaction

struct CompactProgress {
  uint64_t leaves = 0;      ///< leaves of trees looked at
  uint64_t freed = 0;       ///< of these, united with another
  uint64_t file_bytes = 0;  ///< of the data file, now
};
/// Called for each leaf, and ten times a second while Compact waits for its rate or for the file to
/// shrink, from the thread that called. False: stop with Cancelled; what was done so far stays.
using CompactProgressFn = std::function<bool(const CompactProgress&)>;
struct CompactOptions {
  /// Limits the rate at which leaves are looked at, bytes of their pages per second. 0 = no limit.
  uint64_t max_bytes_per_second = 0;
  CompactProgressFn progress;  ///< may be empty
};
struct CompactInfo {
  uint64_t bytes_before = 0, bytes_after = 0;  ///< of the data file
  uint64_t leaves = 0, freed = 0;              ///< as CompactProgress
};

// ---- Backups (engine/backup/README.md says how they are made)

/// Steps of a backup, a check or a restore, in their order.
enum class BackupPhase {
  kCheckpoint,  ///< the backup fixes its first point
  kPages,       ///< pages are copied, checked or restored
  kLog,         ///< the rest of the log is copied, checked or restored
  kCheck,       ///< the files are read back; a restored database is recovered and verified
};
struct BackupProgress {
  BackupPhase phase = BackupPhase::kCheckpoint;
  uint64_t done = 0, total = 0;  ///< of the phase: page ids or bytes; total 0 = not known
  uint64_t bytes = 0;            ///< written so far, or read by a check
};
/// Called at least every few MiB, from the thread that called. False: stop with Cancelled. It must
/// not call BulkLoader::Finish, which may wait for the backup.
using BackupProgressFn = std::function<bool(const BackupProgress&)>;

struct BackupOptions {
  /// Write only what has changed since the newest backup in the directory, as one more backup there.
  bool incremental = false;
  /// Limits the copying of pages, bytes per second; the log is copied in addition. 0 = no limit, but
  /// while transactions are logged the backup leaves five sixths of its time to them.
  uint64_t max_bytes_per_second = 0;
  bool check = true;  ///< read everything back before the backup counts as finished
  BackupProgressFn progress;
};

struct BackupInfo {
  uint32_t number = 0;     ///< 1 = the full backup; the others are incremental
  uint64_t id = 0;         ///< random
  uint64_t parent_id = 0;  ///< of the backup before; 0 = none
  uint64_t database_id = 0;
  uint64_t pages = 0;          ///< page images in its files
  uint64_t resumed_pages = 0;  ///< of these, pages that an interrupted attempt had copied
  uint64_t bytes = 0;          ///< of its files
  uint64_t log_bytes = 0;      ///< of these, of the log
};

struct BackupCheckOptions {
  uint32_t number = 0;  ///< the newest backup to check; 0 = all of them
  BackupProgressFn progress;
};
/// Reads the backups in `directory` from the full one on and proves every byte: checksums of files,
/// pages and groups of the log, and that each backup continues the one before. Returns them, oldest
/// first. NotFound: no finished backup. DataLoss names the file that is damaged or missing.
absl::StatusOr<std::vector<BackupInfo>> CheckBackups(const std::string& directory,
                                                     const BackupCheckOptions& options = {});
/// The finished backups in `directory`, oldest first, as their manifests say; reads no more than
/// these. Errors as CheckBackups.
absl::StatusOr<std::vector<BackupInfo>> ListBackups(const std::string& directory);

struct RestoreOptions {
  uint32_t number = 0;  ///< of the backup; 0 = the newest
  /// Of the new database: techniques, cache_bytes (memory of the restore), log_sink. Its page size is
  /// that of the backup, and it is logged.
  Options database;
  bool verify = true;  ///< walk every tree of the new database at the end
  BackupProgressFn progress;
};
/// Makes a database at `path` from the backups in `directory`. `path` must not exist or be an empty
/// directory; it gets its content in one step, at the end. The new database has an identity of its
/// own: its first backup is a full one. AlreadyExists: `path` is not empty. InvalidArgument: one of
/// the two directories lies in the other; no backup has that number. Others: as CheckBackups, and
/// ResourceExhausted if the device is full. A restore that was interrupted leaves nothing at `path`.
absl::Status RestoreBackup(const std::string& directory, const std::string& path,
                           const RestoreOptions& options = {});

/// An open database. It belongs to the process that opened it. In a child made by fork() every call
/// with a status returns FailedPrecondition, and the other calls have no effect. Destroying it
/// there frees the object alone and touches neither the files nor the parent. The parent goes on,
/// and may close and reopen the database while the child lives. A process that becomes a daemon
/// must open its databases after its last fork().
class Database {
 public:
  static constexpr size_t kMaxKeySize = 1024;
  static constexpr size_t kMaxValueSize = size_t{1} << 30;
  static constexpr size_t kMaxTreeNameSize = 255;

  /// `path` is the directory of the database's files. Open creates it if it is missing; its parent
  /// must exist. A refused open changes nothing. FailedPrecondition: the database is open
  /// elsewhere, was not closed cleanly, or is not a Latchkey database. InvalidArgument: impossible
  /// options, or those fixed at creation are others (Options::page_size).
  static absl::StatusOr<std::unique_ptr<Database>> Open(const std::string& path,
                                                        const Options& options);
  /// Closes as Close does and ignores its status.
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// Rolls back the running transactions (with every durability), writes everything out and
  /// releases the path. Afterwards every call returns FailedPrecondition, except Close (OK), and
  /// GetStatistics, GetLatencies, GetMetrics, page_size and DeviceDescription (values at the close). The database is also
  /// closed if Close returns an error: with a log, the next open recovers; without one, the next
  /// open refuses it as not closed cleanly. Exception: after ResourceExhausted for lack of memory
  /// it is still open, and the caller may try again. REQUIRES: no other call in progress.
  absl::Status Close();

  /// The tree of that name. Created if it is missing and `create` is true, else NotFound.
  absl::StatusOr<Tree> OpenTree(std::string_view name, bool create = true);
  /// Drops the tree with all its records. The drop takes effect at once, for snapshots too, and is
  /// part of no transaction. From then on calls refuse its handles and cursors, and calls that are
  /// reading the tree return the same error. FailedPrecondition, and the tree stays, if a running
  /// transaction has written or locked keys in it. About 150 bytes of memory per dropped tree stay
  /// in use until the database is closed.
  absl::Status DropTree(std::string_view name);
  std::vector<std::string> ListTrees() const;
  /// Gives a tree another name, at once and for all transactions; handles and cursors stay usable.
  /// As durable as a commit. NotFound: there is no tree `from`. AlreadyExists: there is a tree `to`.
  absl::Status RenameTree(std::string_view from, std::string_view to);

  /// Deletes every record of `range`, in one step and as a transaction of its own: durable as a
  /// commit, by one log record, and then without reading the leaves one by one. Transactions with an
  /// older snapshot, and their cursors, go on reading the records. Until the last of them has ended
  /// the pages stay in use, and writes to the range wait (Options::lock_wait_ms). The call waits for
  /// the transactions that have written in the tree. An empty range deletes nothing.
  ///   InvalidArgument     the range ends before it begins, or a key is too long
  ///   FailedPrecondition  this thread has begun a transaction that has written in the tree
  ///   Aborted             such a transaction has not ended within Options::lock_wait_ms
  ///   ResourceExhausted   the log is full; nothing was deleted
  absl::Status DeleteRange(Tree tree, const KeyRange& range);
  /// DeleteRange of all keys. The tree stays, and its handles stay usable.
  absl::Status ClearTree(Tree tree);

  /// A loader for a new tree `name`. AlreadyExists: there is a tree of that name.
  absl::StatusOr<std::unique_ptr<BulkLoader>> NewBulkLoader(std::string_view name,
                                                            const BulkLoadOptions& options = {});

  /// If the transaction cannot begin, the object returned answers every call with the reason:
  /// ResourceExhausted if 4,096 transactions are running or memory ran out, FailedPrecondition if
  /// the database is closed.
  Transaction Begin(const BeginOptions& options = {});

  // Each of these calls is a transaction of its own and retries conflicts inside. It returns
  // Aborted if another transaction kept a key locked for longer than Options::lock_wait_ms, or if
  // the lock is held by a transaction that this thread has used last (that wait would never end).
  // While other transactions hold the key one after another, it repeats, also for longer than that.
  absl::Status Get(Tree tree, std::string_view key, std::string* value);
  absl::Status Put(Tree tree, std::string_view key, std::string_view value);
  absl::Status Delete(Tree tree, std::string_view key);
  absl::Status Write(const WriteBatch& batch, const CommitOptions& commit = {});
  absl::Status MultiGet(Tree tree, std::span<const std::string_view> keys,
                        std::vector<std::optional<std::string>>* values);

  /// Begins a transaction, runs `body(transaction)` and commits. If `body` or the commit returns
  /// Aborted, rolls back, waits a little and runs `body` again. Any other error of `body` is returned
  /// after a rollback. `body` must not commit. Aborted is returned after `most_attempts`, and when the
  /// next attempt would fail in the same way (see Get).
  absl::Status RunTransaction(absl::FunctionRef<absl::Status(Transaction&)> body,
                              const RunOptions& options = {});
  /// On return every commit acknowledged before the call is durable, whatever its durability.
  /// FailedPrecondition: the database was opened with Durability::kNone.
  absl::Status Sync();

  /// Estimates of the records of a range, and of the bytes of their pages, from inner pages and a few
  /// leaves: usually some percent off. Writes that are not committed may count.
  absl::StatusOr<uint64_t> ApproximateCount(Tree tree, const KeyRange& range = {});
  absl::StatusOr<uint64_t> ApproximateBytes(Tree tree, const KeyRange& range = {});

  /// Writes every dirty page and makes the file consistent with this moment.
  absl::Status Checkpoint();
  /// Changes Options::cache_bytes while running: the frames and the bound of old versions. Buffers of
  /// log and layout keep the sizes of the open, so they may exceed a much smaller cache until the
  /// next open. InvalidArgument, with the minimum, below what is needed.
  absl::Status SetCacheBytes(uint64_t cache_bytes);

  Statistics GetStatistics() const;
  /// Latencies of the calls of this database, and of what they wait for. May be called at any time.
  std::vector<OperationLatency> GetLatencies() const;
  /// GetStatistics and GetLatencies as text.
  std::string GetMetrics(MetricsFormat format) const;
  /// Restarts the minimum and maximum of space utilisation from now.
  void ResetStatisticsExtremes();
  uint32_t page_size() const;
  /// The device that holds the data, e.g. "file(db/data.lk, O_DIRECT, libaio)".
  std::string DeviceDescription() const;
  /// Walks every page and checks tree order, separators, overflow chains, page ownership, and the
  /// checksums of pages read from the device. DataLoss names the first fault. While a transaction
  /// reads an older state, Verify does not look for leaked pages: pages that only this transaction
  /// needs look the same. REQUIRES: no writers.
  absl::Status Verify();
  /// Makes the data file small, while other threads go on reading and writing: fills leaves that
  /// deletes have left sparse, then has the pages at the end of the file moved to its front, and cuts
  /// it to the size that Techniques::space_utilization wants. (The file shrinks to that size by
  /// itself after deletes. Compact fills leaves that are less sparse, too, and waits for the end.)
  /// A crash at any moment costs nothing but the progress.
  ///   FailedPrecondition  another Compact runs
  ///   Cancelled           `progress` returned false
  ///   DataLoss            a page of the database is damaged; the message names it
  absl::StatusOr<CompactInfo> Compact(const CompactOptions& options = {});
  /// Copies a consistent state into `directory` while other threads go on reading and writing. The
  /// state is that of one moment before the return, and holds every commit that was acknowledged
  /// before the call. Users wait for it no longer than for a checkpoint; BulkLoader::Finish may wait
  /// until pages of a load that ended just before are copied. `directory` is created if
  /// it is missing; its parent must exist. A full backup needs one that is empty, or that holds an
  /// unfinished backup of this database: that one is continued, and only what changed since is copied
  /// again. A backup counts (CheckBackups, RestoreBackup) from the moment this returns OK.
  ///   FailedPrecondition  without a log (Durability::kNone); another backup runs; an incremental
  ///                       backup of a directory without a full one, of another database, or of one
  ///                       that was put back to an older state
  ///   AlreadyExists       the directory holds other files, or a finished backup and not `incremental`
  ///   InvalidArgument     the directory lies in that of the database, or is a file
  ///   Cancelled           `progress` returned false; the same call continues later
  ///   DataLoss            a page of the database is damaged; the message names it
  absl::StatusOr<BackupInfo> Backup(const std::string& directory,
                                    const BackupOptions& options = {});

 private:
  friend class DatabaseImpl;
  explicit Database(std::unique_ptr<DatabaseImpl> impl);
  std::unique_ptr<DatabaseImpl> impl_;
};

}  // namespace latchkey
