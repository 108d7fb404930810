// RocksDB as a baseline: transactional with snapshot isolation, block cache and bloom filters,
// direct I/O, no compression. Tables are column families (`rocksdb`) or one key space with a byte
// of prefix for the table (`rocksdb-prefixes`).
//
// Durability: none = no log; commit = the log is synced before a commit returns (RocksDB groups
// those that wait); group = commits return from the log's buffer, which an actor writes and syncs
// every kGroupCommitDelay. That is Latchkey's promise for `group`: what was acknowledged is durable
// that much later, and lost by then even when only the process dies. RocksDB's own usual setting
// (each commit written to the page cache, never synced) costs a system call per commit and promises
// nothing about power; it is not measured here.
//
// Memory: write buffers are charged to the block cache, index and filter blocks live in it, so that
// `cache_bytes` is the total as it is for every other backend.
// Snapshots are taken by the first operation: a transaction that begins with GetForUpdate reads
// after it holds the lock (pessimistic), which saves RocksDB conflicts that Latchkey does not have
// either.
//
// `rocksdb` is the optimistic one: on TPC-C-lite (4 warehouses; 2 and 8 users; cache of a quarter
// of the data) it was 8 to 9 % ahead of `rocksdb-pessimistic`; in memory the two lay within the
// spread. Column families and prefixes lay within the spread, too (2 warehouses, 2 users, a quarter
// of the data): 948 and 893 transactions/s, each +-20 % in three repetitions.
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/optimistic_transaction_db.h>
#include <rocksdb/utilities/transaction.h>
#include <rocksdb/utilities/transaction_db.h>
#include <rocksdb/version.h>
#include <rocksdb/write_buffer_manager.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "storage/base/status_macros.h"
#include "storage/runtime/runtime.h"
#include "tpcc-lite/kv/kv_backends.h"
#include "tpcc-lite/kv/rocksdb_support.h"

namespace latchkey {
namespace {

namespace rdb = ROCKSDB_NAMESPACE;

absl::string_view Abseil(const std::string& text) { return {text.data(), text.size()}; }
/// An empty view may have no address, which RocksDB hands on to memcmp.
rdb::Slice ToSlice(std::string_view text) {
  return text.empty() ? rdb::Slice("", 0) : rdb::Slice(text.data(), text.size());
}
std::string_view ToView(const rdb::Slice& slice) { return {slice.data(), slice.size()}; }

/// Conflicts, deadlocks and lock time-outs are one retryable error: Aborted.
absl::Status ToStatus(const rdb::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const std::string message = "rocksdb: " + status.ToString();
  if (status.IsNotFound()) return absl::NotFoundError(Abseil(message));
  if (status.IsBusy() || status.IsTryAgain() || status.IsTimedOut() || status.IsAborted()) {
    return absl::AbortedError(Abseil(message));
  }
  if (status.IsCorruption()) return absl::DataLossError(Abseil(message));
  if (status.IsNoSpace()) return absl::ResourceExhaustedError(Abseil(message));
  if (status.IsInvalidArgument()) return absl::InvalidArgumentError(Abseil(message));
  if (status.IsIOError()) return absl::UnavailableError(Abseil(message));
  return absl::InternalError(Abseil(message));
}

enum class Concurrency { kOptimistic, kPessimistic };
enum class Tables { kFamilies, kPrefixes };

constexpr size_t kMaxPrefixedTables = 256;  // one byte of prefix

constexpr Nanos kGroupCommitDelay = 10 * kNanosPerMilli;

rdb::WriteOptions WriteOptionsFor(Durability durability) {
  rdb::WriteOptions options;
  options.disableWAL = durability == Durability::kNone;
  options.sync = durability == Durability::kCommit;
  return options;
}

class RocksDbBackend;

class RocksDbSession final : public KvSession {
 public:
  explicit RocksDbSession(RocksDbBackend& backend);

  absl::Status Begin() override;
  absl::Status Commit() override;
  absl::Status Rollback() override;
  absl::Status Get(TableIndex table, std::string_view key, std::string* value) override;
  absl::Status GetForUpdate(TableIndex table, std::string_view key, std::string* value) override;
  absl::Status Put(TableIndex table, std::string_view key, std::string_view value) override;
  absl::Status Insert(TableIndex table, std::string_view key, std::string_view value) override;
  absl::Status Delete(TableIndex table, std::string_view key) override;
  absl::Status Scan(TableIndex table, std::string_view from, std::string_view to, bool reverse,
                    absl::FunctionRef<bool(std::string_view, std::string_view)> visit) override;
  absl::Status GetAuto(TableIndex table, std::string_view key, std::string* value) override;
  absl::Status PutAuto(TableIndex table, std::string_view key, std::string_view value) override;

 private:
  /// Gives reads of this transaction one moment in time, from its first operation on.
  void EnsureSnapshot() {
    if (read_options_.snapshot != nullptr) return;
    if (transaction_->GetSnapshot() == nullptr) transaction_->SetSnapshot();
    read_options_.snapshot = transaction_->GetSnapshot();
  }
  /// Ends the transaction when `status` is a conflict, as KvSession promises.
  absl::Status Finish(const rdb::Status& status);
  std::unique_ptr<rdb::Iterator> NewIterator(rdb::ColumnFamilyHandle* family,
                                             const rdb::ReadOptions& options);
  rdb::ColumnFamilyHandle* FamilyOf(TableIndex table) const;
  /// The key as it is stored; valid until `buffer` changes.
  rdb::Slice Stored(TableIndex table, std::string_view key, std::string& buffer) const;
  rdb::Slice Stored(TableIndex table, std::string_view key) { return Stored(table, key, key_); }

  RocksDbBackend& backend_;
  std::string key_, upper_key_;                    // kept: no allocation per call
  std::unique_ptr<rdb::Transaction> transaction_;  // reused: saves its allocations
  rdb::ReadOptions read_options_;
  rdb::PinnableSlice pinned_;
};

class RocksDbBackend final : public KvBackend {
 public:
  RocksDbBackend(const KvOptions& options, Concurrency concurrency, Tables tables)
      : options_(options), concurrency_(concurrency), tables_(tables) {}
  ~RocksDbBackend() override { Close().IgnoreError(); }

  absl::Status Open();

  std::string Name() const override {
    return fmt::format("rocksdb({}, {})",
                       concurrency_ == Concurrency::kOptimistic ? "optimistic" : "pessimistic",
                       tables_ == Tables::kFamilies ? "column families" : "key prefixes");
  }
  std::vector<std::string> Warnings() const override { return warnings_; }
  absl::StatusOr<std::unique_ptr<KvSession>> NewSession() override {
    return std::make_unique<RocksDbSession>(*this);
  }
  absl::Status Checkpoint() override;
  absl::Status Close() override;
  KvStatistics GetStatistics() const override;

 private:
  friend class RocksDbSession;

  /// Of the column families but the default one, which is always there and here stays empty.
  std::vector<std::string> FamilyNames() const;
  rdb::Options BuildOptions();
  absl::Status OpenWith(const rdb::Options& options);
  rdb::Transaction* BeginTransaction(rdb::Transaction* reused);
  rdb::WriteOptions WriteOptions() const { return WriteOptionsFor(options_.durability); }
  /// Durability::kGroup: writes and syncs the log every kGroupCommitDelay.
  void StartGroupCommit();
  absl::Status StopGroupCommit();
  void CollectWarnings(bool direct_io);
  uint64_t SumProperty(const std::string& property) const;
  /// A copied load shall not begin with the compactions of its predecessor still to do.
  void AwaitCompactions();

  KvOptions options_;
  Concurrency concurrency_;
  const Tables tables_;
  RocksDbIo io_;
  std::unique_ptr<rdb::Env> env_;
  std::shared_ptr<RocksDbLog> logger_;
  std::unique_ptr<rdb::StackableDB> db_;
  rdb::OptimisticTransactionDB* optimistic_ = nullptr;
  rdb::TransactionDB* pessimistic_ = nullptr;
  std::vector<rdb::ColumnFamilyHandle*> families_;  // [i] is table i; kPrefixes: [0] is all
  rdb::ColumnFamilyHandle* default_family_ = nullptr;
  std::vector<std::string> warnings_;
  std::atomic<bool> stop_group_commit_{false};
  rdb::Status group_commit_status_;  // of the actor; read once it has been joined
  std::unique_ptr<Actor> group_commit_;
};

std::vector<std::string> RocksDbBackend::FamilyNames() const {
  if (tables_ == Tables::kPrefixes) return {"all"};
  std::vector<std::string> names;
  for (const std::string& table : options_.tables) names.push_back("t." + table);
  return names;
}

rdb::Options RocksDbBackend::BuildOptions() {
  env_ = NewCountingEnv(io_);
  logger_ = std::make_shared<RocksDbLog>(options_.log_sink);

  rdb::BlockBasedTableOptions table;
  // Whole indexes and filters are larger than a shard of a small cache and push each other out:
  // in 16 shards and partitioned, a cache of a quarter of the data gives 1.6 times the transactions
  // (a quarter of the reads), as many as with both outside the memory limit.
  table.block_cache = rdb::NewLRUCache(options_.cache_bytes, /*num_shard_bits=*/4);
  table.index_type = rdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.partition_filters = true;
  table.metadata_block_size = 4096;
  table.pin_top_level_index_and_filter = true;
  table.block_size = options_.page_size;
  table.filter_policy.reset(rdb::NewBloomFilterPolicy(10));
  table.whole_key_filtering = true;
  table.cache_index_and_filter_blocks = true;
  table.cache_index_and_filter_blocks_with_high_priority = true;
  table.pin_l0_filter_and_index_blocks_in_cache = true;

  rdb::Options result;
  result.env = env_.get();
  result.info_log = logger_;
  result.create_if_missing = true;
  result.create_missing_column_families = true;
  result.table_factory.reset(rdb::NewBlockBasedTableFactory(table));
  result.compression = rdb::kNoCompression;
  result.bottommost_compression = rdb::kNoCompression;
  const uint64_t write_buffers = std::clamp<uint64_t>(options_.cache_bytes / 4, 4u << 20, 1u << 30);
  result.write_buffer_manager =
      std::make_shared<rdb::WriteBufferManager>(write_buffers, table.block_cache);
  result.write_buffer_size = std::min<uint64_t>(write_buffers, 64u << 20);
  // Every column family's write buffer begins with one arena block, and all of them count against
  // the limit: with the default (an eighth of a write buffer) a small cache would flush all the
  // time.
  result.arena_block_size =
      std::clamp<uint64_t>(write_buffers / (64 * (FamilyNames().size() + 1)), 16u << 10, 1u << 20);
  result.max_background_jobs = 2;
  result.max_open_files = -1;
  result.level_compaction_dynamic_level_bytes = true;
  result.compaction_readahead_size = 2u << 20;
  result.manual_wal_flush = options_.durability == Durability::kGroup;
  result.use_direct_reads = true;
  result.use_direct_io_for_flush_and_compaction = true;
  return result;
}

absl::Status RocksDbBackend::OpenWith(const rdb::Options& options) {
  std::vector<rdb::ColumnFamilyDescriptor> families;
  families.emplace_back(rdb::kDefaultColumnFamilyName, options);
  for (const std::string& name : FamilyNames()) families.emplace_back(name, options);
  std::vector<rdb::ColumnFamilyHandle*> handles;
  rdb::Status status;
  if (concurrency_ == Concurrency::kOptimistic) {
    status = rdb::OptimisticTransactionDB::Open(options, options_.path, families, &handles,
                                                &optimistic_);
    if (status.ok()) db_.reset(optimistic_);
  } else {
    status = rdb::TransactionDB::Open(options, rdb::TransactionDBOptions(), options_.path, families,
                                      &handles, &pessimistic_);
    if (status.ok()) db_.reset(pessimistic_);
  }
  LATCHKEY_RETURN_IF_ERROR(ToStatus(status));
  default_family_ = handles[0];
  families_.assign(handles.begin() + 1, handles.end());
  return absl::OkStatus();
}

absl::Status RocksDbBackend::Open() {
  if (tables_ == Tables::kPrefixes && options_.tables.size() > kMaxPrefixedTables) {
    return InvalidArgument("rocksdb-prefixes: {} tables, at most {}", options_.tables.size(),
                           kMaxPrefixedTables);
  }
  rdb::Options options = BuildOptions();
  absl::Status opened = OpenWith(options);
  bool direct_io = true;
  if (absl::IsInvalidArgument(opened) &&
      opened.message().find("irect") != absl::string_view::npos) {
    options.use_direct_reads = options.use_direct_io_for_flush_and_compaction = direct_io = false;
    opened = OpenWith(options);
  }
  LATCHKEY_RETURN_IF_ERROR(opened);
  CollectWarnings(direct_io);
  if (options_.durability == Durability::kGroup) StartGroupCommit();
  return absl::OkStatus();
}

void RocksDbBackend::StartGroupCommit() {
  group_commit_ = ThreadRuntime().Spawn("rocksdb-log", [this] {
    while (!stop_group_commit_.load(std::memory_order_acquire) && group_commit_status_.ok()) {
      ThreadRuntime().SleepFor(kGroupCommitDelay);
      group_commit_status_ = db_->FlushWAL(/*sync=*/true);
    }
  });
}

absl::Status RocksDbBackend::StopGroupCommit() {
  if (group_commit_ == nullptr) return absl::OkStatus();
  stop_group_commit_.store(true, std::memory_order_release);
  group_commit_->Join();
  group_commit_.reset();
  return ToStatus(group_commit_status_);
}

void RocksDbBackend::CollectWarnings(bool direct_io) {
#ifdef LATCHKEY_ROCKSDB_HAS_ASSERTIONS
  warnings_.push_back(fmt::format("rocksdb {}.{} is built with assertions: a handicapped baseline",
                                  ROCKSDB_MAJOR, ROCKSDB_MINOR));
#endif
  if (logger_->slow_crc32()) {
    warnings_.push_back("rocksdb is built without the crc32 instruction: a handicapped baseline");
  }
  if (!direct_io) {
    warnings_.push_back("rocksdb: the file system refuses O_DIRECT, the page cache helps it");
  }
  if (!options_.in_files()) {
    warnings_.push_back("rocksdb has no device in memory: its files are on disk");
  }
}

rdb::Transaction* RocksDbBackend::BeginTransaction(rdb::Transaction* reused) {
  if (optimistic_ != nullptr) return optimistic_->BeginTransaction(WriteOptions(), {}, reused);
  rdb::TransactionOptions options;
  options.deadlock_detect = true;
  return pessimistic_->BeginTransaction(WriteOptions(), options, reused);
}

absl::Status RocksDbBackend::Checkpoint() {
  LATCHKEY_RETURN_IF_ERROR(ToStatus(db_->Flush(rdb::FlushOptions(), families_)));
  AwaitCompactions();
  return absl::OkStatus();
}

void RocksDbBackend::AwaitCompactions() {
  for (;;) {
    uint64_t running = 0;
    db_->GetIntProperty(default_family_, rdb::DB::Properties::kNumRunningCompactions, &running);
    running += SumProperty(rdb::DB::Properties::kCompactionPending);
    if (running == 0) return;
    ThreadRuntime().SleepFor(20 * kNanosPerMilli);
  }
}

absl::Status RocksDbBackend::Close() {
  if (db_ == nullptr) return absl::OkStatus();
  const absl::Status synced = StopGroupCommit();
  // Without a log, what is in the write buffers exists nowhere else.
  rdb::Status status = db_->Flush(rdb::FlushOptions(), families_);
  for (rdb::ColumnFamilyHandle* family : families_) db_->DestroyColumnFamilyHandle(family);
  db_->DestroyColumnFamilyHandle(default_family_);
  families_.clear();
  const rdb::Status closed = db_->Close();
  db_.reset();
  LATCHKEY_RETURN_IF_ERROR(synced);
  return ToStatus(status.ok() ? closed : status);
}

uint64_t RocksDbBackend::SumProperty(const std::string& property) const {
  uint64_t sum = 0;
  for (rdb::ColumnFamilyHandle* family : families_) {
    uint64_t value = 0;
    if (db_->GetIntProperty(family, property, &value)) sum += value;
  }
  return sum;
}

KvStatistics RocksDbBackend::GetStatistics() const {
  KvStatistics result;
  result.reads = io_.reads.load(std::memory_order_relaxed);
  result.writes = io_.writes.load(std::memory_order_relaxed);
  result.bytes_read = io_.bytes_read.load(std::memory_order_relaxed);
  result.bytes_written = io_.bytes_written.load(std::memory_order_relaxed);
  if (db_ != nullptr) {
    result.live_bytes = SumProperty(rdb::DB::Properties::kEstimateLiveDataSize);
    result.file_bytes = SumProperty(rdb::DB::Properties::kTotalSstFilesSize);
  }
  return result;
}

RocksDbSession::RocksDbSession(RocksDbBackend& backend) : backend_(backend) {}

absl::Status RocksDbSession::Begin() {
  rdb::Transaction* reused = transaction_.release();
  transaction_.reset(backend_.BeginTransaction(reused));
  read_options_.snapshot = nullptr;
  return absl::OkStatus();
}

absl::Status RocksDbSession::Finish(const rdb::Status& status) {
  absl::Status result = ToStatus(status);
  if (absl::IsAborted(result)) Rollback().IgnoreError();
  return result;
}

absl::Status RocksDbSession::Commit() {
  const rdb::Status status = transaction_->Commit();
  if (!status.ok()) transaction_->Rollback().PermitUncheckedError();
  return ToStatus(status);
}

absl::Status RocksDbSession::Rollback() { return ToStatus(transaction_->Rollback()); }

rdb::ColumnFamilyHandle* RocksDbSession::FamilyOf(TableIndex table) const {
  return backend_.families_[backend_.tables_ == Tables::kFamilies ? table : 0];
}

rdb::Slice RocksDbSession::Stored(TableIndex table, std::string_view key,
                                  std::string& buffer) const {
  if (backend_.tables_ == Tables::kFamilies) return ToSlice(key);
  buffer.assign(1, static_cast<char>(table));
  buffer.append(key);
  return buffer;
}

absl::Status RocksDbSession::Get(TableIndex table, std::string_view key, std::string* value) {
  EnsureSnapshot();
  pinned_.Reset();
  const rdb::Status status =
      transaction_->Get(read_options_, FamilyOf(table), Stored(table, key), &pinned_);
  if (status.ok()) value->assign(pinned_.data(), pinned_.size());
  return Finish(status);
}

absl::Status RocksDbSession::GetForUpdate(TableIndex table, std::string_view key,
                                          std::string* value) {
  if (read_options_.snapshot == nullptr) transaction_->SetSnapshotOnNextOperation();
  pinned_.Reset();
  const rdb::Status status =
      transaction_->GetForUpdate(read_options_, FamilyOf(table), Stored(table, key), &pinned_);
  if (status.ok()) value->assign(pinned_.data(), pinned_.size());
  if (status.ok()) EnsureSnapshot();
  return Finish(status);
}

absl::Status RocksDbSession::Put(TableIndex table, std::string_view key, std::string_view value) {
  rdb::ColumnFamilyHandle* family = FamilyOf(table);
  const rdb::Slice stored = Stored(table, key);
  if (backend_.options_.read_committed_load) {
    return Finish(transaction_->PutUntracked(family, stored, ToSlice(value)));
  }
  EnsureSnapshot();
  return Finish(transaction_->Put(family, stored, ToSlice(value)));
}

absl::Status RocksDbSession::Insert(TableIndex table, std::string_view key,
                                    std::string_view value) {
  // The caller knows the key to be new: nothing to validate.
  return Finish(transaction_->PutUntracked(FamilyOf(table), Stored(table, key), ToSlice(value)));
}

absl::Status RocksDbSession::Delete(TableIndex table, std::string_view key) {
  EnsureSnapshot();
  return Finish(transaction_->Delete(FamilyOf(table), Stored(table, key)));
}

std::unique_ptr<rdb::Iterator> RocksDbSession::NewIterator(rdb::ColumnFamilyHandle* family,
                                                           const rdb::ReadOptions& options) {
  // Without own writes there is nothing to merge in, and the plain iterator is the cheaper one.
  const bool wrote = transaction_->GetNumPuts() + transaction_->GetNumDeletes() > 0;
  if (wrote) return std::unique_ptr<rdb::Iterator>(transaction_->GetIterator(options, family));
  return std::unique_ptr<rdb::Iterator>(backend_.db_->NewIterator(options, family));
}

absl::Status RocksDbSession::Scan(
    TableIndex table, std::string_view from, std::string_view to, bool reverse,
    absl::FunctionRef<bool(std::string_view, std::string_view)> visit) {
  if (from >= to) return absl::OkStatus();
  EnsureSnapshot();
  const rdb::Slice lower = Stored(table, from);
  const rdb::Slice upper = Stored(table, to, upper_key_);
  const size_t prefix = lower.size() - from.size();
  const auto visit_entry = [&](const rdb::Iterator& at) {
    return visit(ToView(at.key()).substr(prefix), ToView(at.value()));
  };
  rdb::ReadOptions options = read_options_;
  options.iterate_lower_bound = &lower;
  options.iterate_upper_bound = &upper;
  const std::unique_ptr<rdb::Iterator> it = NewIterator(FamilyOf(table), options);
  // The merging iterator of RocksDB 7 does not apply the bounds to the transaction's own writes.
  if (!reverse) {
    for (it->Seek(lower); it->Valid() && it->key().compare(upper) < 0; it->Next()) {
      if (!visit_entry(*it)) break;
    }
  } else {
    it->SeekForPrev(upper);
    if (it->Valid() && it->key() == upper) it->Prev();
    for (; it->Valid() && it->key().compare(lower) >= 0; it->Prev()) {
      if (!visit_entry(*it)) break;
    }
  }
  return Finish(it->status());
}

absl::Status RocksDbSession::GetAuto(TableIndex table, std::string_view key, std::string* value) {
  pinned_.Reset();
  const rdb::Status status =
      backend_.db_->Get(rdb::ReadOptions(), FamilyOf(table), Stored(table, key), &pinned_);
  if (status.ok()) value->assign(pinned_.data(), pinned_.size());
  return ToStatus(status);
}

absl::Status RocksDbSession::PutAuto(TableIndex table, std::string_view key,
                                     std::string_view value) {
  return ToStatus(backend_.db_->Put(backend_.WriteOptions(), FamilyOf(table), Stored(table, key),
                                    ToSlice(value)));
}

absl::StatusOr<std::unique_ptr<KvBackend>> OpenAs(const KvOptions& options, Concurrency concurrency,
                                                  Tables tables) {
  auto backend = std::make_unique<RocksDbBackend>(options, concurrency, tables);
  LATCHKEY_RETURN_IF_ERROR(backend->Open());
  return backend;
}

}  // namespace

absl::StatusOr<std::unique_ptr<KvBackend>> OpenRocksDbBackend(const KvOptions& options) {
  return OpenAs(options, Concurrency::kOptimistic, Tables::kFamilies);
}

absl::StatusOr<std::unique_ptr<KvBackend>> OpenRocksDbPrefixesBackend(const KvOptions& options) {
  return OpenAs(options, Concurrency::kOptimistic, Tables::kPrefixes);
}

absl::StatusOr<std::unique_ptr<KvBackend>> OpenRocksDbPessimisticBackend(const KvOptions& options) {
  return OpenAs(options, Concurrency::kPessimistic, Tables::kFamilies);
}

}  // namespace latchkey
