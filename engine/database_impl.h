// A database: devices, layout, log, pool, cleaners, versions and catalogue, put together.
//
// Lock order: the checkpoint's mutex, then the catalogue's, then page latches, then the log's
// latch. A transaction holds none of them while it waits for another transaction, for room in the
// log, or for the sync of its commit. Under page latches two things may wait for the log's I/O: the
// pool, which writes the log before a page, and an append when both halves of the log's buffer are
// full. Flushing the log needs no page latch.
//
// Thread-safety: as for Database in latchkey.h.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bufferpool/buffer_pool.h"
#include "bufferpool/cleaning/page_cleaner.h"
#include "engine/btree/tree_drop.h"
#include "engine/bulk/bulk_load_impl.h"
#include "engine/cache_plan.h"
#include "engine/catalog.h"
#include "engine/database_identity.h"
#include "engine/latchkey.h"
#include "engine/log/checkpointer.h"
#include "engine/log/client_root.h"
#include "engine/log/engine_log.h"
#include "engine/log/recovery.h"
#include "engine/memory_plan.h"
#include "engine/open_store.h"
#include "engine/overflow.h"
#include "engine/range/range_deletes.h"
#include "engine/range_estimate.h"
#include "engine/store_client.h"
#include "engine/transaction_impl.h"
#include "engine/txn/snapshot_manager.h"
#include "engine/txn/version_store.h"
#include "engine/watch/latencies.h"
#include "engine/watch/metrics_publisher.h"
#include "storage/page_store.h"

namespace latchkey {

/// Counts of what DatabaseImpl::Verify has checked.
struct VerifiedPages {
  uint64_t inner = 0;       ///< inner pages of trees, including those of the catalogue
  uint64_t leaves = 0;      ///< including those of the catalogue
  uint64_t overflow = 0;    ///< pages of values that are too large for a leaf
  uint64_t free_ids = 0;    ///< unused page ids
  uint64_t trees = 0;       ///< including that of the catalogue
  uint64_t records = 0;     ///< without ghosts
  uint64_t page_reads = 0;  ///< pages read from the device and proved; the others were in the cache

  uint64_t pages() const { return inner + leaves + overflow; }
};

struct BackupSizing;

class DatabaseImpl final : public GcClient, private Recovery::Client {
 public:
  /// Recovers if need be; see Database::Open. `sizing`: sizes of a new database in files.
  static absl::StatusOr<std::unique_ptr<DatabaseImpl>> Open(Runtime& runtime,
                                                            const std::string& path,
                                                            const Options& options,
                                                            const DatabaseSizing& sizing = {});
  /// Opens over devices without a path: for tests and simulation.
  static absl::StatusOr<std::unique_ptr<DatabaseImpl>> OpenOverDevices(Runtime& runtime,
                                                                       DatabaseDevices devices,
                                                                       const Options& options);
  /// Opens over a store that is already open.
  static absl::StatusOr<std::unique_ptr<DatabaseImpl>> OpenOver(Runtime& runtime,
                                                                OpenedStore opened,
                                                                const ResolvedOptions& options);
  /// The public interface over `impl`, for campaigns that use it on simulated devices.
  static std::unique_ptr<Database> AsDatabase(std::unique_ptr<DatabaseImpl> impl);
  /// The database behind the public interface. REQUIRES: it is open.
  static DatabaseImpl& Of(Database& database);
  ~DatabaseImpl() override;

  absl::Status Close();
  /// Close that also releases files and memory. Afterwards only last_words() is left.
  absl::Status CloseForGood();
  /// Replaces the destruction in a child of the process that opened the database.
  static void LeaveToParent(std::unique_ptr<DatabaseImpl> impl);
  absl::StatusOr<TreeImpl*> OpenTree(std::string_view name, bool create);
  absl::Status DropTree(std::string_view name);
  std::vector<std::string> ListTrees() const { return catalog_->Names(); }
  absl::Status RenameTree(std::string_view from, std::string_view to);
  /// As Database::NewBulkLoader.
  absl::StatusOr<std::unique_ptr<BulkLoadImpl>> NewBulkLoad(std::string_view name,
                                                            const BulkLoadOptions& options);
  /// As Database::DeleteRange.
  absl::Status DeleteRange(TreeImpl& tree, KeyRange range);
  /// FailedPrecondition or InvalidArgument: the handle cannot be used.
  absl::StatusOr<RangeEstimate> Estimate(Tree tree, const KeyRange& range);

  std::unique_ptr<TransactionImpl> Begin(const BeginOptions& options = {});
  /// `options` with the database's default isolation if they name none, read-only if it is.
  BeginOptions Resolve(BeginOptions options) const {
    if (!options.isolation) options.isolation = options_.isolation;
    options.read_only |= options_.read_only;
    return options;
  }
  /// FailedPrecondition: the database was opened with Options::read_only.
  absl::Status CheckWritable() const;
  absl::Status Get(TreeImpl& tree, std::string_view key, std::string* value);
  /// The leaf that covers `key`; with FixMode::kLatched it stays latched in `held`.
  absl::Status FindLeaf(TreeImpl& tree, std::string_view key, OptimisticGuard* leaf,
                        SharedGuard* held);
  /// Runs `body` in a transaction of its own and repeats it after every conflict. Aborted only if a
  /// wait for another transaction exceeded Options::lock_wait_ms, or would have been for a
  /// transaction of this actor.
  absl::Status RunTransaction(absl::FunctionRef<absl::Status(TransactionImpl&)> body,
                              const CommitOptions& commit = {});
  /// As Database::Put.
  absl::Status Put(TreeImpl& tree, std::string_view key, std::string_view value);
  /// Waits before a transaction that was aborted runs again.
  void PauseBeforeRetry(Backoff& backoff);

  /// As Database::Sync.
  absl::Status Sync();
  absl::Status Checkpoint();
  /// As Database::Compact.
  absl::StatusOr<CompactInfo> Compact(const CompactOptions& options);
  /// As Database::Backup.
  absl::StatusOr<BackupInfo> Backup(const std::string& directory, const BackupOptions& options,
                                    const BackupSizing& sizing);
  absl::Status SetCacheBytes(uint64_t cache_bytes);
  Statistics GetStatistics() const;
  Latencies& latencies() { return latencies_; }
  /// As BufferPool::SetFixRecorder.
  void SetFixRecorder(FixRecorder* recorder) { pool_->SetFixRecorder(recorder); }
  /// As Database::Verify. *verified counts the checked parts, also when a fault ends the walk.
  absl::Status Verify(VerifiedPages* verified);
  absl::Status Verify() {
    VerifiedPages ignored;
    return Verify(&ignored);
  }
  PageStore& store() { return *store_; }
  /// nullptr = nothing is logged.
  EngineLog* engine_log() { return engine_log_.get(); }
  /// Checkpoints since the open.
  uint64_t checkpoints() const { return checkpointer_->checkpoints(); }
  TransactionContext& context() { return *context_; }
  /// Says which handles belong to this database, and whether calls may still use it.
  const DatabaseIdentity& identity() const { return identity_; }

  /// The figures that stay readable after CloseForGood.
  struct LastWords {
    Statistics statistics;
    uint32_t page_size;
    std::string device;
  };
  /// nullptr before CloseForGood.
  const LastWords* last_words() const { return last_words_.get(); }

  // GcClient.
  void PurgeGhost(TreeId tree, std::string_view key, CommitTs unneeded_until) override;
  void FreeOverflow(TreeId tree, std::string_view reference) override;

 private:
  DatabaseImpl(Runtime& runtime, ResolvedOptions options);
  /// Put by BlindPut.
  absl::StatusOr<BlindPut::Outcome> PutBlind(TreeImpl& tree, std::string_view key,
                                             std::string_view value, const DescentHint& at);
  /// Splits leaves that have no room for another put, when the change buffer brings them in.
  void SplitFullLeaves();

  absl::Status Open(OpenedStore opened);
  absl::StatusOr<CachePlan> PlanCache(uint64_t cache_bytes) const;
  void WarnOfSmallCache(const CachePlan& plan, uint32_t segment_bytes) const;
  absl::Status OpenPool(const MemoryPlan& plan);
  absl::Status OpenLogFile(OpenedStore& opened);
  /// `redo_has_images`: as EngineLogOptions.
  absl::Status StartLogging(bool redo_has_images);
  absl::Status OpenCatalog(TxnId first_txn);
  absl::Status StartCleaners();
  /// Returns whether a checkpoint was completed inside the call. `recovery` nullptr = the log is
  /// new.
  absl::StatusOr<bool> StartCheckpoints(const Recovery* recovery);
  absl::Status StartPublishing();
  ClientRoot DescribeRoot() const;
  /// Makes a change of the catalogue as durable as a commit.
  absl::Status AcknowledgeTrees();
  /// FailedPrecondition if a running transaction has written or locked a key in `tree`.
  absl::Status CheckNotWritten(const TreeImpl& tree) const;
  // Both drop a tree that is already marked (TreeImpl::BeginDrop).
  absl::Status DropLoggedTree(const TreeImpl& tree);
  absl::Status DropUnloggedTree(TreeId id);
  // Without a log: frees the rest of the dropped tree. OutOfMemory: the rest still waits. On any
  // other error the pages that could not be freed stay lost. REQUIRES: drops_mutex_.
  absl::Status FreeDroppedTree();
  absl::Status FinishDrops() {
    MutexLock lock(drops_mutex_);
    return FreeDroppedTree();
  }
  absl::Status DropIntended(TreeId id, LogTxn& drop);
  void TryPurgeGhost(TreeId tree, std::string_view key, CommitTs unneeded_until);
  void FreeChain(const OverflowReference& chain);
  absl::Status FreeTree(BTree& tree, LogTxn& drop, absl::FunctionRef<bool(PageId)> is_free);

  // Range deletes (database_range_delete.cc).
  absl::Status AwaitWriters(RangeDelete& entered);
  absl::Status CommitRange(RangeDelete& entered, Lsn* commit, Committed* done);
  /// Takes the records of committed range deletes out of the pages, oldest first, as far as no
  /// snapshot needs them. FailedPrecondition: one is needed.
  absl::Status FinishRanges() LATCHKEY_EXCLUDES(ranges_mutex_);
  absl::Status FinishOldestRange(RangeDelete& oldest) LATCHKEY_REQUIRES(ranges_mutex_);
  /// FinishRanges for those who can go on without it.
  void TryFinishRanges();
  void AbandonRanges();

  /// Unavailable: without a log, pages hold changes that were never committed.
  absl::Status RollBackRunning();
  void ReleaseParts();

  // Recovery::Client; PurgeGhost is part of it, too.
  TreeImpl* FindTree(TreeId tree) override { return catalog_->FindTree(tree); }
  absl::Status FinishRangeDelete(const LogAnalysis& analysis,
                                 const LogAnalysis::RangeDelete& range_delete) override;
  absl::Status FinishDrop(const LogAnalysis& analysis, const LogAnalysis::Drop& drop) override;

  Runtime& runtime_;
  std::string path_;  // of the files; empty: there are none
  uint64_t database_id_ = 0;
  std::atomic<bool> backup_runs_{false};
  std::atomic<bool> compact_runs_{false};
  DatabaseIdentity identity_;
  const ResolvedOptions options_;
  LogSink log_sink_;
  Latencies latencies_;
  ClientRoot root_;      // at the open
  bool is_new_ = false;  // nothing was ever stored in it
  uint64_t log_buffer_bytes_ = 0;
  uint64_t buffer_bytes_ = 0;  // the most that the buffers of store_ will take
  std::unique_ptr<PageStore> store_;
  std::unique_ptr<Log> log_file_;  // nullptr = nothing is logged
  std::unique_ptr<BufferPool> pool_;
  std::unique_ptr<ChangeBuffer> changes_;  // nullptr = there is none
  std::unique_ptr<StoreClient> store_client_;
  std::unique_ptr<EngineLog> engine_log_;
  std::unique_ptr<PageCleaners> cleaners_;
  std::unique_ptr<OverflowStore> overflow_;
  std::unique_ptr<Catalog> catalog_;
  std::unique_ptr<SnapshotManager> snapshots_;
  std::unique_ptr<VersionStore> versions_;
  std::unique_ptr<RangeDeletes> ranges_;
  std::unique_ptr<TransactionContext> context_;
  std::unique_ptr<BulkLoads> bulk_loads_;
  std::unique_ptr<Checkpointer> checkpointer_;
  std::unique_ptr<MetricsPublisher> publisher_;
  Mutex ranges_mutex_;                    // held while the pages of a range delete change
  Mutex drops_mutex_;                     // used without a log; before the catalogue's
  std::optional<TreeDrop> dropped_tree_;  // guarded by drops_mutex_; not fully freed yet
  std::atomic<uint64_t> cache_bytes_;
  std::optional<Statistics::Recovery> recovery_;  // of this open
  bool open_ = false;
  std::unique_ptr<const LastWords> last_words_;
  DatabaseImpl* left_before_ = nullptr;  // see LeaveToParent
};

}  // namespace latchkey
