// RocksDB as a baseline: transactions with snapshot isolation, block cache and bloom filters,
// direct I/O, compression as asked for. Tables are column families (`rocksdb`) or one key space
// with a byte of prefix for the table (`rocksdb-prefixes`).
//
// Durability: `none` = no log. `commit` = the log is synced before a commit returns (RocksDB groups
// waiting commits). `group` = commits return from the log's buffer, which an actor writes and syncs
// every 10 ms (PeriodicSync). This is Latchkey's promise for `group`: an acknowledged commit is
// durable after that delay; until then it is lost even if only the process dies. RocksDB's usual
// setting (each commit written to the page cache, never synced) costs a system call per commit and
// promises nothing about power failures; it is not measured here.
//
// Memory: write buffers are charged to the block cache, and index and filter blocks are in it. So
// `cache_bytes` is the total, as for every other backend.
//
// The first operation of a transaction takes its snapshot. A transaction that begins with
// GetForUpdate reads after it holds the lock (pessimistic). This saves RocksDB conflicts that
// Latchkey does not have either.
//
// One MultiGet at the transaction's snapshot reads the announced keys, and Get is answered from its
// result: the transaction reads nothing twice. With io_uring (a RocksDB built with liburing) the
// blocks of a table file are read at once; async_io overlaps the files if the build has coroutines.
// The pessimistic variant does not use MultiGet: its snapshot must be taken after its first lock.
//
// `rocksdb` is the optimistic variant: on TPC-C-lite (4 warehouses; 2 and 8 users; cache of a
// quarter of the data) it was 8 to 9 % ahead of `rocksdb-pessimistic`. In memory the difference was
// within the spread. Column families and prefixes also differed by less than the spread (2
// warehouses, 2 users, a quarter of the data): 948 and 893 transactions/s, each +-20 % in three
// repetitions.
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
#include <utility>

#include "storage/base/status_macros.h"
#include "storage/runtime/runtime.h"
#include "tpcc-lite/kv/kv_backends.h"
#include "tpcc-lite/kv/periodic_sync.h"
#include "tpcc-lite/kv/rocksdb_load.h"
#include "tpcc-lite/kv/rocksdb_status.h"
#include "tpcc-lite/kv/rocksdb_support.h"

namespace latchkey {
namespace {

namespace rdb = ROCKSDB_NAMESPACE;

// `name` is a page compression of Latchkey, perhaps with parameters, which RocksDB does not take.
rdb::CompressionType CompressionOf(std::string_view name) {
  if (name.starts_with("lz4")) return rdb::kLZ4Compression;
  return name.starts_with("zstd") ? rdb::kZSTD : rdb::kNoCompression;
}

enum class Concurrency { kOptimistic, kPessimistic };
enum class Tables { kFamilies, kPrefixes };

constexpr size_t kMaxPrefixedTables = 256;  // one byte of prefix

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
  void Prefetch(std::span<const TableKey> keys) override;
  absl::Status GetAuto(TableIndex table, std::string_view key, std::string* value) override;
  absl::Status PutAuto(TableIndex table, std::string_view key, std::string_view value) override;
  absl::Status PutManyAuto(TableIndex table, std::span<const KvRecord> records) override;
  absl::Status DeleteAuto(TableIndex table, std::string_view key) override;
  absl::Status LoadSorted(TableIndex table, absl::FunctionRef<bool(KvRecord*)> next) override;
  absl::Status DeleteRangeAuto(TableIndex table, std::string_view from,
                               std::string_view to) override;

 private:
  /// Takes the snapshot of this transaction at its first operation.
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
  /// Whether the transaction has written: its iterator and its MultiGet merge that in.
  bool Wrote() const { return transaction_->GetNumPuts() + transaction_->GetNumDeletes() > 0; }
  void ReadAnnounced();
  /// Index of the announced key; announced_ if the key was not announced.
  size_t FindAnnounced(TableIndex table, const rdb::Slice& stored);
  /// Marks the announced value of the key as out of date for this transaction.
  void NoteWrite(TableIndex table, const rdb::Slice& stored);
  void ForgetAnnounced();
  /// The stored form of the key; valid until `buffer` changes.
  rdb::Slice Stored(TableIndex table, std::string_view key, std::string& buffer) const;
  rdb::Slice Stored(TableIndex table, std::string_view key) { return Stored(table, key, key_); }

  RocksDbBackend& backend_;
  std::string key_, upper_key_;                    // kept: no allocation per call
  std::unique_ptr<rdb::Transaction> transaction_;  // reused: saves its allocations
  rdb::ReadOptions read_options_;
  rdb::PinnableSlice pinned_;
  // Values that Prefetch has read for this transaction. Entry i belongs to table
  // announced_tables_[i], or to kNoTable once the transaction has written the key. Kept between
  // transactions: no allocation per call.
  static constexpr TableIndex kNoTable = UINT32_MAX;
  size_t announced_ = 0;
  size_t next_announced_ = 0;  // where the next Get probably finds its key
  std::vector<TableIndex> announced_tables_;
  std::vector<std::string> announced_keys_;  // in their stored form
  std::vector<rdb::Slice> announced_slices_;
  std::vector<rdb::ColumnFamilyHandle*> announced_families_;
  std::vector<rdb::PinnableSlice> announced_values_;
  std::vector<rdb::Status> announced_statuses_;
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

  /// The column families except the default one, which always exists and stays empty here.
  std::vector<std::string> FamilyNames() const;
  rdb::Options BuildOptions();
  absl::Status OpenWith(const rdb::Options& options);
  rdb::Transaction* BeginTransaction(rdb::Transaction* reused);
  rdb::WriteOptions WriteOptions() const { return WriteOptionsFor(options_.durability); }
  void CollectWarnings(bool direct_io);
  uint64_t SumProperty(const std::string& property) const;
  /// Waits for compactions, so that a copy of the load does not begin with them.
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
  PeriodicSync group_commit_;  // Durability::kGroup: writes and syncs the log
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
  // Whole indexes and filters are larger than a shard of a small cache and evict each other. With
  // 16 shards and partitions, a cache of a quarter of the data gives 1.6 times the transactions (a
  // quarter of the reads), as many as with both outside the memory limit.
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
  result.compression = CompressionOf(options_.techniques.page_compression);
  result.bottommost_compression = result.compression;
  const uint64_t write_buffers = std::clamp<uint64_t>(options_.cache_bytes / 4, 4u << 20, 1u << 30);
  result.write_buffer_manager =
      std::make_shared<rdb::WriteBufferManager>(write_buffers, table.block_cache);
  result.write_buffer_size = std::min<uint64_t>(write_buffers, 64u << 20);
  // Every column family's write buffer begins with one arena block, and all of them count against
  // the limit. With the default size (an eighth of a write buffer) a small cache would flush all
  // the time.
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
  if (options_.durability == Durability::kGroup) {
    group_commit_.Start("rocksdb-log", [this] { return ToStatus(db_->FlushWAL(/*sync=*/true)); });
  }
  return absl::OkStatus();
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
  const absl::Status synced = group_commit_.Stop();
  // Without a log, the write buffers hold the only copy of their data.
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
  ForgetAnnounced();
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
  ForgetAnnounced();
  const rdb::Status status = transaction_->Commit();
  if (!status.ok()) transaction_->Rollback().PermitUncheckedError();
  return ToStatus(status);
}

absl::Status RocksDbSession::Rollback() {
  ForgetAnnounced();
  return ToStatus(transaction_->Rollback());
}

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
  const rdb::Slice stored = Stored(table, key);
  if (const size_t i = FindAnnounced(table, stored); i < announced_) {
    if (announced_statuses_[i].ok()) {
      value->assign(announced_values_[i].data(), announced_values_[i].size());
    }
    return Finish(announced_statuses_[i]);
  }
  pinned_.Reset();
  const rdb::Status status = transaction_->Get(read_options_, FamilyOf(table), stored, &pinned_);
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
  NoteWrite(table, stored);
  if (backend_.options_.read_committed_load) {
    return Finish(transaction_->PutUntracked(family, stored, ToSlice(value)));
  }
  EnsureSnapshot();
  return Finish(transaction_->Put(family, stored, ToSlice(value)));
}

absl::Status RocksDbSession::Insert(TableIndex table, std::string_view key,
                                    std::string_view value) {
  const rdb::Slice stored = Stored(table, key);
  NoteWrite(table, stored);
  // The caller guarantees that the key is new, so there is nothing to validate.
  return Finish(transaction_->PutUntracked(FamilyOf(table), stored, ToSlice(value)));
}

absl::Status RocksDbSession::Delete(TableIndex table, std::string_view key) {
  EnsureSnapshot();
  const rdb::Slice stored = Stored(table, key);
  NoteWrite(table, stored);
  return Finish(transaction_->Delete(FamilyOf(table), stored));
}

std::unique_ptr<rdb::Iterator> RocksDbSession::NewIterator(rdb::ColumnFamilyHandle* family,
                                                           const rdb::ReadOptions& options) {
  // Without own writes there is nothing to merge, and the plain iterator is cheaper.
  if (Wrote()) return std::unique_ptr<rdb::Iterator>(transaction_->GetIterator(options, family));
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

void RocksDbSession::ForgetAnnounced() {
  for (size_t i = 0; i < announced_; ++i) announced_values_[i].Reset();  // unpins its block
  announced_ = next_announced_ = 0;
}

void RocksDbSession::Prefetch(std::span<const TableKey> keys) {
  if (keys.empty() || backend_.concurrency_ != Concurrency::kOptimistic) return;
  ForgetAnnounced();
  EnsureSnapshot();
  announced_ = keys.size();
  if (announced_keys_.size() < announced_) {
    announced_tables_.resize(announced_);
    announced_keys_.resize(announced_);
    announced_slices_.resize(announced_);
    announced_families_.resize(announced_);
    announced_values_ = std::vector<rdb::PinnableSlice>(announced_);
    announced_statuses_.resize(announced_);
  }
  for (size_t i = 0; i < announced_; ++i) {
    announced_tables_[i] = keys[i].table;
    announced_keys_[i].clear();
    if (backend_.tables_ == Tables::kPrefixes) {
      announced_keys_[i].push_back(static_cast<char>(keys[i].table));
    }
    announced_keys_[i].append(keys[i].key);
    announced_slices_[i] = ToSlice(announced_keys_[i]);
    announced_families_[i] = FamilyOf(keys[i].table);
  }
  ReadAnnounced();
}

void RocksDbSession::ReadAnnounced() {
  rdb::ReadOptions options = read_options_;
  options.async_io = true;
  if (!Wrote()) {
    backend_.db_->MultiGet(options, announced_, announced_families_.data(),
                           announced_slices_.data(), announced_values_.data(),
                           announced_statuses_.data());
    return;
  }
  // Only the transaction's MultiGet sees its own writes. It reads from one column family.
  for (size_t begin = 0, end = 0; begin < announced_; begin = end) {
    while (end < announced_ && announced_families_[end] == announced_families_[begin]) ++end;
    transaction_->MultiGet(options, announced_families_[begin], end - begin,
                           &announced_slices_[begin], &announced_values_[begin],
                           &announced_statuses_[begin]);
  }
}

size_t RocksDbSession::FindAnnounced(TableIndex table, const rdb::Slice& stored) {
  for (size_t n = 0; n < announced_; ++n) {
    size_t i = next_announced_ + n;
    if (i >= announced_) i -= announced_;
    if (announced_tables_[i] != table || announced_slices_[i] != stored) continue;
    next_announced_ = i + 1 < announced_ ? i + 1 : 0;
    return i;
  }
  return announced_;
}

void RocksDbSession::NoteWrite(TableIndex table, const rdb::Slice& stored) {
  // The same key may have been announced twice.
  for (;;) {
    const size_t i = FindAnnounced(table, stored);
    if (i == announced_) return;
    announced_tables_[i] = kNoTable;
  }
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

absl::Status RocksDbSession::PutManyAuto(TableIndex table, std::span<const KvRecord> records) {
  rdb::WriteBatch batch;
  for (const KvRecord& record : records) {
    const rdb::Status put =
        batch.Put(FamilyOf(table), Stored(table, record.key), ToSlice(record.value));
    if (!put.ok()) return ToStatus(put);
  }
  return ToStatus(backend_.db_->Write(backend_.WriteOptions(), &batch));
}

absl::Status RocksDbSession::DeleteAuto(TableIndex table, std::string_view key) {
  return ToStatus(
      backend_.db_->Delete(backend_.WriteOptions(), FamilyOf(table), Stored(table, key)));
}

absl::Status RocksDbSession::LoadSorted(TableIndex table, absl::FunctionRef<bool(KvRecord*)> next) {
  return LoadTableFiles(*backend_.db_, FamilyOf(table), backend_.options_.path,
                        [&](rdb::Slice* key, rdb::Slice* value) {
                          KvRecord record;
                          if (!next(&record)) return false;
                          *key = Stored(table, record.key);
                          *value = ToSlice(record.value);
                          return true;
                        });
}

// The compaction gives the space back, and reads no longer step over the deleted keys.
absl::Status RocksDbSession::DeleteRangeAuto(TableIndex table, std::string_view from,
                                             std::string_view to) {
  if (from >= to) return absl::OkStatus();
  // TransactionDB refuses DeleteRange.
  if (backend_.optimistic_ == nullptr) return KvSession::DeleteRangeAuto(table, from, to);
  const rdb::Slice begin = Stored(table, from, key_), end = Stored(table, to, upper_key_);
  LATCHKEY_RETURN_IF_ERROR(ToStatus(backend_.optimistic_->GetBaseDB()->DeleteRange(
      backend_.WriteOptions(), FamilyOf(table), begin, end)));
  return ToStatus(
      backend_.db_->CompactRange(rdb::CompactRangeOptions(), FamilyOf(table), &begin, &end));
}

absl::StatusOr<std::unique_ptr<KvBackend>> OpenAs(const KvOptions& options, Concurrency concurrency,
                                                  Tables tables) {
  auto backend = std::make_unique<RocksDbBackend>(options, concurrency, tables);
  LATCHKEY_RETURN_IF_ERROR(backend->Open());
  return backend;
}

}  // namespace

std::string RocksDbVersion() {
  std::string version =
      fmt::format("RocksDB {}.{}.{}", ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH);
#ifdef LATCHKEY_ROCKSDB_HAS_ASSERTIONS
  version += " (with assertions)";
#endif
#ifdef LATCHKEY_ROCKSDB_HAS_IO_URING
  version += " (with io_uring)";
#endif
  return version;
}

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
