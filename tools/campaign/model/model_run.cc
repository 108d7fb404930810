#include "tools/campaign/model/model_run.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "storage/base/hash.h"
#include "storage/base/status_macros.h"
#include "tools/campaign/model/model_home.h"
#include "tools/campaign/model/model_map.h"

namespace latchkey {
namespace {

using Map = ModelMap::Map;

template <typename... Args>
absl::Status Wrong(fmt::format_string<Args...> format, Args&&... args) {
  return MakeStatus(absl::StatusCode::kInternal, format, std::forward<Args>(args)...);
}

class Runner {
 public:
  Runner(const ModelList& list, const std::string& path, const ModelConfiguration& configuration)
      : list_(list),
        options_(configuration.options),
        home_(configuration, path),
        model_(home_.survives_power_loss() && options_.durability == Durability::kGroup) {}

  ModelResult Run() {
    result_.status = Open();
    for (size_t i = 0; i < list_.operations.size() && result_.status.ok(); ++i) {
      result_.failed_at = i;
      result_.status = Do(list_.operations[i]);
      ++result_.operations;
    }
    if (result_.status.ok()) result_.status = Finish();
    txn_.reset();
    reader_.reset();
    db_.reset();
    return std::move(result_);
  }

 private:
  static constexpr size_t kMostSavepoints = 40;
  // The undo of one transaction must fit the smallest version store.
  static constexpr size_t kMostWrites = 300;

  absl::Status Open() {
    LATCHKEY_ASSIGN_OR_RETURN(db_, home_.Open());
    for (uint8_t t = 0; t < kModelTrees; ++t) LATCHKEY_RETURN_IF_ERROR(OpenTree(t));
    return absl::OkStatus();
  }

  static std::string NameOf(uint8_t t, bool renamed) {
    return (renamed ? "renamed " : "tree ") + std::to_string(t);
  }
  std::string NameOf(uint8_t t) const { return NameOf(t, renamed_[t]); }

  // A power loss may have undone the last rename. The tree has one of its two names, or is missing.
  absl::Status OpenTree(uint8_t t) {
    if (!db_->OpenTree(NameOf(t), /*create=*/false).ok()) renamed_[t] = !renamed_[t];
    LATCHKEY_ASSIGN_OR_RETURN(trees_[t], db_->OpenTree(NameOf(t)));
    return absl::OkStatus();
  }

  void Note(uint64_t word) { result_.history = MixHash(result_.history ^ word) + word; }
  void Note(const absl::Status& status) { Note(static_cast<uint64_t>(status.code())); }

  // Checks `got`: OK if `ok`, and `otherwise` if not.
  absl::Status Expect(const absl::Status& got, bool ok, absl::StatusCode otherwise) {
    Note(got);
    if (got.ok() == ok && (ok || got.code() == otherwise)) return absl::OkStatus();
    if (!got.ok() && got.code() != otherwise) return got;
    return Wrong("returned {}, but the key is {}", got.ok() ? "OK" : std::string(got.message()),
                 ok == (otherwise == absl::StatusCode::kNotFound) ? "there" : "not there");
  }

  absl::Status Do(const ModelOperation& op) {
    const std::string key = KeyFor(list_.shape, op.key);
    switch (op.kind) {
      case ModelKind::kPut:
        return Put(op, key);
      case ModelKind::kInsert:
        return Insert(op, key);
      case ModelKind::kDelete:
        return Delete(op, key);
      case ModelKind::kGet:
      case ModelKind::kGetForUpdate:
        return Get(op, key);
      case ModelKind::kScanForward:
      case ModelKind::kScanBackward:
        return Scan(op, key);
      case ModelKind::kBatch:
        return Batch(op, key);
      case ModelKind::kBegin:
        return Begin(op);
      case ModelKind::kCommit:
        return End(/*commit=*/true);
      case ModelKind::kRollback:
        return End(/*commit=*/false);
      case ModelKind::kSavepoint:
        return SetSavepoint();
      case ModelKind::kRollbackTo:
        return ReturnToSavepoint(op);
      case ModelKind::kOpenReader:
        return OpenReader();
      case ModelKind::kCheckReader:
        return CheckReader(op, key);
      case ModelKind::kReopen:
        return Reopen();
      case ModelKind::kPowerLoss:
        return LosePower();
      case ModelKind::kCheckpoint:
        return Checkpoint();
      case ModelKind::kResizeCache:
        return ResizeCache(op);
      case ModelKind::kDropTree:
        return DropTree(op);
      case ModelKind::kDeleteRange:
        return DeleteRange(op, key);
      case ModelKind::kVerify:
        return Verify();
      case ModelKind::kRenameTree:
        return RenameTree(op);
      case ModelKind::kLoadTree:
        return LoadTree(op);
      case ModelKind::kCompact:
        return db_->Compact().status();
    }
    return absl::OkStatus();
  }

  absl::Status ResizeCache(const ModelOperation& op) {
    const uint64_t bytes = options_.cache_bytes + op.argument % 8 * (256 << 10);
    const absl::Status done = db_->SetCacheBytes(bytes);
    // A database that has grown may need more memory than it was opened with.
    return absl::IsInvalidArgument(done) ? absl::OkStatus() : done;
  }

  // With a reader Verify would not look for leaked pages.
  absl::Status Verify() {
    LATCHKEY_RETURN_IF_ERROR(End(/*commit=*/true));
    reader_.reset();
    return db_->Verify();
  }

  Tree tree(const ModelOperation& op) const { return trees_[op.tree]; }
  bool Has(const ModelOperation& op, const std::string& key) const {
    return model_.tree(op.tree).count(key) != 0;
  }
  absl::Status MakeRoomForWrite() {
    return txn_ && model_.position() >= kMostWrites ? End(/*commit=*/true) : absl::OkStatus();
  }
  void Written() {
    if (!txn_) model_.Commit();
  }

  absl::Status Put(const ModelOperation& op, const std::string& key) {
    LATCHKEY_RETURN_IF_ERROR(MakeRoomForWrite());
    std::string value = ValueFor(op);
    if (op.salt % 4 == 0 && value.size() >= 100) {
      LATCHKEY_RETURN_IF_ERROR(PutInParts(op, key, value));
    } else {
      LATCHKEY_RETURN_IF_ERROR(txn_ ? txn_->Put(tree(op), key, value)
                                    : db_->Put(tree(op), key, value));
    }
    model_.Put(op.tree, key, std::move(value));
    Written();
    return absl::OkStatus();
  }

  // In parts of equal sizes. Some values are given up first.
  absl::Status PutInParts(const ModelOperation& op, const std::string& key,
                          std::string_view value) {
    const auto put = [&](Transaction& txn) -> absl::Status {
      if (op.salt % 16 == 0) {
        ValueWriter given_up = txn.PutInParts(tree(op), key);
        LATCHKEY_RETURN_IF_ERROR(given_up.Append(value));
        LATCHKEY_RETURN_IF_ERROR(given_up.Append(value));
      }
      ValueWriter writer = txn.PutInParts(tree(op), key);
      const size_t size = 1 + op.salt / 16 % (value.size() / 2 + 1);
      for (size_t at = 0; at < value.size(); at += size) {
        LATCHKEY_RETURN_IF_ERROR(writer.Append(value.substr(at, size)));
      }
      return writer.Finish();
    };
    return txn_ ? put(*txn_) : db_->RunTransaction(put);
  }

  absl::Status Insert(const ModelOperation& op, const std::string& key) {
    if (!txn_) return Put(op, key);
    LATCHKEY_RETURN_IF_ERROR(MakeRoomForWrite());
    if (!txn_) return Put(op, key);
    std::string value = ValueFor(op);
    const bool there = Has(op, key);
    LATCHKEY_RETURN_IF_ERROR(
        Expect(txn_->Insert(tree(op), key, value), !there, absl::StatusCode::kAlreadyExists));
    if (!there) model_.Put(op.tree, key, std::move(value));
    return absl::OkStatus();
  }

  absl::Status Delete(const ModelOperation& op, const std::string& key) {
    LATCHKEY_RETURN_IF_ERROR(MakeRoomForWrite());
    const bool there = Has(op, key);
    LATCHKEY_RETURN_IF_ERROR(Expect(txn_ ? txn_->Delete(tree(op), key) : db_->Delete(tree(op), key),
                                    there, absl::StatusCode::kNotFound));
    if (there) model_.Delete(op.tree, key);
    Written();
    return absl::OkStatus();
  }

  absl::Status Get(const ModelOperation& op, const std::string& key) {
    std::string value;
    if (txn_ && op.salt % 4 == 0) {
      const absl::Status got = GetInParts(op, key, &value);
      return Compare(model_.tree(op.tree), key, got, value);
    }
    const absl::Status got = !txn_ ? db_->Get(tree(op), key, &value)
                             : op.kind == ModelKind::kGetForUpdate
                                 ? txn_->GetForUpdate(tree(op), key, &value)
                                 : txn_->Get(tree(op), key, &value);
    return Compare(model_.tree(op.tree), key, got, value);
  }

  absl::Status GetInParts(const ModelOperation& op, const std::string& key, std::string* value) {
    std::string part;
    uint64_t whole = 0;
    LATCHKEY_RETURN_IF_ERROR(txn_->GetPart(tree(op), key, 0, 0, &part, &whole));
    const size_t size = 1 + op.salt / 16 % (whole / 2 + 1);
    do {
      LATCHKEY_RETURN_IF_ERROR(txn_->GetPart(tree(op), key, value->size(), size, &part));
      value->append(part);
    } while (part.size() == size);
    return absl::OkStatus();
  }

  absl::Status Compare(const Map& map, const std::string& key, const absl::Status& got,
                       const std::string& value) {
    const auto found = map.find(key);
    LATCHKEY_RETURN_IF_ERROR(Expect(got, found != map.end(), absl::StatusCode::kNotFound));
    if (!got.ok()) return absl::OkStatus();
    Note(Hash64(value));
    if (value == found->second) return absl::OkStatus();
    return Wrong("got a value of {} bytes instead of one of {}", value.size(),
                 found->second.size());
  }

  absl::Status Scan(const ModelOperation& op, const std::string& key) {
    std::optional<Transaction> own;
    if (!txn_) own = db_->Begin({.read_only = true});
    return ScanIn(txn_ ? *txn_ : *own, tree(op), model_.tree(op.tree), op, key, /*note=*/true);
  }

  // Scans from `key` over a limited number of records; sometimes turns back.
  absl::Status ScanIn(Transaction& txn, Tree tree, const Map& map, const ModelOperation& op,
                      const std::string& key, bool note) {
    const bool forward = op.kind != ModelKind::kScanBackward;
    KeyRange range;
    if (op.salt % 4 == 0) (forward ? range.to : range.from) = KeyFor(list_.shape, op.key / 2);
    if (op.salt % 8 == 1) range.to = KeyFor(list_.shape, op.key + 50);
    Cursor cursor = txn.NewCursor(tree, range);
    const auto low = range.from ? map.lower_bound(*range.from) : map.begin();
    auto high = range.to ? map.lower_bound(*range.to) : map.end();
    if (range.from && range.to && *range.to <= *range.from) high = low;
    auto at = forward ? map.lower_bound(key) : map.upper_bound(key);
    const auto clamp = [&](Map::const_iterator it) {
      if (high == low) return high;
      if (low != map.end() && (it != map.end() && it->first < low->first)) return low;
      if (high != map.end() && (it == map.end() || it->first > high->first)) return high;
      return it;
    };
    at = clamp(at);
    forward ? cursor.Seek(key) : cursor.SeekForPrev(key);
    uint32_t left = op.argument;
    for (; left > 0; --left) {
      const bool at_end = forward ? at == high : at == low;
      if (at_end) break;
      const auto& expected = forward ? *at : *std::prev(at);
      LATCHKEY_RETURN_IF_ERROR(CompareAt(cursor, expected, note));
      forward ? ++at : --at;
      forward ? cursor.Next() : cursor.Prev();
    }
    LATCHKEY_RETURN_IF_ERROR(cursor.status());
    const bool at_end = forward ? at == high : at == low;
    if (cursor.Valid() == at_end) {
      return Wrong("a scan {} of [{}, {}) {} at {} after {} of {} records",
                   forward ? "forward" : "backward", range.from.value_or(""),
                   range.to.value_or("end"), at_end ? "goes on" : "ends",
                   cursor.Valid() ? cursor.key() : "the end", op.argument - left, op.argument);
    }
    // Turns around at the current record.
    if (op.salt % 16 != 3 || !cursor.Valid()) return absl::OkStatus();
    for (int i = 0; i < 3; ++i) {
      const bool stop = at == (forward ? low : high);
      forward ? cursor.Prev() : cursor.Next();
      LATCHKEY_RETURN_IF_ERROR(cursor.status());
      if (cursor.Valid() == stop) return Wrong("a scan that turned around ends wrongly");
      if (stop) break;
      forward ? --at : ++at;
      LATCHKEY_RETURN_IF_ERROR(CompareAt(cursor, forward ? *at : *std::prev(at), note));
    }
    return absl::OkStatus();
  }

  absl::Status CompareAt(const Cursor& cursor, const Map::value_type& expected, bool note) {
    LATCHKEY_RETURN_IF_ERROR(cursor.status());
    if (!cursor.Valid()) return Wrong("a scan misses a key of {} bytes", expected.first.size());
    if (cursor.key() != expected.first) {
      return Wrong("a scan shows a key of {} bytes where one of {} bytes comes next",
                   cursor.key().size(), expected.first.size());
    }
    if (cursor.value() != expected.second) return Wrong("a scan shows a wrong value");
    ++result_.scanned;
    if (note) Note(Hash64(cursor.value(), expected.first.size()));
    return absl::OkStatus();
  }

  absl::Status Batch(const ModelOperation& op, const std::string& key) {
    if (txn_) return absl::OkStatus();
    WriteBatch batch;
    std::vector<std::pair<std::string, std::optional<std::string>>> changes;
    changes.emplace_back(key, ValueFor(op));
    for (uint32_t i = 1; i < 6; ++i) {
      std::string other = KeyFor(list_.shape, op.key / i + i);
      const bool put = (op.salt >> i) % 3 != 0;
      changes.emplace_back(std::move(other),
                           put ? std::optional(std::to_string(op.salt + i)) : std::nullopt);
    }
    for (const auto& [changed, value] : changes) {
      value ? batch.Put(tree(op), changed, *value) : batch.Delete(tree(op), changed);
    }
    LATCHKEY_RETURN_IF_ERROR(db_->Write(batch));
    for (auto& [changed, value] : changes) {
      value ? model_.Put(op.tree, changed, *value) : model_.Delete(op.tree, changed);
    }
    Written();
    return absl::OkStatus();
  }

  absl::Status Begin(const ModelOperation& op) {
    if (txn_) return absl::OkStatus();
    txn_ = db_->Begin(
        {.isolation = op.salt % 2 == 0 ? Isolation::kSnapshot : Isolation::kSerializable});
    return absl::OkStatus();
  }

  absl::Status End(bool commit) {
    if (!txn_) return absl::OkStatus();
    const absl::Status done = commit ? txn_->Commit() : txn_->Rollback();
    if (!commit) model_.ReturnTo(0);
    model_.Commit();
    savepoints_.clear();
    txn_.reset();
    Note(done);
    return done;
  }

  absl::Status SetSavepoint() {
    if (!txn_ || savepoints_.size() >= kMostSavepoints) return absl::OkStatus();
    LATCHKEY_ASSIGN_OR_RETURN(const Savepoint savepoint, txn_->SetSavepoint());
    savepoints_.emplace_back(savepoint, model_.position());
    return absl::OkStatus();
  }

  absl::Status ReturnToSavepoint(const ModelOperation& op) {
    if (!txn_ || savepoints_.empty()) return absl::OkStatus();
    const size_t index = op.salt % savepoints_.size();
    LATCHKEY_RETURN_IF_ERROR(txn_->RollbackTo(savepoints_[index].first));
    model_.ReturnTo(savepoints_[index].second);
    savepoints_.resize(index + 1);
    return absl::OkStatus();
  }

  // The reader's snapshot shows committed data. Outside a transaction the model equals it.
  absl::Status OpenReader() {
    if (txn_) return absl::OkStatus();
    reader_ = db_->Begin({.read_only = true});
    std::string value;
    reader_->Get(trees_[0], "", &value).IgnoreError();  // takes the snapshot
    reader_sees_ = model_.all();
    return absl::OkStatus();
  }

  absl::Status CheckReader(const ModelOperation& op, const std::string& key) {
    if (!reader_) return absl::OkStatus();
    std::string value;
    const Map& map = reader_sees_[op.tree];
    const uint64_t before = result_.history;
    absl::Status status = Compare(map, key, reader_->Get(tree(op), key, &value), value);
    if (status.ok()) status = ScanIn(*reader_, tree(op), map, op, key, /*note=*/false);
    // The configuration determines when the snapshot becomes too old.
    result_.history = before;
    if (!absl::IsAborted(status) && !absl::IsFailedPrecondition(status)) return status;
    reader_.reset();
    return absl::OkStatus();
  }

  // Makes the commits before it durable. Those of an open transaction come later.
  absl::Status Checkpoint() {
    LATCHKEY_RETURN_IF_ERROR(db_->Checkpoint());
    model_.Secure();
    return absl::OkStatus();
  }

  absl::Status Reopen() {
    LATCHKEY_RETURN_IF_ERROR(End(/*commit=*/false));
    reader_.reset();
    if (!home_.survives_closing()) return Checkpoint();
    LATCHKEY_RETURN_IF_ERROR(db_->Close());
    db_.reset();
    ++result_.reopens;
    LATCHKEY_RETURN_IF_ERROR(home_.Restart());
    model_.Secure();
    LATCHKEY_RETURN_IF_ERROR(Open());
    return CompareAll();
  }

  // Rolls back open transactions. Afterwards the acknowledged durable commits are there, and of the
  // others a prefix. On a medium that does not survive a power loss it is a clean reopen.
  absl::Status LosePower() {
    if (!home_.survives_power_loss()) return Reopen();
    home_.CutPower();
    if (txn_) Note(absl::OkStatus());
    txn_.reset();
    reader_.reset();
    savepoints_.clear();
    model_.ReturnTo(0);
    db_.reset();
    ++result_.power_losses;
    LATCHKEY_RETURN_IF_ERROR(home_.Restart());
    LATCHKEY_RETURN_IF_ERROR(Open());
    return CompareAll();
  }

  absl::StatusOr<uint64_t> FingerprintOfDatabase() {
    uint64_t fingerprint = 0;
    for (uint8_t t = 0; t < kModelTrees; ++t) {
      Transaction txn = db_->Begin({.read_only = true});
      Cursor cursor = txn.NewCursor(trees_[t]);
      for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
        fingerprint += ModelFingerprintOf(t, cursor.key(), cursor.value());
      }
      LATCHKEY_RETURN_IF_ERROR(cursor.status());
    }
    return fingerprint;
  }

  // Compares with the committed model. Takes lost commits out of the model where they are allowed.
  absl::Status CompareAll() {
    LATCHKEY_ASSIGN_OR_RETURN(const uint64_t found, FingerprintOfDatabase());
    const std::optional<size_t> lost = model_.GoBackTo(found);
    if (!lost) return Wrong("holds what no commit left that it may have gone back to");
    result_.lost_commits += *lost;
    return absl::OkStatus();
  }

  absl::Status DropTree(const ModelOperation& op) {
    LATCHKEY_RETURN_IF_ERROR(End(/*commit=*/true));
    reader_.reset();
    LATCHKEY_RETURN_IF_ERROR(db_->DropTree(NameOf(op.tree)));
    model_.Drop(op.tree);
    model_.Commit();
    return OpenTree(op.tree);
  }

  // Handles, snapshots and transactions go on.
  absl::Status RenameTree(const ModelOperation& op) {
    const bool renamed = !renamed_[op.tree];
    LATCHKEY_RETURN_IF_ERROR(db_->RenameTree(NameOf(op.tree), NameOf(op.tree, renamed)));
    renamed_[op.tree] = renamed;
    return absl::OkStatus();
  }

  // Under the tree's name, or under another one that it then gets.
  absl::Status LoadTree(const ModelOperation& op) {
    LATCHKEY_RETURN_IF_ERROR(End(/*commit=*/true));
    reader_.reset();
    Map records = model_.tree(op.tree);
    for (uint32_t i = 0; i < op.salt % 500; ++i) {
      records[KeyFor(list_.shape, op.key + i)] = std::to_string(op.salt + i);
    }
    const bool renames = op.salt % 2 == 0;
    const std::string name = NameOf(op.tree), loading = renames ? "loading" : name;
    if (renames) {
      // A power loss may have left it behind.
      const absl::Status dropped = db_->DropTree(loading);
      if (!dropped.ok() && !absl::IsNotFound(dropped)) return dropped;
      LATCHKEY_RETURN_IF_ERROR(Load(loading, records));
    }
    LATCHKEY_RETURN_IF_ERROR(db_->DropTree(name));
    model_.Drop(op.tree);
    model_.Commit();
    LATCHKEY_RETURN_IF_ERROR(renames ? db_->RenameTree(loading, name) : Load(loading, records));
    for (auto& [key, value] : records) model_.Put(op.tree, key, std::move(value));
    model_.Commit();
    return OpenTree(op.tree);
  }
  absl::Status Load(const std::string& name, const Map& records) {
    LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<BulkLoader> loader, db_->NewBulkLoader(name));
    for (const auto& [key, value] : records) LATCHKEY_RETURN_IF_ERROR(loader->Put(key, value));
    return loader->Finish().status();
  }

  // A reader goes on reading what is deleted; at least every third delete has one. It ends afterwards:
  // writes to the range would wait for its end.
  absl::Status DeleteRange(const ModelOperation& op, const std::string& key) {
    LATCHKEY_RETURN_IF_ERROR(End(/*commit=*/true));
    if (!reader_ && op.salt % 3 == 0) LATCHKEY_RETURN_IF_ERROR(OpenReader());
    const auto& map = model_.tree(op.tree);
    auto last = map.lower_bound(key);
    for (uint64_t i = op.salt % 400; i > 0 && last != map.end(); --i) ++last;
    if (op.salt % 16 == 0 || last == map.end()) {
      const std::string end(Database::kMaxKeySize, '\xff');
      const bool all = op.salt % 32 == 0;
      LATCHKEY_RETURN_IF_ERROR(all ? db_->ClearTree(tree(op))
                                   : db_->DeleteRange(tree(op), {.from = key, .to = std::nullopt}));
      if (all) {
        model_.Drop(op.tree);
      } else {
        model_.DeleteRange(op.tree, key, end + end);
      }
    } else {
      const std::string to = last->first;
      LATCHKEY_RETURN_IF_ERROR(db_->DeleteRange(tree(op), {.from = key, .to = to}));
      model_.DeleteRange(op.tree, key, to);
    }
    model_.Commit();
    if (!reader_) return absl::OkStatus();
    LATCHKEY_RETURN_IF_ERROR(CheckReader(op, key));
    reader_.reset();
    return absl::OkStatus();
  }

  absl::Status Finish() {
    LATCHKEY_RETURN_IF_ERROR(End(/*commit=*/true));
    reader_.reset();
    for (uint8_t t = 0; t < kModelTrees; ++t) {
      Transaction txn = db_->Begin({.read_only = true});
      const ModelOperation all{.kind = t == 0 ? ModelKind::kScanForward : ModelKind::kScanBackward,
                               .tree = t,
                               .key = 0,
                               .argument = UINT32_MAX,
                               .salt = 2};
      const std::string from = t == 0 ? std::string() : std::string(Database::kMaxKeySize, '\xff');
      LATCHKEY_RETURN_IF_ERROR(ScanIn(txn, trees_[t], model_.tree(t), all, from, /*note=*/true));
    }
    LATCHKEY_RETURN_IF_ERROR(db_->Verify());
    return db_->Close();
  }

  const ModelList& list_;
  const Options options_;
  ModelHome home_;
  ModelResult result_;
  ModelMap model_;
  std::unique_ptr<Database> db_;
  std::array<Tree, kModelTrees> trees_;
  std::array<bool, kModelTrees> renamed_{};
  std::optional<Transaction> txn_;
  std::vector<std::pair<Savepoint, size_t>> savepoints_;
  std::optional<Transaction> reader_;
  std::array<Map, kModelTrees> reader_sees_;
};

}  // namespace

ModelResult RunModelList(const ModelList& list, const std::string& path,
                         const ModelConfiguration& configuration) {
  return Runner(list, path, configuration).Run();
}

}  // namespace latchkey
