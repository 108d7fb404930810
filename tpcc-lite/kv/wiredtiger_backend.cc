// WiredTiger as a baseline: one B+tree file per table, snapshot isolation, checksums on every
// block, no compression.
//
// Durability: `none` = no log and no checkpoint before Close. `commit` = WiredTiger's
// transaction_sync: fdatasync of the log before a commit returns (WiredTiger groups waiting
// commits). `group` = commits return from the log's buffers, which PeriodicSync writes and syncs
// every 10 ms. This is Latchkey's promise for `group`. WiredTiger's usual setting (the log written
// to the page cache, never synced) promises nothing about power failures; it is not measured here.
// With a log there is a checkpoint every 60 s or 2 GB of log, as in MongoDB.
//
// Torn writes: a checkpoint writes pages to new places, so a crash never needs a torn one.
//
// Memory: `cache_bytes` is WiredTiger's cache_size. Data files have direct I/O and no memory map,
// so the page cache adds nothing. Sessions and, with a log, its buffers (32 MiB) come in addition;
// WiredTiger offers no limit for them.
//
// WiredTiger has no batched reads, so announced keys are not used. It has no locks that wait:
// the second writer of a key gets WT_ROLLBACK at its Put, and runs again.
#include <sys/stat.h>
#include <wiredtiger.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <utility>

#include "storage/base/status_macros.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"
#include "tpcc-lite/kv/kv_backends.h"
#include "tpcc-lite/kv/periodic_sync.h"

namespace latchkey {
namespace {

// Users and WiredTiger's own threads. A session that is never opened costs address space only.
constexpr int kMaxSessions = 4'200;

absl::Status WiredTigerStatus(int code) {
  if (code == 0) return absl::OkStatus();
  const auto make = [code](absl::StatusCode status) {
    return MakeStatus(status, "wiredtiger: {}", wiredtiger_strerror(code));
  };
  switch (code) {
    case WT_NOTFOUND:
      return make(absl::StatusCode::kNotFound);
    case WT_ROLLBACK:
      return make(absl::StatusCode::kAborted);
    case WT_CACHE_FULL:
    case ENOSPC:
      return make(absl::StatusCode::kResourceExhausted);
    case WT_TRY_SALVAGE:
      return make(absl::StatusCode::kDataLoss);
    case EINVAL:
      return make(absl::StatusCode::kInvalidArgument);
    case EIO:
      return make(absl::StatusCode::kUnavailable);
    default:
      return make(absl::StatusCode::kInternal);
  }
}

/// WiredTiger copies from inputs only.
WT_ITEM ToItem(std::string_view bytes) {
  WT_ITEM item{};
  item.data = bytes.empty() ? "" : bytes.data();
  item.size = bytes.size();
  return item;
}
std::string_view ToBytes(const WT_ITEM& item) {
  return {static_cast<const char*>(item.data), item.size};
}

/// Passes WiredTiger's errors to the sink. Before Forward() it keeps the last one instead: a failed
/// open is reported by its status.
class WiredTigerLog : public WT_EVENT_HANDLER {
 public:
  using Sink = std::function<void(LogSeverity, std::string_view)>;

  explicit WiredTigerLog(Sink sink) : WT_EVENT_HANDLER{}, sink_(std::move(sink)) {
    handle_error = [](WT_EVENT_HANDLER* self, WT_SESSION*, int, const char* message) {
      static_cast<WiredTigerLog*>(self)->Write(message);
      return 0;
    };
    handle_message = [](WT_EVENT_HANDLER*, WT_SESSION*, const char*) { return 0; };
  }

  void Forward() {
    MutexLock lock(mutex_);
    forwards_ = true;
  }
  std::string last() {
    MutexLock lock(mutex_);
    return last_;
  }

 private:
  void Write(const char* message) {
    {
      MutexLock lock(mutex_);
      last_ = message;
      if (!forwards_) return;
    }
    if (sink_) sink_(LogSeverity::kError, fmt::format("wiredtiger: {}", message));
  }

  const Sink sink_;
  Mutex mutex_{ThreadRuntime()};
  bool forwards_ = false;  // guarded by mutex_, as the next one
  std::string last_;
};

/// A session that closes itself, which rolls its transaction back and closes its cursors.
struct CloseSession {
  void operator()(WT_SESSION* session) const { session->close(session, nullptr); }
};
using SessionHandle = std::unique_ptr<WT_SESSION, CloseSession>;

absl::StatusOr<SessionHandle> OpenSession(WT_CONNECTION* connection) {
  WT_SESSION* session = nullptr;
  LATCHKEY_RETURN_IF_ERROR(WiredTigerStatus(
      connection->open_session(connection, nullptr, "isolation=snapshot", &session)));
  return SessionHandle(session);
}

/// The value of a statistic; 0 if WiredTiger does not have it.
uint64_t StatisticOf(WT_CURSOR* cursor, int which) {
  const char* description = nullptr;
  const char* text = nullptr;
  int64_t value = 0;
  cursor->set_key(cursor, which);
  if (cursor->search(cursor) != 0) return 0;
  if (cursor->get_value(cursor, &description, &text, &value) != 0) return 0;
  return static_cast<uint64_t>(value);
}

/// A cursor keeps its position until the transaction ends: the next search begins in its page.
class WiredTigerSession final : public KvSession {
 public:
  WiredTigerSession(SessionHandle session, std::vector<WT_CURSOR*> cursors)
      : session_(std::move(session)), cursors_(std::move(cursors)) {}

  absl::Status Begin() override {
    return WiredTigerStatus(session_->begin_transaction(session_.get(), nullptr));
  }
  absl::Status Commit() override {
    ResetCursors();
    return WiredTigerStatus(session_->commit_transaction(session_.get(), nullptr));
  }
  /// Resets the cursors as well.
  absl::Status Rollback() override {
    positioned_.clear();
    return WiredTigerStatus(session_->rollback_transaction(session_.get(), nullptr));
  }
  absl::Status Get(TableIndex table, std::string_view key, std::string* value) override {
    return Finish(Read(table, key, value));
  }
  absl::Status GetForUpdate(TableIndex table, std::string_view key, std::string* value) override {
    return Finish(Read(table, key, value));
  }
  absl::Status Put(TableIndex table, std::string_view key, std::string_view value) override {
    return Finish(Write(table, key, value));
  }
  absl::Status Insert(TableIndex table, std::string_view key, std::string_view value) override {
    return Finish(Write(table, key, value));
  }
  absl::Status Delete(TableIndex table, std::string_view key) override {
    WT_CURSOR* const cursor = At(table, key);
    return Finish(cursor->remove(cursor));
  }
  absl::Status Scan(TableIndex table, std::string_view from, std::string_view to, bool reverse,
                    absl::FunctionRef<bool(std::string_view, std::string_view)> visit) override;
  // WiredTiger runs an operation outside a transaction as one of its own.
  absl::Status GetAuto(TableIndex table, std::string_view key, std::string* value) override {
    const int code = Read(table, key, value);
    ResetCursors();
    return WiredTigerStatus(code);
  }
  absl::Status PutAuto(TableIndex table, std::string_view key, std::string_view value) override {
    const int code = Write(table, key, value);
    ResetCursors();
    return WiredTigerStatus(code);
  }
  absl::Status DeleteAuto(TableIndex table, std::string_view key) override {
    WT_CURSOR* const cursor = At(table, key);
    const int code = cursor->remove(cursor);
    ResetCursors();
    return WiredTigerStatus(code);
  }
  absl::Status DeleteRangeAuto(TableIndex table, std::string_view from,
                               std::string_view to) override;

 private:
  /// The cursor of the table with its key set. The key must stay valid until the operation.
  WT_CURSOR* At(TableIndex table, std::string_view key) {
    WT_CURSOR* const cursor = Positioned(table);
    WT_ITEM item = ToItem(key);
    cursor->set_key(cursor, &item);
    return cursor;
  }
  WT_CURSOR* Positioned(TableIndex table) {
    WT_CURSOR* const cursor = cursors_[table];
    if (std::find(positioned_.begin(), positioned_.end(), cursor) == positioned_.end()) {
      positioned_.push_back(cursor);
    }
    return cursor;
  }
  /// A positioned cursor keeps its page in the cache.
  void ResetCursors() {
    for (WT_CURSOR* cursor : positioned_) cursor->reset(cursor);
    positioned_.clear();
  }
  int Read(TableIndex table, std::string_view key, std::string* value);
  int Write(TableIndex table, std::string_view key, std::string_view value);
  /// Deletes the keys of the range, which is not empty, in the open transaction.
  int Truncate(TableIndex table, std::string_view from, std::string_view to);
  /// Moves to the first entry of a scan.
  static int Seek(WT_CURSOR* cursor, std::string_view bound, bool reverse);
  /// Ends the transaction when `code` is a conflict, as KvSession promises.
  absl::Status Finish(int code) {
    if (code == WT_ROLLBACK) Rollback().IgnoreError();
    return WiredTigerStatus(code);
  }

  const SessionHandle session_;
  const std::vector<WT_CURSOR*> cursors_;  // one per table; the session closes them
  std::vector<WT_CURSOR*> positioned_;     // those used since the last reset
};

int WiredTigerSession::Read(TableIndex table, std::string_view key, std::string* value) {
  WT_CURSOR* const cursor = At(table, key);
  WT_ITEM found{};
  int code = cursor->search(cursor);
  if (code == 0) code = cursor->get_value(cursor, &found);
  if (code == 0) value->assign(ToBytes(found));
  return code;
}

int WiredTigerSession::Write(TableIndex table, std::string_view key, std::string_view value) {
  WT_CURSOR* const cursor = At(table, key);
  WT_ITEM item = ToItem(value);
  cursor->set_value(cursor, &item);
  return cursor->update(cursor);  // or inserts: the cursor has overwrite=true
}

int WiredTigerSession::Seek(WT_CURSOR* cursor, std::string_view bound, bool reverse) {
  // WiredTiger refuses an empty key, so the smallest range begins at the first entry.
  if (bound.empty()) {
    if (const int code = cursor->reset(cursor); code != 0) return code;
    return cursor->next(cursor);
  }
  WT_ITEM item = ToItem(bound);
  cursor->set_key(cursor, &item);
  int direction = 0;  // of the entry found, seen from the bound
  if (const int code = cursor->search_near(cursor, &direction); code != 0) return code;
  if (reverse) return direction >= 0 ? cursor->prev(cursor) : 0;
  return direction < 0 ? cursor->next(cursor) : 0;
}

absl::Status WiredTigerSession::Scan(
    TableIndex table, std::string_view from, std::string_view to, bool reverse,
    absl::FunctionRef<bool(std::string_view, std::string_view)> visit) {
  if (from >= to) return absl::OkStatus();
  WT_CURSOR* const cursor = Positioned(table);
  int code = Seek(cursor, reverse ? to : from, reverse);
  while (code == 0) {
    WT_ITEM key{}, value{};
    code = cursor->get_key(cursor, &key);
    if (code == 0) code = cursor->get_value(cursor, &value);
    if (code != 0) break;
    const std::string_view here = ToBytes(key);
    if (reverse ? here < from : here >= to) break;
    if (!visit(here, ToBytes(value))) break;
    code = reverse ? cursor->prev(cursor) : cursor->next(cursor);
  }
  return Finish(code == WT_NOTFOUND ? 0 : code);
}

int WiredTigerSession::Truncate(TableIndex table, std::string_view from, std::string_view to) {
  WT_CURSOR* const last = Positioned(table);
  WT_ITEM key{};
  int code = Seek(last, to, /*reverse=*/true);
  if (code == 0) code = last->get_key(last, &key);
  if (code != 0) return code;
  if (ToBytes(key) < from) return WT_NOTFOUND;
  WT_CURSOR* first = nullptr;
  code = session_->open_cursor(session_.get(), nullptr, last, nullptr, &first);
  if (code != 0) return code;
  code = Seek(first, from, /*reverse=*/false);
  if (code == 0) code = session_->truncate(session_.get(), nullptr, first, last, nullptr);
  first->close(first);
  return code;
}

absl::Status WiredTigerSession::DeleteRangeAuto(TableIndex table, std::string_view from,
                                                std::string_view to) {
  if (from >= to) return absl::OkStatus();
  LATCHKEY_RETURN_IF_ERROR(Begin());
  const int code = Truncate(table, from, to);
  if (code == 0 || code == WT_NOTFOUND) return Commit();
  Rollback().IgnoreError();
  return WiredTigerStatus(code);
}

class WiredTigerBackend final : public KvBackend {
 public:
  explicit WiredTigerBackend(const KvOptions& options)
      : options_(options), log_(options.log_sink) {}
  ~WiredTigerBackend() override { Close().IgnoreError(); }

  absl::Status Open();
  std::string Name() const override { return "wiredtiger"; }
  std::vector<std::string> Warnings() const override { return warnings_; }
  absl::StatusOr<std::unique_ptr<KvSession>> NewSession() override;
  absl::Status Checkpoint() override;
  absl::Status Close() override;
  KvStatistics GetStatistics() const override;

 private:
  std::string Configuration(bool direct_io) const;
  int OpenConnection(bool direct_io);
  absl::Status CreateTables();
  void AddTableSizes(WT_SESSION* session, KvStatistics& result) const;
  std::string UriOf(TableIndex table) const { return "table:" + options_.tables[table]; }

  const KvOptions options_;
  WiredTigerLog log_;
  WT_CONNECTION* connection_ = nullptr;
  SessionHandle sync_session_;  // of the actor of group_commit_
  PeriodicSync group_commit_;   // Durability::kGroup
  std::vector<std::string> warnings_;
};

// config_base and use_environment: no file and no variable may change these settings.
std::string WiredTigerBackend::Configuration(bool direct_io) const {
  std::string text = fmt::format(
      "create,config_base=false,use_environment=false,mmap=false,statistics=(fast),cache_size={},"
      "session_max={}",
      options_.cache_bytes, kMaxSessions);
  if (direct_io) text += ",direct_io=[data,checkpoint]";
  if (options_.durability == Durability::kNone) return text + ",log=(enabled=false)";
  return text +
         fmt::format(
             ",log=(enabled=true),checkpoint=(wait=60,log_size=2GB),transaction_sync=(enabled={},"
             "method=fsync)",
             options_.durability == Durability::kCommit);
}

int WiredTigerBackend::OpenConnection(bool direct_io) {
  return wiredtiger_open(options_.path.c_str(), &log_, Configuration(direct_io).c_str(),
                         &connection_);
}

absl::Status WiredTigerBackend::Open() {
  if (mkdir(options_.path.c_str(), 0755) != 0 && errno != EEXIST) {
    return MakeStatus(absl::StatusCode::kNotFound, "cannot create {}: {}", options_.path,
                      std::strerror(errno));
  }
  int code = OpenConnection(/*direct_io=*/true);
  if (code == EINVAL) {  // as the file system answers O_DIRECT that it does not have
    code = OpenConnection(/*direct_io=*/false);
    if (code == 0) {
      warnings_.push_back("wiredtiger: the file system refuses O_DIRECT, the page cache helps it");
    }
  }
  if (code != 0) {
    const absl::Status status = WiredTigerStatus(code);
    return MakeStatus(status.code(), "{}: {}", std::string(status.message()), log_.last());
  }
  log_.Forward();
  LATCHKEY_RETURN_IF_ERROR(CreateTables());
  if (options_.durability != Durability::kGroup) return absl::OkStatus();
  LATCHKEY_ASSIGN_OR_RETURN(sync_session_, OpenSession(connection_));
  group_commit_.Start("wiredtiger-log", [session = sync_session_.get()] {
    return WiredTigerStatus(session->log_flush(session, "sync=on"));
  });
  return absl::OkStatus();
}

absl::Status WiredTigerBackend::CreateTables() {
  LATCHKEY_ASSIGN_OR_RETURN(const SessionHandle session, OpenSession(connection_));
  const std::string configuration = fmt::format(
      "key_format=u,value_format=u,checksum=on,block_compressor=none,allocation_size=4096,"
      "leaf_page_max={},internal_page_max={}",
      options_.page_size, options_.page_size);
  for (TableIndex table = 0; table < options_.tables.size(); ++table) {
    LATCHKEY_RETURN_IF_ERROR(WiredTigerStatus(
        session->create(session.get(), UriOf(table).c_str(), configuration.c_str())));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<KvSession>> WiredTigerBackend::NewSession() {
  LATCHKEY_ASSIGN_OR_RETURN(SessionHandle session, OpenSession(connection_));
  std::vector<WT_CURSOR*> cursors(options_.tables.size());
  for (TableIndex table = 0; table < cursors.size(); ++table) {
    LATCHKEY_RETURN_IF_ERROR(WiredTigerStatus(session->open_cursor(
        session.get(), UriOf(table).c_str(), nullptr, "overwrite=true", &cursors[table])));
  }
  return std::make_unique<WiredTigerSession>(std::move(session), std::move(cursors));
}

absl::Status WiredTigerBackend::Checkpoint() {
  LATCHKEY_ASSIGN_OR_RETURN(const SessionHandle session, OpenSession(connection_));
  return WiredTigerStatus(session->checkpoint(session.get(), nullptr));
}

absl::Status WiredTigerBackend::Close() {
  if (connection_ == nullptr) return absl::OkStatus();
  const absl::Status synced = group_commit_.Stop();
  sync_session_.reset();
  const absl::Status written = Checkpoint();
  WT_CONNECTION* const connection = std::exchange(connection_, nullptr);
  const int closed = connection->close(connection, nullptr);
  LATCHKEY_RETURN_IF_ERROR(synced);
  LATCHKEY_RETURN_IF_ERROR(written);
  return WiredTigerStatus(closed);
}

void WiredTigerBackend::AddTableSizes(WT_SESSION* session, KvStatistics& result) const {
  uint64_t file_bytes = 0, free_bytes = 0;
  for (TableIndex table = 0; table < options_.tables.size(); ++table) {
    WT_CURSOR* cursor = nullptr;
    const std::string uri = "statistics:" + UriOf(table);
    if (session->open_cursor(session, uri.c_str(), nullptr, "statistics=(fast)", &cursor) != 0) {
      return;
    }
    file_bytes += StatisticOf(cursor, WT_STAT_DSRC_BLOCK_SIZE);
    free_bytes += StatisticOf(cursor, WT_STAT_DSRC_BLOCK_REUSE_BYTES);
    cursor->close(cursor);
  }
  result.file_bytes = file_bytes;
  result.live_bytes = file_bytes - std::min(free_bytes, file_bytes);
}

KvStatistics WiredTigerBackend::GetStatistics() const {
  KvStatistics result;
  if (connection_ == nullptr) return result;
  const absl::StatusOr<SessionHandle> session = OpenSession(connection_);
  if (!session.ok()) return result;
  WT_CURSOR* cursor = nullptr;
  WT_SESSION* const open = session->get();
  if (open->open_cursor(open, "statistics:", nullptr, "statistics=(fast)", &cursor) != 0) {
    return result;
  }
  result.reads = StatisticOf(cursor, WT_STAT_CONN_READ_IO);
  result.writes = StatisticOf(cursor, WT_STAT_CONN_WRITE_IO);
  result.bytes_read = StatisticOf(cursor, WT_STAT_CONN_BLOCK_BYTE_READ);
  result.bytes_written = StatisticOf(cursor, WT_STAT_CONN_BLOCK_BYTE_WRITE) +
                         StatisticOf(cursor, WT_STAT_CONN_LOG_BYTES_WRITTEN);
  cursor->close(cursor);
  AddTableSizes(open, result);
  return result;
}

}  // namespace

std::string WiredTigerVersion() {
  int major = 0, minor = 0, patch = 0;
  wiredtiger_version(&major, &minor, &patch);
  return fmt::format("WiredTiger {}.{}.{}", major, minor, patch);
}

absl::StatusOr<std::unique_ptr<KvBackend>> OpenWiredTigerBackend(const KvOptions& options) {
  auto backend = std::make_unique<WiredTigerBackend>(options);
  LATCHKEY_RETURN_IF_ERROR(backend->Open());
  return backend;
}

}  // namespace latchkey
