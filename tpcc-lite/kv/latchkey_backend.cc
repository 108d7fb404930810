#include "tpcc-lite/kv/latchkey_backend.h"

#include <utility>

#include "engine/database_identity.h"
#include "engine/database_impl.h"
#include "engine/tree_impl.h"
#include "storage/base/status_macros.h"
#include "tpcc-lite/kv/virtual_time.h"

namespace latchkey {
namespace {

// When a call returns Aborted, the transaction is destroyed, which rolls it back: the interface
// promises that Aborted ends it.
class LatchkeySession final : public KvSession {
 public:
  LatchkeySession(Database& database, const std::vector<std::string>& names,
                  std::vector<Tree>& trees)
      : database_(database), names_(names), trees_(trees) {}

  absl::Status Begin() override {
    if (transaction_.has_value()) {
      return MakeStatus(absl::StatusCode::kFailedPrecondition,
                        "a transaction is open already: commit or roll it back first");
    }
    transaction_.emplace(database_.Begin());
    return absl::OkStatus();
  }

  absl::Status Commit() override {
    if (!transaction_.has_value()) return NotOpen();
    absl::Status status = transaction_->Commit();
    transaction_.reset();
    return status;
  }

  absl::Status Rollback() override {
    if (!transaction_.has_value()) return NotOpen();
    absl::Status status = transaction_->Rollback();
    transaction_.reset();
    return status;
  }

  absl::Status Get(TableIndex table, std::string_view key, std::string* value) override {
    if (!transaction_.has_value()) return NotOpen();
    return Ended(transaction_->Get(trees_[table], key, value));
  }
  absl::Status GetForUpdate(TableIndex table, std::string_view key, std::string* value) override {
    if (!transaction_.has_value()) return NotOpen();
    return Ended(transaction_->GetForUpdate(trees_[table], key, value));
  }
  absl::Status Put(TableIndex table, std::string_view key, std::string_view value) override {
    if (!transaction_.has_value()) return NotOpen();
    return Ended(transaction_->Put(trees_[table], key, value));
  }
  absl::Status Insert(TableIndex table, std::string_view key, std::string_view value) override {
    if (!transaction_.has_value()) return NotOpen();
    return Ended(transaction_->Insert(trees_[table], key, value));
  }
  absl::Status Delete(TableIndex table, std::string_view key) override {
    if (!transaction_.has_value()) return NotOpen();
    return Ended(transaction_->Delete(trees_[table], key));
  }

  absl::Status Scan(TableIndex table, std::string_view from, std::string_view to, bool reverse,
                    absl::FunctionRef<bool(std::string_view, std::string_view)> visit) override {
    if (!transaction_.has_value()) return NotOpen();
    if (from >= to) return absl::OkStatus();
    return Ended(ScanRange(table, from, to, reverse, visit));
  }

  void Prefetch(std::span<const TableKey> keys) override {
    if (!transaction_.has_value()) return;
    prefetch_.clear();
    for (const TableKey& key : keys) prefetch_.emplace_back(trees_[key.table], key.key);
    transaction_->Prefetch(std::span<const std::pair<Tree, std::string_view>>(prefetch_));
  }

  bool lookups_pay() const override { return true; }

  absl::Status GetAuto(TableIndex table, std::string_view key, std::string* value) override {
    return database_.Get(trees_[table], key, value);
  }
  absl::Status PutAuto(TableIndex table, std::string_view key, std::string_view value) override {
    return database_.Put(trees_[table], key, value);
  }
  absl::Status PutManyAuto(TableIndex table, std::span<const KvRecord> records) override {
    batch_.Clear();
    for (const KvRecord& record : records) batch_.Put(trees_[table], record.key, record.value);
    return database_.Write(batch_);
  }
  absl::Status DeleteAuto(TableIndex table, std::string_view key) override {
    return database_.Delete(trees_[table], key);
  }
  // A bulk load makes a new tree, which takes the place of the empty one.
  absl::Status LoadSorted(TableIndex table, absl::FunctionRef<bool(KvRecord*)> next) override {
    LATCHKEY_RETURN_IF_ERROR(database_.DropTree(names_[table]));
    LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<BulkLoader> loader,
                              database_.NewBulkLoader(names_[table]));
    for (KvRecord record; next(&record);) {
      LATCHKEY_RETURN_IF_ERROR(loader->Put(record.key, record.value));
    }
    LATCHKEY_ASSIGN_OR_RETURN(trees_[table], loader->Finish());
    return absl::OkStatus();
  }
  absl::Status DeleteRangeAuto(TableIndex table, std::string_view from,
                               std::string_view to) override {
    if (from >= to) return absl::OkStatus();
    return database_.DeleteRange(trees_[table],
                                 KeyRange{.from = std::string(from), .to = std::string(to)});
  }

 private:
  static absl::Status NotOpen() {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "no transaction is open: call Begin first");
  }

  absl::Status Ended(absl::Status status) {
    if (absl::IsAborted(status)) transaction_.reset();
    return status;
  }

  // The cursor is gone before Ended may destroy its transaction.
  absl::Status ScanRange(TableIndex table, std::string_view from, std::string_view to, bool reverse,
                         absl::FunctionRef<bool(std::string_view, std::string_view)> visit) {
    Cursor cursor = transaction_->NewCursor(
        trees_[table], KeyRange{.from = std::string(from), .to = std::string(to)});
    if (reverse) {
      for (cursor.SeekToLast(); cursor.Valid(); cursor.Prev()) {
        if (!visit(cursor.key(), cursor.value())) break;
      }
    } else {
      for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
        if (!visit(cursor.key(), cursor.value())) break;
      }
    }
    return cursor.status();
  }

  Database& database_;
  const std::vector<std::string>& names_;
  std::vector<Tree>& trees_;
  std::optional<Transaction> transaction_;
  std::vector<std::pair<Tree, std::string_view>> prefetch_;  // kept: no allocation per call
  WriteBatch batch_;                                         // as well
};

class LatchkeyBackend final : public KvBackend {
 public:
  LatchkeyBackend(std::unique_ptr<Database> database, std::vector<std::string> names,
                  std::vector<Tree> trees)
      : database_(std::move(database)), names_(std::move(names)), trees_(std::move(trees)) {}

  std::string Name() const override { return "latchkey"; }

  absl::StatusOr<std::unique_ptr<KvSession>> NewSession() override {
    return std::make_unique<LatchkeySession>(*database_, names_, trees_);
  }
  absl::Status Checkpoint() override { return database_->Checkpoint(); }
  absl::Status Close() override { return database_->Close(); }
  absl::Status BackUp(const std::string& directory, const std::function<bool()>& go_on,
                      uint64_t* bytes) override {
    BackupOptions options;
    options.progress = [&](const BackupProgress&) { return go_on(); };
    LATCHKEY_ASSIGN_OR_RETURN(const BackupInfo info, database_->Backup(directory, options));
    *bytes = info.bytes;
    return absl::OkStatus();
  }

  KvStatistics GetStatistics() const override {
    KvStatistics result;
    const Statistics now = database_->GetStatistics();
    result.latchkey = now;
    result.reads = now.reads;
    result.writes = now.writes;
    result.bytes_read = now.bytes_read;
    result.bytes_written = now.bytes_written;
    result.live_bytes = now.live_bytes;
    result.file_bytes = now.file_bytes;
    if (now.fixes > 0) {
      result.hit_ratio = static_cast<double>(now.hits) / static_cast<double>(now.fixes);
    }
    return result;
  }

  void ResetExtremes() override { database_->ResetStatisticsExtremes(); }
  std::vector<PageId> TreeRoots() const override {
    std::vector<PageId> roots;
    for (const Tree& tree : trees_) roots.push_back(DatabaseIdentity::ImplOf(tree).btree.root());
    return roots;
  }
  void SetFixRecorder(FixRecorder* recorder) override {
    DatabaseImpl::Of(*database_).SetFixRecorder(recorder);
  }

 private:
  std::unique_ptr<Database> database_;
  std::vector<std::string> names_;  // of the trees
  std::vector<Tree> trees_;
};

Options ToOptions(const KvOptions& from) {
  Options options;
  options.cache_bytes = from.cache_bytes;
  options.page_size = from.page_size;
  options.in_memory_device = from.device.kind == DeviceSpec::Kind::kMemory;
  options.durability = from.durability;
  options.torn_write_protection = from.torn_write_protection;
  options.techniques = from.techniques;
  options.log_sink = from.log_sink;
  return options;
}

}  // namespace

absl::StatusOr<std::unique_ptr<KvBackend>> OpenLatchkeyBackend(const KvOptions& options) {
  if (options.tables.empty()) return InvalidArgument("latchkey: no tables: name at least one");
  if (options.device.is_simulated()) return OpenInVirtualTime(options, ToOptions(options));
  LATCHKEY_ASSIGN_OR_RETURN(auto database, Database::Open(options.path, ToOptions(options)));
  return NewLatchkeyBackend(std::move(database), options.tables);
}

absl::StatusOr<std::unique_ptr<KvBackend>> NewLatchkeyBackend(
    std::unique_ptr<Database> database, const std::vector<std::string>& tables) {
  std::vector<Tree> trees;
  for (const std::string& table : tables) {
    LATCHKEY_ASSIGN_OR_RETURN(Tree tree, database->OpenTree(table));
    trees.push_back(tree);
  }
  return std::make_unique<LatchkeyBackend>(std::move(database), tables, std::move(trees));
}

}  // namespace latchkey
