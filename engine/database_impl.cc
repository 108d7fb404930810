#include "engine/database_impl.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/cache_plan.h"
#include "engine/watch/metrics_text.h"
#include "engine/watch/statistics_figures.h"
#include "storage/base/check.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

LogSink AdaptSinks(const Options& options) {
  LogSink::Messages messages;
  if (options.log_sink) {
    messages = [sink = options.log_sink](LogLevel level, std::string_view message) {
      sink(static_cast<LogSeverity>(level), message);
    };
  }
  LogSink::Events events;
  if (options.event_sink) {
    events = [sink = options.event_sink](LogEvent event, std::string_view message,
                                         uint64_t duration_ns) {
      sink({static_cast<EventKind>(event), message, duration_ns});
    };
  }
  return {std::move(messages), std::move(events)};
}
static_assert(static_cast<int>(LogLevel::kError) == static_cast<int>(LogSeverity::kError));
static_assert(static_cast<int>(LogEvent::kSlowCall) == static_cast<int>(EventKind::kSlowCall));

/// Measures the seconds from lap to lap.
class StopWatch {
 public:
  explicit StopWatch(Runtime& runtime) : runtime_(runtime), since_(runtime.Now()) {}
  double Lap() {
    const Nanos before = std::exchange(since_, runtime_.Now());
    return static_cast<double>(since_ - before) / kNanosPerSecond;
  }

 private:
  Runtime& runtime_;
  Nanos since_;
};

}  // namespace

DatabaseImpl::DatabaseImpl(Runtime& runtime, ResolvedOptions options)
    : runtime_(runtime),
      options_(std::move(options)),
      log_sink_(AdaptSinks(options_)),
      latencies_(runtime, options_.latency_sampling, options_.slow_call_ms * kNanosPerMilli,
                 log_sink_),
      bulk_loads_(std::make_unique<BulkLoads>(runtime)),
      ranges_mutex_(runtime),
      drops_mutex_(runtime),
      cache_bytes_(options_.cache_bytes) {}

absl::StatusOr<std::unique_ptr<DatabaseImpl>> DatabaseImpl::Open(Runtime& runtime,
                                                                 const std::string& path,
                                                                 const Options& options,
                                                                 const DatabaseSizing& sizing) {
  LATCHKEY_ASSIGN_OR_RETURN(ResolvedOptions resolved, ResolveOptions(options));
  if (options.read_only) resolved = ForReading(resolved, HasLogFiles(path));
  const LogSink log_sink = AdaptSinks(options);
  if (resolved.durability == Durability::kNone && !options.in_memory_device &&
      !options.error_if_exists && HasLogFiles(path)) {
    // The log is recovered first; an open without a log would never read it again.
    ResolvedOptions recovering = resolved;
    recovering.durability = Durability::kCommit;
    LATCHKEY_ASSIGN_OR_RETURN(OpenedStore opened, OpenStore(runtime, path, recovering, log_sink));
    LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<DatabaseImpl> db,
                              OpenOver(runtime, std::move(opened), recovering));
    LATCHKEY_RETURN_IF_ERROR(db->Close());
  }
  LATCHKEY_ASSIGN_OR_RETURN(OpenedStore opened,
                            OpenStore(runtime, path, resolved, log_sink, sizing));
  LATCHKEY_ASSIGN_OR_RETURN(std::unique_ptr<DatabaseImpl> db,
                            OpenOver(runtime, std::move(opened), resolved));
  if (!options.in_memory_device) db->path_ = path;
  return db;
}

absl::StatusOr<std::unique_ptr<DatabaseImpl>> DatabaseImpl::OpenOverDevices(
    Runtime& runtime, DatabaseDevices devices, const Options& options) {
  LATCHKEY_ASSIGN_OR_RETURN(ResolvedOptions resolved, ResolveOptions(options));
  if (options.read_only) resolved = ForReading(resolved, devices.log != nullptr);
  LATCHKEY_ASSIGN_OR_RETURN(OpenedStore opened, OpenStoreOver(runtime, std::move(devices), resolved,
                                                              AdaptSinks(options)));
  return OpenOver(runtime, std::move(opened), resolved);
}

absl::StatusOr<std::unique_ptr<DatabaseImpl>> DatabaseImpl::OpenOver(
    Runtime& runtime, OpenedStore opened, const ResolvedOptions& options) {
  std::unique_ptr<DatabaseImpl> db(new DatabaseImpl(runtime, options));
  // If memory runs out, the destruction of `db` gives back what the open has taken.
  LATCHKEY_RETURN_IF_ERROR(CatchOutOfMemory([&] { return db->Open(std::move(opened)); }));
  return db;
}

absl::Status DatabaseImpl::Open(OpenedStore opened) {
  store_ = std::move(opened.store);
  database_id_ = opened.database_id;
  is_new_ = opened.client_root.empty();
  if (!is_new_) {
    LATCHKEY_ASSIGN_OR_RETURN(root_, DecodeClientRoot(opened.client_root));
  }
  if (opened.log_device != nullptr) LATCHKEY_RETURN_IF_ERROR(OpenLogFile(opened));
  buffer_bytes_ = opened.buffer_bytes;
  LATCHKEY_ASSIGN_OR_RETURN(const CachePlan plan, PlanCache(options_.cache_bytes));
  if (plan.over_bytes > 0) WarnOfSmallCache(plan, opened.segment_bytes);
  LATCHKEY_RETURN_IF_ERROR(OpenPool(plan));
  std::optional<Recovery> recovery;
  Statistics::Recovery times{.layout_s = opened.layout_s};
  StopWatch watch(runtime_);
  if (log_file_ != nullptr) {
    if (root_.has_log) {
      recovery.emplace(*log_file_, root_, store_->log_reach(), log_sink_);
      LATCHKEY_RETURN_IF_ERROR(recovery->Analyze());
      times.log_read_s = watch.Lap();
    }
    LATCHKEY_RETURN_IF_ERROR(StartLogging(!recovery || recovery->analysis().all_have_images()));
  }
  LATCHKEY_RETURN_IF_ERROR(StartCleaners());
  TxnId first_txn = root_.next_txn_id;
  if (recovery) {
    LATCHKEY_RETURN_IF_ERROR(recovery->Redo(*pool_));
    times.redo_s = watch.Lap();
    pool_->RefusePagesBeyondLog();
    first_txn = std::max(first_txn, recovery->analysis().next_txn());
    root_.next_tree_id = std::max(root_.next_tree_id, recovery->analysis().next_tree());
  }
  LATCHKEY_RETURN_IF_ERROR(OpenCatalog(first_txn));
  if (opened.spill_device != nullptr) {
    versions_->SetSpill(std::move(opened.spill_device), SnapshotSpillBytes(options_));
  }
  versions_->SetBound(plan.version_bytes);
  if (recovery) {
    LATCHKEY_RETURN_IF_ERROR(recovery->Undo(*pool_, *engine_log_, *overflow_, *this));
    times.undo_s = watch.Lap();
  }
  LATCHKEY_ASSIGN_OR_RETURN(const bool cut_off, StartCheckpoints(recovery ? &*recovery : nullptr));
  if (recovery && recovery->is_needed()) {
    if (cut_off) times.checkpoint_s = watch.Lap();
    recovery->Describe(&times);
    recovery_ = times;
  }
  if (opened.finish_opening) LATCHKEY_RETURN_IF_ERROR(opened.finish_opening());
  versions_->StartReclaimer();
  open_ = true;
  return StartPublishing();
}

absl::Status DatabaseImpl::StartPublishing() {
  if (options_.metrics_path.empty()) return absl::OkStatus();
  const auto text = [this, format = MetricsFormatOf(options_.metrics_path)] {
    return MetricsText(format, runtime_.WallClockSeconds(), GetStatistics(), latencies_.List());
  };
  LATCHKEY_ASSIGN_OR_RETURN(
      publisher_, MetricsPublisher::Start(runtime_, options_.metrics_path, text, log_sink_));
  return absl::OkStatus();
}

absl::StatusOr<CachePlan> DatabaseImpl::PlanCache(uint64_t cache_bytes) const {
  return latchkey::PlanCache(*store_, options_, cache_bytes, log_buffer_bytes_, buffer_bytes_);
}

void DatabaseImpl::WarnOfSmallCache(const CachePlan& plan, uint32_t segment_bytes) const {
  const uint64_t most = options_.cache_bytes + plan.over_bytes;
  LogTo(log_sink_, LogLevel::kWarning,
        fmt::format("a cache of {} bytes is too small for this database, which has segments of {} "
                    "bytes and pages of {}: it may take {} bytes; give it a cache of that size, or "
                    "copy it into a database that was created with a small cache",
                    options_.cache_bytes, segment_bytes, store_->page_size(), most));
}

absl::Status DatabaseImpl::OpenPool(const MemoryPlan& plan) {
  const TechniqueChoices& choices = options_.choices;
  LATCHKEY_ASSIGN_OR_RETURN(std::unique_ptr<FixPolicy> policy,
                            MakeFixPolicy(runtime_, choices.replacement, choices.synchronization,
                                          plan.frames, plan.max_frames, options_.techniques.seed));
  LATCHKEY_ASSIGN_OR_RETURN(pool_, BufferPool::Create(runtime_, *store_, std::move(policy),
                                                      plan.frames, plan.max_frames));
  pool_->SetPageCheck(&CheckPageShape);
  pool_->SetLatencies({&latencies_.of(Timed::kPageRead),
                       &latencies_.of(Timed::kPageWrite),
                       {latencies_.waits(), log_sink_}});
  pool_->SetFixMode(choices.fix.entry().mode);
  pool_->SetPageIn(choices.page_in.entry().page_in);
  pool_->SetEviction({choices.victims.entry().clean_first, options_.techniques.eviction_batch});
  store_client_ = std::make_unique<StoreClient>(*pool_);
  store_->Attach(*store_client_);
  return absl::OkStatus();
}

absl::Status DatabaseImpl::OpenLogFile(OpenedStore& opened) {
  LogOptions log;
  log.database_id = opened.database_id;
  // A rollback and a checkpoint must find room in a small log on a full disk. The rollback may log a
  // split, three page images; the checkpoint logs records of up to 64 KiB.
  const uint32_t page_size = store_->page_size();
  log.segment_bytes = std::max(log.segment_bytes, 32 * page_size);
  log.least_kept_back = 2 * (4 * uint64_t{page_size} + (64 << 10));
  if (opened.sizing.log_segment_bytes != 0) log.segment_bytes = opened.sizing.log_segment_bytes;
  if (opened.sizing.log_initial_bytes != 0) log.initial_bytes = opened.sizing.log_initial_bytes;
  if (opened.sizing.log_max_bytes != 0) log.max_bytes = opened.sizing.log_max_bytes;
  log_buffer_bytes_ =
      LogBufferBytes(options_.cache_bytes, opened.log_device->geometry().logical_block,
                     store_->page_size());
  log.buffer_bytes = static_cast<uint32_t>(log_buffer_bytes_);
  log.group_space = GroupSpace::kShared;
  log.log_sink = log_sink_;
  log.waits = {latencies_.waits(), log_sink_};
  // Memory is not synced, and reading the clock for it would take longer than the call.
  if (!options_.in_memory_device) log.sync_latencies = &latencies_.of(Timed::kLogSync);
  if (root_.has_log) {
    LATCHKEY_ASSIGN_OR_RETURN(log_file_, OpenLog(runtime_, std::move(opened.log_device), log));
    return absl::OkStatus();
  }
  // The file holds an earlier attempt to begin logging; nothing in it was acknowledged.
  LATCHKEY_RETURN_IF_ERROR(opened.log_device->Resize(0));
  LATCHKEY_ASSIGN_OR_RETURN(log_file_, CreateLog(runtime_, std::move(opened.log_device), log));
  return absl::OkStatus();
}

absl::Status DatabaseImpl::StartLogging(bool redo_has_images) {
  LATCHKEY_RETURN_IF_ERROR(log_file_->StartWriting());
  std::function<void(bool)> rely_on_images;
  if (store_->wants_images()) {
    rely_on_images = [store = store_.get()](bool rely) { store->RelyOnImages(rely); };
  }
  engine_log_ = EngineLog::Start(
      runtime_, *log_file_,
      [pool = pool_.get()](PageId page) { pool->ReturnPageId(pool->Here(), page); },
      {.wait_for_commits = options_.durability == Durability::kCommit,
       .group_delay = options_.group_commit_delay_ms * kNanosPerMilli,
       .page_size = store_->page_size(),
       .page_status = [store = store_.get()] { return store->WriteStatus(); },
       .rely_on_images = std::move(rely_on_images),
       .redo_has_images = redo_has_images,
       .waits = latencies_.waits()});
  store_client_->SetLog(*log_file_, *engine_log_);
  pool_->SetWriteAheadLog(engine_log_.get());
  pool_->SetFreedPages(engine_log_.get());
  return absl::OkStatus();
}

absl::Status DatabaseImpl::OpenCatalog(TxnId first_txn) {
  overflow_ = std::make_unique<OverflowStore>(*pool_, engine_log_.get());
  if (is_new_) {
    LATCHKEY_ASSIGN_OR_RETURN(catalog_, Catalog::Create(*pool_, engine_log_.get()));
  } else {
    LATCHKEY_ASSIGN_OR_RETURN(catalog_, Catalog::Load(*pool_, root_, engine_log_.get()));
  }
  snapshots_ = std::make_unique<SnapshotManager>(runtime_, first_txn);
  versions_ = std::make_unique<VersionStore>(runtime_, *snapshots_, *this);
  versions_->SetLockWait(options_.lock_wait_ms * kNanosPerMilli);
  versions_->SetLedger(latencies_.waits());
  ranges_ = std::make_unique<RangeDeletes>(runtime_, *snapshots_);
  ranges_->SetFinish([this] { TryFinishRanges(); });
  if (options_.techniques.change_buffer_bytes != 0 && !options_.read_only) {
    changes_ = std::make_unique<ChangeBuffer>(
        runtime_, *pool_,
        ChangeBuffer::Options{.most_bytes = options_.techniques.change_buffer_bytes,
                              .is_writable = [this] { return store_->WriteStatus().ok(); }});
    pool_->SetAbsentPages(changes_.get());
  }
  context_.reset(
      new TransactionContext{*pool_, *snapshots_, *versions_, *overflow_, *ranges_,
                             [this](TreeImpl& tree) { return catalog_->NoteChains(tree); },
                             engine_log_.get(), &identity_, changes_.get(), options_.read_only});
  return absl::OkStatus();
}

absl::Status DatabaseImpl::StartCleaners() {
  LATCHKEY_ASSIGN_OR_RETURN(
      cleaners_,
      PageCleaners::Start(*pool_, options_.choices.cleaner.Make(), options_.techniques.cleaners,
                          options_.choices.cleaning_scope.entry().scope, log_sink_));
  return absl::OkStatus();
}

absl::StatusOr<bool> DatabaseImpl::StartCheckpoints(const Recovery* recovery) {
  checkpointer_ = std::make_unique<Checkpointer>(
      *pool_, engine_log_.get(), [this] { return DescribeRoot(); }, root_, log_sink_);
  if (engine_log_ == nullptr || options_.read_only) return false;
  const uint64_t interval = CheckpointLogBytes(options_);
  const bool is_new = recovery == nullptr;
  const bool was_needed = !is_new && recovery->is_needed();
  // What recovery has read stays needed until the next checkpoint. Usually the open does not wait
  // for that checkpoint. But a database that crashes again and again before it completes would
  // gather more and more log, so after a long log the open waits.
  const bool is_long = was_needed && Raw(log_file_->end()) - Raw(root_.redo) >
                                         Checkpointer::kUsualIntervals * interval;
  if (is_new || is_long) LATCHKEY_RETURN_IF_ERROR(checkpointer_->Run(/*clean=*/false));
  checkpointer_->Start(interval, /*begins=*/was_needed && !is_long);
  return is_new || is_long;
}

ClientRoot DatabaseImpl::DescribeRoot() const {
  ClientRoot root;
  catalog_->Describe(&root);
  root.next_txn_id = snapshots_->next_txn_id();
  return root;
}

absl::Status DatabaseImpl::CheckWritable() const {
  return options_.read_only ? OpenedReadOnly() : absl::OkStatus();
}

absl::Status DatabaseImpl::Sync() {
  if (options_.read_only) return absl::OkStatus();  // everything is durable
  if (engine_log_ != nullptr) return engine_log_->FlushAll();
  return absl::FailedPreconditionError(
      "the database was opened with durability none, so only closing it makes its commits durable: "
      "open it with durability commit or group");
}

absl::Status DatabaseImpl::Checkpoint() {
  if (ranges_->any()) TryFinishRanges();
  return checkpointer_->Run(/*clean=*/false);
}

absl::StatusOr<TreeImpl*> DatabaseImpl::OpenTree(std::string_view name, bool create) {
  absl::StatusOr<TreeImpl*> tree = catalog_->OpenTree(name, /*create=*/false);
  if (!create || !absl::IsNotFound(tree.status())) return tree;
  LATCHKEY_RETURN_IF_ERROR(CheckWritable());
  tree = catalog_->OpenTree(name, /*create=*/true);
  if (tree.ok()) LATCHKEY_RETURN_IF_ERROR(AcknowledgeTrees());
  return tree;
}

absl::Status DatabaseImpl::DropTree(std::string_view name) {
  LATCHKEY_ASSIGN_OR_RETURN(TreeImpl * tree, catalog_->OpenTree(name, /*create=*/false));
  LATCHKEY_RETURN_IF_ERROR(CheckNotWritten(*tree));  // before readers notice the mark
  if (!tree->BeginDrop()) return tree->Dropped();
  while (tree->is_held()) pool_->runtime().SleepFor(20 * kNanosPerMicro);
  const absl::Status dropped = CatchOutOfMemory([&]() -> absl::Status {
    LATCHKEY_RETURN_IF_ERROR(CheckNotWritten(*tree));
    return engine_log_ != nullptr ? DropLoggedTree(*tree) : DropUnloggedTree(tree->id);
  });
  if (!dropped.ok() && catalog_->FindTree(tree->id) != nullptr) tree->CancelDrop();
  return dropped;
}

absl::Status DatabaseImpl::CheckNotWritten(const TreeImpl& tree) const {
  if (!snapshots_->IsTreeListed(tree.id) && !tree.has_unlisted_writers()) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    "the tree \"{}\" holds writes or locks of a running transaction: commit it or "
                    "roll it back before dropping the tree",
                    tree.name());
}

absl::Status DatabaseImpl::DropUnloggedTree(TreeId id) {
  MutexLock lock(drops_mutex_);
  LATCHKEY_RETURN_IF_ERROR(FreeDroppedTree());
  LATCHKEY_ASSIGN_OR_RETURN(const TreeImpl* tree, catalog_->RemoveTree(id));
  // The tree is dropped now. If memory runs out, the rest of its pages waits.
  dropped_tree_.emplace(*pool_, tree->btree.root());
  const absl::Status freed = CatchOutOfMemory([this] { return FreeDroppedTree(); });
  return IsOutOfMemory(freed) ? absl::OkStatus() : freed;
}

absl::Status DatabaseImpl::FreeDroppedTree() {
  if (!dropped_tree_) return absl::OkStatus();
  // Versions of the tree's keys may still name its overflow chains. The collection frees those.
  versions_->CollectAll();
  const absl::Status freed =
      dropped_tree_->Run([this](std::string_view reference) { return overflow_->Free(reference); },
                         [this](PageId page) { return pool_->FreePageById(pool_->Here(), page); },
                         [](PageId) { return false; });
  if (!IsOutOfMemory(freed)) dropped_tree_.reset();
  return freed;
}

absl::Status DatabaseImpl::AcknowledgeTrees() {
  if (engine_log_ == nullptr) return absl::OkStatus();
  if (options_.durability == Durability::kCommit) return engine_log_->FlushAll();
  engine_log_->PromiseDurable();
  return absl::OkStatus();
}

absl::Status DatabaseImpl::DropLoggedTree(const TreeImpl& tree) {
  Txn txn;  // for its id
  LATCHKEY_RETURN_IF_ERROR(snapshots_->Begin(txn));
  {
    const OnException end([&] { snapshots_->End(txn); });
    versions_->EnsureWriter(txn);
  }
  LogTxn drop;
  drop.set_id(txn.id());
  // The intent is logged first: recovery then removes whatever a crash leaves of the tree.
  absl::Status status = CatchOutOfMemory(
      [&] { return engine_log_->LogDropTree(drop, tree.id, tree.btree.root(), tree.name()); });
  if (status.ok()) {
    status = DropIntended(tree.id, drop);
  } else {
    engine_log_->LogEnd(drop);
  }
  versions_->Commit(txn);
  return status.ok() ? AcknowledgeTrees() : status;
}

// If the entry cannot be removed, the tree stays, and the intent ends without effect. Once the
// entry is gone, the tree is dropped; the next open frees the pages that cannot be freed now.
absl::Status DatabaseImpl::DropIntended(TreeId id, LogTxn& drop) {
  TreeImpl* tree = nullptr;
  absl::Status status = CatchOutOfMemory([&]() -> absl::Status {
    LATCHKEY_ASSIGN_OR_RETURN(tree, catalog_->RemoveTree(id));
    return absl::OkStatus();
  });
  if (!status.ok()) {
    engine_log_->LogEnd(drop);
    return status;
  }
  status = CatchOutOfMemory([&] {
    versions_->CollectAll();
    return FreeTree(tree->btree, drop, [](PageId) { return false; });
  });
  if (status.ok()) {
    engine_log_->LogEnd(drop);
    return status;
  }
  engine_log_->Abandon(drop);
  if (IsOutOfMemory(status)) return status;
  return MakeStatus(status.code(),
                    "the tree \"{}\" is dropped, but not all of its pages could be freed: {}; the "
                    "next open frees them",
                    tree->name(), std::string(status.message()));
}

absl::Status DatabaseImpl::FreeTree(BTree& tree, LogTxn& drop,
                                    absl::FunctionRef<bool(PageId)> is_free) {
  return TreeDrop(*pool_, tree.root())
      .Run(
          [&](std::string_view reference) {
            if (is_free(ChainOf(reference).first_page)) return absl::OkStatus();
            return overflow_->Free(reference);
          },
          [&](PageId page) -> absl::Status {
            LogSpace space;  // held until the page is freed
            LATCHKEY_RETURN_IF_ERROR(engine_log_->Reserve(1, /*must_not_fail=*/true, &space));
            pool_->Invalidate(page);  // a purge that has it latched logs its change before the free
            engine_log_->LogFree(&drop, space, kInvalidPageId, {&page, 1});
            return pool_->FreePageById(pool_->Here(), page);
          },
          is_free);
}

absl::Status DatabaseImpl::FinishDrop(const LogAnalysis& analysis, const LogAnalysis::Drop& drop) {
  if (const TreeImpl* named = catalog_->FindTree(drop.tree); named != nullptr) {
    LATCHKEY_RETURN_IF_ERROR(catalog_->RemoveTree(named->id).status());
  }
  LogTxn txn;
  engine_log_->Adopt(txn, drop.id, drop.first, drop.last);
  BTree tree(*pool_, drop.root, engine_log_.get());
  absl::Status status =
      FreeTree(tree, txn, [&](PageId page) { return analysis.IsFreedAfter(page, drop.first); });
  if (status.ok()) status = engine_log_->ReserveUndo(txn);  // for the end record
  if (status.ok()) {
    engine_log_->LogEnd(txn);
  } else {
    engine_log_->Abandon(txn);
  }
  return status;
}

std::unique_ptr<TransactionImpl> DatabaseImpl::Begin(const BeginOptions& options) {
  auto transaction = std::make_unique<TransactionImpl>(*context_);
  // A transaction that could not begin returns FailedPrecondition from every call. That takes
  // thousands of transactions at once, which is the caller's mistake.
  transaction->Begin(Resolve(options)).IgnoreError();
  return transaction;
}

inline absl::Status DatabaseImpl::FindLeaf(TreeImpl& tree, std::string_view key,
                                           OptimisticGuard* leaf, SharedGuard* held) {
  PoolActor& actor = pool_->Here();
  if (__builtin_expect(tree.btree.unlatched_attempts() > 0, 1)) {
    return tree.btree.FindLeaf(actor, key, leaf);
  }
  LATCHKEY_RETURN_IF_ERROR(tree.btree.LatchLeaf(actor, key, held));
  *leaf = pool_->Observe(*held);
  return absl::OkStatus();
}

absl::Status DatabaseImpl::Get(TreeImpl& tree, std::string_view key, std::string* value) {
  LATCHKEY_RETURN_IF_ERROR(TransactionImpl::CheckKey(key));
  // Outside any transaction, a leaf whose every writer all snapshots see needs no snapshot: the
  // read registers nothing and writes nothing shared.
  const TxnId all_visible_below = snapshots_->all_visible_below();
  if (__builtin_expect(ranges_->any(), 0)) {  // only a snapshot tells whether it hides the record
    return RunTransaction(
        [&](TransactionImpl& transaction) { return transaction.Get(tree, key, value); });
  }
  OptimisticGuard guard;
  SharedGuard held;
  if (absl::Status at_leaf = FindLeaf(tree, key, &guard, &held); !at_leaf.ok()) {
    return tree.is_dropped() ? tree.Dropped() : at_leaf;
  }
  const NodeView leaf(guard.data(), tree.btree.page_size());
  if (leaf.last_writer() < all_visible_below) {
    const SlotPosition position = leaf.LowerBound(key);
    const RecordFlags flags = position.exact ? leaf.flags(position.slot) : kGhost;
    if (flags == 0) leaf.CopyValue(position.slot, value);
    if (guard.Validate()) {
      if (__builtin_expect(tree.is_dropped(), 0)) return tree.Dropped();  // may be another's leaf
      if (flags == 0) return absl::OkStatus();
      if (flags & kGhost) return absl::NotFoundError("no such key");
    }
  } else {
    snapshots_->RefreshBounds();
  }
  held.Unfix();
  return RunTransaction(
      [&](TransactionImpl& transaction) { return transaction.Get(tree, key, value); });
}

// A transaction that ran again at once took the room in the version store that its rollback had
// given to the others, and so all of them starved. After some attempts it leaves them time.
void DatabaseImpl::PauseBeforeRetry(Backoff& backoff) {
  constexpr uint32_t kShort = 8, kDoublings = 7;
  const uint32_t attempt = backoff.attempts();
  backoff.Pause();
  if (attempt < kShort) return;
  runtime_.SleepFor(kNanosPerMilli << std::min(attempt - kShort, kDoublings));
}

absl::Status DatabaseImpl::RunTransaction(absl::FunctionRef<absl::Status(TransactionImpl&)> body,
                                          const CommitOptions& commit) {
  TransactionImpl transaction(*context_);
  for (Backoff backoff(runtime_);; PauseBeforeRetry(backoff)) {
    LATCHKEY_RETURN_IF_ERROR(transaction.Begin(Resolve({})));
    absl::Status done = body(transaction);
    if (done.ok()) done = transaction.Commit(commit);
    if (done.ok()) return done;
    LATCHKEY_RETURN_IF_ERROR(transaction.Rollback());
    if (!absl::IsAborted(done) || transaction.is_vain_to_repeat()) return done;
  }
}

absl::Status DatabaseImpl::SetCacheBytes(uint64_t cache_bytes) {
  LATCHKEY_ASSIGN_OR_RETURN(const CachePlan plan, PlanCache(cache_bytes));
  LATCHKEY_RETURN_IF_ERROR(pool_->Resize(std::min(plan.frames, pool_->max_frames())));
  versions_->SetBound(plan.version_bytes);
  cache_bytes_.store(cache_bytes, std::memory_order_relaxed);
  return absl::OkStatus();
}

// ---- Requests of the version store

void DatabaseImpl::PurgeGhost(TreeId tree_id, std::string_view key, CommitTs unneeded_until) {
  CatchOutOfMemory([&] {
    TryPurgeGhost(tree_id, key, unneeded_until);
    return absl::OkStatus();
  }).IgnoreError();  // stays a ghost: harmless
}

void DatabaseImpl::TryPurgeGhost(TreeId tree_id, std::string_view key, CommitTs unneeded_until) {
  TreeImpl* tree = catalog_->FindTree(tree_id);
  if (tree == nullptr) return;
  PoolActor& actor = pool_->Here();
  bool underfull = false;
  {
    LogSpace space;
    if (engine_log_ != nullptr && !engine_log_->ReserveSystemChange(&space).ok()) return;
    ExclusiveGuard guard;
    if (!tree->btree.FixLeaf(actor, key, &guard).ok()) return;  // stays a ghost: harmless
    const LatchedNodeView leaf(guard.data(), tree->btree.page_size());
    const SlotPosition position = leaf.LowerBound(key);
    // The leaf of a dropped tree may be another tree's by now. While the tree is not dropped, this
    // leaf stays the tree's own: a drop frees no page that is latched.
    if (tree->is_dropped() || !position.exact || !leaf.is_ghost(position.slot) ||
        versions_->HasVersions(tree_id, key, unneeded_until)) {
      return;
    }
    if (engine_log_ != nullptr) {
      engine_log_->LogSystemChange(space,
                                   {.tree = tree_id,
                                    .page = guard.page(),
                                    .key = key,
                                    .now = RecordState::kAbsent,
                                    .now_bytes = {},
                                    .before = RecordState::kGhost,
                                    .before_bytes = {}},
                                   guard.Mutable());
    }
    NodeEditor(guard.Mutable(), tree->btree.page_size()).Remove(position.slot);
    underfull = BTree::IsUnderfull(leaf);
  }
  if (!underfull) return;
  const TreeHold hold(*tree);  // the merge begins again at the root
  if (!tree->is_dropped()) tree->btree.TryMerge(actor, key);
}

void DatabaseImpl::FreeOverflow(TreeId, std::string_view reference) {
  overflow_->FreeWaiting().IgnoreError();  // the next call tries again
  FreeChain(OverflowReference(reference));
}

void DatabaseImpl::FreeChain(const OverflowReference& chain) {
  const absl::Status freed = CatchOutOfMemory([&] { return overflow_->Free(chain.view()); });
  if (freed.ok()) return;
  if (IsOutOfMemory(freed) && overflow_->FreeLater(chain.view())) return;
  CatchOutOfMemory([&] {
    LogTo(log_sink_, LogLevel::kWarning,
          "an overflow chain could not be freed: " + std::string(freed.message()));
    return absl::OkStatus();
  }).IgnoreError();
}

// ---- Figures

Statistics DatabaseImpl::GetStatistics() const {
  Statistics s;
  CopyFigures(pool_->stats(), &s);
  s.longest_frame_wait_ns = pool_->TakeLongestFrameWait();
  s.cleaner_outstanding = cleaners_ != nullptr ? cleaners_->outstanding_writes() : 0;
  CopyFigures(versions_->stats(), &s);
  CopyFigures(store_->stats(), &s);
  CopyFigures(store_->device().stats(), &s);
  if (log_file_ != nullptr) {
    const LogStats log = log_file_->stats();
    s.log = {.records = log.records,
             .record_bytes = log.record_bytes,
             .groups = log.groups,
             .group_bytes = log.group_bytes,
             .syncs = log.syncs,
             .file_bytes = log.allocated_bytes,
             .checkpoints = checkpointer_->checkpoints()};
  }
  s.cache_bytes = cache_bytes_.load(std::memory_order_relaxed);
  s.memory_bytes = pool_->memory_bytes() + versions_->bytes() + snapshots_->bytes() +
                   store_->memory_bytes() + log_buffer_bytes_;
  if (changes_ != nullptr) {
    const ChangeBufferStats waiting = changes_->stats();
    s.memory_bytes += waiting.bytes;
    s.change_buffer_puts = waiting.changes;
  }
  s.recovery = recovery_;
  return s;
}

}  // namespace latchkey
