// A database: devices, layout, log, pool, cleaners, versions and catalogue, put together.
//
// Lock order: the checkpoint's mutex, then the catalogue's, then page latches, then the log's
// latch. A transaction waits for another one, or for the log, with none of them held; only the pool
// may wait for the log under page latches, because flushing needs none.
//
// Thread-safety: as Database says in latchkey.h.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bufferpool/buffer_pool.h"
#include "bufferpool/page_cleaner.h"
#include "engine/btree/tree_drop.h"
#include "engine/catalog.h"
#include "engine/latchkey.h"
#include "engine/log/checkpointer.h"
#include "engine/log/client_root.h"
#include "engine/log/engine_log.h"
#include "engine/log/recovery.h"
#include "engine/memory_plan.h"
#include "engine/open_store.h"
#include "engine/overflow.h"
#include "engine/transaction_impl.h"
#include "engine/txn/snapshot_manager.h"
#include "engine/txn/version_store.h"
#include "storage/page_store.h"

namespace latchkey {

/// What DatabaseImpl::Verify has looked at.
struct VerifiedPages {
  uint64_t inner = 0;       ///< pages of trees above the leaves, the catalogue's included
  uint64_t leaves = 0;      ///< the catalogue's included
  uint64_t overflow = 0;    ///< of values that are too large for a leaf
  uint64_t free_ids = 0;    ///< page ids that nothing uses and no tree names
  uint64_t trees = 0;       ///< with the catalogue
  uint64_t records = 0;     ///< without deleted ones that are still kept
  uint64_t page_reads = 0;  ///< from the device, each with its proof; the others were in the cache

  uint64_t pages() const { return inner + leaves + overflow; }
};

class DatabaseImpl final : public GcClient, private Recovery::Client {
 public:
  /// Recovers if need be; see Database::Open.
  static absl::StatusOr<std::unique_ptr<DatabaseImpl>> Open(Runtime& runtime,
                                                            const std::string& path,
                                                            const Options& options);
  /// Over devices that have no path: for tests and simulation.
  static absl::StatusOr<std::unique_ptr<DatabaseImpl>> OpenOverDevices(Runtime& runtime,
                                                                       DatabaseDevices devices,
                                                                       const Options& options);
  /// Over a store that is open already.
  static absl::StatusOr<std::unique_ptr<DatabaseImpl>> OpenOver(Runtime& runtime,
                                                                OpenedStore opened,
                                                                const Options& options);
  /// The public interface over one that was opened, for campaigns that use it on simulated devices.
  static std::unique_ptr<Database> AsDatabase(std::unique_ptr<DatabaseImpl> impl);
  ~DatabaseImpl() override;

  absl::Status Close();
  absl::StatusOr<TreeImpl*> OpenTree(std::string_view name, bool create);
  absl::Status DropTree(std::string_view name);
  std::vector<std::string> ListTrees() const { return catalog_->Names(); }

  std::unique_ptr<TransactionImpl> Begin(const BeginOptions& options = {});
  absl::Status Get(TreeImpl& tree, std::string_view key, std::string* value);
  /// Runs `body` in a transaction of its own, again after every conflict.
  absl::Status RunTransaction(absl::FunctionRef<absl::Status(TransactionImpl&)> body);

  absl::Status Checkpoint();
  absl::Status SetCacheBytes(uint64_t cache_bytes);
  Statistics GetStatistics() const;
  /// As Database::Verify; *verified: what was looked at, also up to a fault.
  absl::Status Verify(VerifiedPages* verified);
  absl::Status Verify() {
    VerifiedPages ignored;
    return Verify(&ignored);
  }
  PageStore& store() { return *store_; }
  /// nullptr: nothing is logged.
  EngineLog* engine_log() { return engine_log_.get(); }
  /// Taken since the open.
  uint64_t checkpoints() const { return checkpointer_->checkpoints(); }
  TransactionContext& context() { return *context_; }

  // GcClient.
  void PurgeGhost(TreeId tree, std::string_view key) override;
  void FreeOverflow(TreeId tree, std::string_view reference) override;

 private:
  DatabaseImpl(Runtime& runtime, Options options);

  absl::Status Open(OpenedStore opened);
  /// `options` with the isolation that the database gives to those that ask for none.
  BeginOptions Resolve(BeginOptions options) const {
    if (!options.isolation) options.isolation = options_.isolation;
    return options;
  }
  absl::Status OpenPool(const MemoryPlan& plan);
  absl::Status OpenLogFile(OpenedStore& opened);
  /// `redo_has_images`: as EngineLogOptions.
  absl::Status StartLogging(bool redo_has_images);
  absl::Status OpenCatalog(TxnId first_txn);
  absl::Status StartCleaners();
  /// Whether a checkpoint was taken before it returns. `recovery` nullptr: the log is new.
  absl::StatusOr<bool> StartCheckpoints(const Recovery* recovery);
  ClientRoot DescribeRoot() const;
  /// Makes a change of the catalogue as durable as a commit.
  absl::Status AcknowledgeTrees();
  absl::Status DropLoggedTree(std::string_view name);
  // Frees what is left of the dropped tree, without a log. OutOfMemory: it waits still; another
  // error: what could not be freed of it stays lost. REQUIRES: drops_mutex_.
  absl::Status FreeDroppedTree();
  absl::Status FinishDrops() {
    MutexLock lock(drops_mutex_);
    return FreeDroppedTree();
  }
  absl::Status DropIntended(std::string_view name, LogTxn& drop);
  void TryPurgeGhost(TreeId tree, std::string_view key);
  void FreeChain(const OverflowReference& chain);
  absl::Status FreeTree(BTree& tree, LogTxn& drop, absl::FunctionRef<bool(PageId)> is_free);

  // Recovery::Client; PurgeGhost serves it, too.
  TreeImpl* FindTree(TreeId tree) override { return catalog_->FindTree(tree); }
  absl::Status FinishDrop(const LogAnalysis& analysis, const LogAnalysis::Drop& drop) override;

  Runtime& runtime_;
  const Options options_;
  LogSink log_sink_;
  ClientRoot root_;      // as of the open
  bool is_new_ = false;  // nothing has ever been in it
  uint64_t log_buffer_bytes_ = 0;
  std::unique_ptr<PageStore> store_;
  std::unique_ptr<Log> log_file_;  // nullptr: nothing is logged
  std::unique_ptr<BufferPool> pool_;
  std::unique_ptr<EngineLog> engine_log_;
  std::unique_ptr<PageCleaners> cleaners_;
  std::unique_ptr<OverflowStore> overflow_;
  std::unique_ptr<Catalog> catalog_;
  std::unique_ptr<SnapshotManager> snapshots_;
  std::unique_ptr<VersionStore> versions_;
  std::unique_ptr<TransactionContext> context_;
  std::unique_ptr<Checkpointer> checkpointer_;
  Mutex drops_mutex_;                     // without a log; before the catalogue's; guards the next
  std::optional<TreeDrop> dropped_tree_;  // not all of its pages could be freed so far
  std::atomic<uint64_t> cache_bytes_;
  std::optional<Statistics::Recovery> recovery_;  // of the open
  bool open_ = false;
};

}  // namespace latchkey
