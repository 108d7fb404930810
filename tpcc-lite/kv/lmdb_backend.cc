// LMDB as a baseline: one named database per table.
//
// Durability: `none` is a writable memory map without syncs, LMDB's fastest setting. `commit` is
// LMDB's default: pages are written to new places, and each commit syncs them and then the page
// that names them. LMDB has no log, so it has no `group` (KvTraits): with MDB_NOSYNC and a sync now
// and then, a power failure would lose the whole database, not only the last commits.
//
// LMDB has one writer at a time, and a read transaction cannot become a write transaction. A
// session reads in a read transaction until its first write, then continues in a write transaction.
// If another session has committed in between, the write returns Aborted, since the snapshot would
// change. The session's next transaction is then a write transaction from its beginning, which
// always succeeds. The system's page cache holds the pages of LMDB: `cache_bytes` does not bound
// it.
#include <lmdb.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "storage/base/status_macros.h"
#include "tpcc-lite/kv/kv_backends.h"

namespace latchkey {
namespace {

// Bounds address space and a sparse file, not memory or disk.
constexpr size_t kMapBytes = size_t{1} << 37;
constexpr unsigned kMaxReaders = 1024;

absl::Status ToStatus(int code) {
  if (code == MDB_SUCCESS) return absl::OkStatus();
  const auto make = [code](absl::StatusCode status) {
    return MakeStatus(status, "lmdb: {}", mdb_strerror(code));
  };
  switch (code) {
    case MDB_NOTFOUND:
      return make(absl::StatusCode::kNotFound);
    case MDB_MAP_FULL:
    case ENOSPC:
      return make(absl::StatusCode::kResourceExhausted);
    case MDB_BAD_VALSIZE:
      return InvalidArgument("lmdb: keys are limited to 511 bytes");
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
      return make(absl::StatusCode::kDataLoss);
    case EIO:
      return make(absl::StatusCode::kUnavailable);
    default:
      return make(absl::StatusCode::kInternal);
  }
}

MDB_val ToValue(std::string_view bytes) {
  return {bytes.size(), const_cast<char*>(bytes.data())};  // LMDB does not write through inputs
}
std::string_view ToView(const MDB_val& value) {
  return {static_cast<const char*>(value.mv_data), value.mv_size};
}

class LmdbBackend;

class LmdbSession final : public KvSession {
 public:
  explicit LmdbSession(LmdbBackend& backend) : backend_(backend) {}
  ~LmdbSession() override {
    if (writer_ != nullptr) mdb_txn_abort(writer_);
    if (reader_ != nullptr) mdb_txn_abort(reader_);
  }

  absl::Status Begin() override;
  absl::Status Commit() override;
  absl::Status Rollback() override;
  absl::Status Get(TableIndex table, std::string_view key, std::string* value) override;
  absl::Status GetForUpdate(TableIndex table, std::string_view key, std::string* value) override;
  absl::Status Put(TableIndex table, std::string_view key, std::string_view value) override;
  absl::Status Insert(TableIndex table, std::string_view key, std::string_view value) override {
    return Put(table, key, value);
  }
  absl::Status Delete(TableIndex table, std::string_view key) override;
  absl::Status Scan(TableIndex table, std::string_view from, std::string_view to, bool reverse,
                    absl::FunctionRef<bool(std::string_view, std::string_view)> visit) override;
  /// A write transaction from its beginning: it has no earlier snapshot.
  absl::Status PutAuto(TableIndex table, std::string_view key, std::string_view value) override {
    const KvRecord record{key, value};
    return PutManyAuto(table, {&record, 1});
  }
  absl::Status PutManyAuto(TableIndex table, std::span<const KvRecord> records) override {
    LATCHKEY_RETURN_IF_ERROR(StartWriting());
    absl::Status put = PutEach(table, records);
    if (put.ok()) return Commit();
    Rollback().IgnoreError();
    return put;
  }
  absl::Status LoadSorted(TableIndex table, absl::FunctionRef<bool(KvRecord*)> next) override;
  absl::Status DeleteRangeAuto(TableIndex table, std::string_view from,
                               std::string_view to) override;

 private:
  MDB_txn* current() { return writer_ != nullptr ? writer_ : reader_; }
  absl::Status StartReading();
  void StopReading();
  absl::Status StartWriting();
  /// Continues in a write transaction. Aborted: another session has committed since the snapshot.
  absl::Status EnsureWriting();

  LmdbBackend& backend_;
  MDB_txn* reader_ = nullptr;  // kept between transactions (reset, renew): saves its slot's search
  MDB_txn* writer_ = nullptr;
  bool reading_ = false;
  bool write_from_start_ = false;
};

class LmdbBackend final : public KvBackend {
 public:
  explicit LmdbBackend(const KvOptions& options) : options_(options) {}
  ~LmdbBackend() override { Close().IgnoreError(); }

  absl::Status Open();
  std::string Name() const override { return "lmdb"; }
  std::vector<std::string> Warnings() const override {
    return {"lmdb lives in the system's page cache: --cache-size does not bound it"};
  }
  absl::StatusOr<std::unique_ptr<KvSession>> NewSession() override {
    return std::make_unique<LmdbSession>(*this);
  }
  absl::Status Checkpoint() override { return ToStatus(mdb_env_sync(env_, 1)); }
  absl::Status Close() override;
  KvStatistics GetStatistics() const override;

 private:
  friend class LmdbSession;
  absl::Status OpenTables();

  KvOptions options_;
  MDB_env* env_ = nullptr;
  std::vector<MDB_dbi> tables_;
};

absl::Status LmdbBackend::Open() {
  if (options_.durability == Durability::kGroup) {
    return InvalidArgument("lmdb {}: ask for none or commit", KvTraitsOf("lmdb").durability_limits);
  }
  if (mkdir(options_.path.c_str(), 0755) != 0 && errno != EEXIST) {
    return MakeStatus(absl::StatusCode::kNotFound, "cannot create {}: {}", options_.path,
                      std::strerror(errno));
  }
  LATCHKEY_RETURN_IF_ERROR(ToStatus(mdb_env_create(&env_)));
  LATCHKEY_RETURN_IF_ERROR(ToStatus(mdb_env_set_mapsize(env_, kMapBytes)));
  LATCHKEY_RETURN_IF_ERROR(ToStatus(mdb_env_set_maxreaders(env_, kMaxReaders)));
  LATCHKEY_RETURN_IF_ERROR(
      ToStatus(mdb_env_set_maxdbs(env_, static_cast<MDB_dbi>(options_.tables.size()))));
  unsigned flags = MDB_NOTLS | MDB_NORDAHEAD;
  if (options_.durability == Durability::kNone) flags |= MDB_WRITEMAP | MDB_NOSYNC;
  LATCHKEY_RETURN_IF_ERROR(ToStatus(mdb_env_open(env_, options_.path.c_str(), flags, 0644)));
  return OpenTables();
}

absl::Status LmdbBackend::OpenTables() {
  MDB_txn* transaction = nullptr;
  LATCHKEY_RETURN_IF_ERROR(ToStatus(mdb_txn_begin(env_, nullptr, 0, &transaction)));
  tables_.resize(options_.tables.size());
  for (size_t i = 0; i < tables_.size(); ++i) {
    const int code = mdb_dbi_open(transaction, options_.tables[i].c_str(), MDB_CREATE, &tables_[i]);
    if (code != MDB_SUCCESS) {
      mdb_txn_abort(transaction);
      return ToStatus(code);
    }
  }
  return ToStatus(mdb_txn_commit(transaction));
}

absl::Status LmdbBackend::Close() {
  if (env_ == nullptr) return absl::OkStatus();
  const int code = mdb_env_sync(env_, 1);
  mdb_env_close(env_);
  env_ = nullptr;
  return ToStatus(code);
}

KvStatistics LmdbBackend::GetStatistics() const {
  KvStatistics result;
  MDB_envinfo info;
  MDB_stat stat;
  MDB_txn* transaction = nullptr;
  if (env_ == nullptr || mdb_env_info(env_, &info) != 0 || mdb_env_stat(env_, &stat) != 0) {
    return result;
  }
  result.file_bytes = (info.me_last_pgno + 1) * stat.ms_psize;
  if (mdb_txn_begin(env_, nullptr, MDB_RDONLY, &transaction) != 0) return result;
  uint64_t pages = 0;
  for (MDB_dbi table : tables_) {
    MDB_stat tree;
    if (mdb_stat(transaction, table, &tree) != 0) continue;
    pages += tree.ms_branch_pages + tree.ms_leaf_pages + tree.ms_overflow_pages;
  }
  mdb_txn_abort(transaction);
  result.live_bytes = pages * stat.ms_psize;
  return result;
}

absl::Status LmdbSession::StartReading() {
  if (reader_ == nullptr) {
    LATCHKEY_RETURN_IF_ERROR(ToStatus(mdb_txn_begin(backend_.env_, nullptr, MDB_RDONLY, &reader_)));
  } else {
    LATCHKEY_RETURN_IF_ERROR(ToStatus(mdb_txn_renew(reader_)));
  }
  reading_ = true;
  return absl::OkStatus();
}

void LmdbSession::StopReading() {
  if (reading_) mdb_txn_reset(reader_);
  reading_ = false;
}

absl::Status LmdbSession::StartWriting() {
  return ToStatus(mdb_txn_begin(backend_.env_, nullptr, 0, &writer_));
}

absl::Status LmdbSession::EnsureWriting() {
  if (writer_ != nullptr) return absl::OkStatus();
  const size_t snapshot = mdb_txn_id(reader_);
  LATCHKEY_RETURN_IF_ERROR(StartWriting());
  if (mdb_txn_id(writer_) != snapshot + 1) {
    Rollback().IgnoreError();
    write_from_start_ = true;
    return absl::AbortedError("lmdb: somebody committed before this transaction's first write");
  }
  StopReading();
  return absl::OkStatus();
}

absl::Status LmdbSession::Begin() {
  if (std::exchange(write_from_start_, false) || backend_.options_.read_committed_load) {
    return StartWriting();
  }
  return StartReading();
}

absl::Status LmdbSession::Commit() {
  StopReading();
  if (writer_ == nullptr) return absl::OkStatus();
  return ToStatus(mdb_txn_commit(std::exchange(writer_, nullptr)));
}

absl::Status LmdbSession::Rollback() {
  StopReading();
  if (writer_ != nullptr) mdb_txn_abort(std::exchange(writer_, nullptr));
  return absl::OkStatus();
}

absl::Status LmdbSession::Get(TableIndex table, std::string_view key, std::string* value) {
  MDB_val name = ToValue(key);
  MDB_val found;
  const int code = mdb_get(current(), backend_.tables_[table], &name, &found);
  if (code != MDB_SUCCESS) return ToStatus(code);
  value->assign(ToView(found));
  return absl::OkStatus();
}

absl::Status LmdbSession::GetForUpdate(TableIndex table, std::string_view key, std::string* value) {
  LATCHKEY_RETURN_IF_ERROR(EnsureWriting());
  return Get(table, key, value);
}

absl::Status LmdbSession::Put(TableIndex table, std::string_view key, std::string_view value) {
  LATCHKEY_RETURN_IF_ERROR(EnsureWriting());
  MDB_val name = ToValue(key);
  MDB_val content = ToValue(value);
  return ToStatus(mdb_put(writer_, backend_.tables_[table], &name, &content, 0));
}

absl::Status LmdbSession::Delete(TableIndex table, std::string_view key) {
  LATCHKEY_RETURN_IF_ERROR(EnsureWriting());
  MDB_val name = ToValue(key);
  return ToStatus(mdb_del(writer_, backend_.tables_[table], &name, nullptr));
}

absl::Status LmdbSession::Scan(TableIndex table, std::string_view from, std::string_view to,
                               bool reverse,
                               absl::FunctionRef<bool(std::string_view, std::string_view)> visit) {
  if (from >= to) return absl::OkStatus();
  MDB_cursor* cursor = nullptr;
  LATCHKEY_RETURN_IF_ERROR(ToStatus(mdb_cursor_open(current(), backend_.tables_[table], &cursor)));
  MDB_val key = ToValue(reverse ? to : from);
  MDB_val value;
  int code;
  // LMDB refuses an empty key, so the smallest range begins at the first entry.
  if (!reverse && from.empty()) {
    code = mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
  } else {
    code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    if (reverse) {
      code = mdb_cursor_get(cursor, &key, &value, code == MDB_NOTFOUND ? MDB_LAST : MDB_PREV);
    }
  }
  while (code == MDB_SUCCESS) {
    const std::string_view here = ToView(key);
    if (reverse ? here < from : here >= to) break;
    if (!visit(here, ToView(value))) break;
    code = mdb_cursor_get(cursor, &key, &value, reverse ? MDB_PREV : MDB_NEXT);
  }
  mdb_cursor_close(cursor);
  return code == MDB_NOTFOUND ? absl::OkStatus() : ToStatus(code);
}

// One transaction, in append mode.
absl::Status LmdbSession::LoadSorted(TableIndex table, absl::FunctionRef<bool(KvRecord*)> next) {
  LATCHKEY_RETURN_IF_ERROR(StartWriting());
  int code = MDB_SUCCESS;
  for (KvRecord record; code == MDB_SUCCESS && next(&record);) {
    MDB_val key = ToValue(record.key), value = ToValue(record.value);
    code = mdb_put(writer_, backend_.tables_[table], &key, &value, MDB_APPEND);
  }
  if (code == MDB_SUCCESS) return Commit();
  Rollback().IgnoreError();
  return ToStatus(code);
}

// One transaction, one cursor. A deletion leaves the cursor at the next key.
absl::Status LmdbSession::DeleteRangeAuto(TableIndex table, std::string_view from,
                                          std::string_view to) {
  if (from >= to) return absl::OkStatus();
  LATCHKEY_RETURN_IF_ERROR(StartWriting());
  MDB_cursor* cursor = nullptr;
  int code = mdb_cursor_open(writer_, backend_.tables_[table], &cursor);
  MDB_val key = ToValue(from), value;
  MDB_cursor_op step = from.empty() ? MDB_FIRST : MDB_SET_RANGE;
  while (code == MDB_SUCCESS) {
    code = mdb_cursor_get(cursor, &key, &value, std::exchange(step, MDB_NEXT));
    if (code != MDB_SUCCESS || ToView(key) >= to) break;
    code = mdb_cursor_del(cursor, 0);
  }
  if (cursor != nullptr) mdb_cursor_close(cursor);
  if (code == MDB_SUCCESS || code == MDB_NOTFOUND) return Commit();
  Rollback().IgnoreError();
  return ToStatus(code);
}

}  // namespace

std::string LmdbVersion() {
  return fmt::format("LMDB {}.{}.{}", MDB_VERSION_MAJOR, MDB_VERSION_MINOR, MDB_VERSION_PATCH);
}

absl::StatusOr<std::unique_ptr<KvBackend>> OpenLmdbBackend(const KvOptions& options) {
  auto backend = std::make_unique<LmdbBackend>(options);
  LATCHKEY_RETURN_IF_ERROR(backend->Open());
  return backend;
}

}  // namespace latchkey
