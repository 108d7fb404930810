#include "tpcc-lite/kv/memory_backend.h"

#include <functional>
#include <utility>

#include "storage/base/check.h"
#include "storage/base/status_macros.h"
#include "storage/base/thread_annotations.h"
#include "storage/runtime/mutex.h"

namespace latchkey {
namespace {

using Table = std::map<std::string, std::string, std::less<>>;

// Invariants: the mutex is held exactly while a session's transaction is open. The `undo_` of that
// session, applied backwards, restores the state at its Begin.
class MemoryBackend final : public KvBackend {
 public:
  explicit MemoryBackend(size_t tables) : tables_(tables) {}

  std::string Name() const override { return "memory"; }
  absl::StatusOr<std::unique_ptr<KvSession>> NewSession() override;
  absl::Status Checkpoint() override { return absl::OkStatus(); }
  absl::Status Close() override { return absl::OkStatus(); }
  KvStatistics GetStatistics() const override { return {}; }

 private:
  friend class MemorySession;

  Mutex mutex_{ThreadRuntime()};
  std::vector<Table> tables_;
};

class MemorySession final : public KvSession {
 public:
  explicit MemorySession(MemoryBackend& backend) : backend_(backend) {}
  ~MemorySession() override {
    if (open_) Undo();
  }

  // The mutex stays locked until End: clang follows one function at a time.
  absl::Status Begin() LATCHKEY_NO_THREAD_SAFETY_ANALYSIS override {
    if (open_) return Misuse("a transaction is open already: commit or roll it back first");
    backend_.mutex_.Lock();
    open_ = true;
    return absl::OkStatus();
  }

  absl::Status Commit() override {
    if (!open_) return NotOpen();
    undo_.clear();
    End();
    return absl::OkStatus();
  }

  absl::Status Rollback() override {
    if (!open_) return NotOpen();
    Undo();
    return absl::OkStatus();
  }

  absl::Status Get(TableIndex table, std::string_view key, std::string* value) override {
    if (!open_) return NotOpen();
    const Table& rows = backend_.tables_[table];
    const auto found = rows.find(key);
    if (found == rows.end()) return NotFound();
    value->assign(found->second);
    return absl::OkStatus();
  }

  absl::Status GetForUpdate(TableIndex table, std::string_view key, std::string* value) override {
    return Get(table, key, value);
  }

  absl::Status Put(TableIndex table, std::string_view key, std::string_view value) override {
    if (!open_) return NotOpen();
    Table& rows = backend_.tables_[table];
    const auto at = rows.lower_bound(key);
    if (at != rows.end() && at->first == key) {
      undo_.push_back({table, at->first, std::move(at->second)});
      at->second.assign(value);
    } else {
      const auto added = rows.emplace_hint(at, key, value);
      undo_.push_back({table, added->first, std::nullopt});
    }
    return absl::OkStatus();
  }

  absl::Status Insert(TableIndex table, std::string_view key, std::string_view value) override {
    if (!open_) return NotOpen();
    if (backend_.tables_[table].contains(key)) {
      return absl::AlreadyExistsError("memory: the key is there already: use Put to replace it");
    }
    return Put(table, key, value);
  }

  absl::Status Delete(TableIndex table, std::string_view key) override {
    if (!open_) return NotOpen();
    Table& rows = backend_.tables_[table];
    const auto found = rows.find(key);
    if (found == rows.end()) return NotFound();
    undo_.push_back({table, found->first, std::move(found->second)});
    rows.erase(found);
    return absl::OkStatus();
  }

  absl::Status Scan(TableIndex table, std::string_view from, std::string_view to, bool reverse,
                    absl::FunctionRef<bool(std::string_view, std::string_view)> visit) override {
    if (!open_) return NotOpen();
    if (from >= to) return absl::OkStatus();
    const Table& rows = backend_.tables_[table];
    const auto first = rows.lower_bound(from);
    auto last = rows.lower_bound(to);
    if (!reverse) {
      for (auto at = first; at != last; ++at) {
        if (!visit(at->first, at->second)) break;
      }
      return absl::OkStatus();
    }
    while (last != first) {
      --last;
      if (!visit(last->first, last->second)) break;
    }
    return absl::OkStatus();
  }

 private:
  struct Before {
    TableIndex table;
    std::string key;
    std::optional<std::string> value;
  };

  static absl::Status Misuse(const char* message) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition, "memory: {}", message);
  }
  static absl::Status NotOpen() { return Misuse("no transaction is open: call Begin first"); }
  static absl::Status NotFound() { return absl::NotFoundError("memory: no such key"); }

  void Undo() {
    while (!undo_.empty()) {
      Before& before = undo_.back();
      Table& rows = backend_.tables_[before.table];
      if (before.value.has_value()) {
        rows.insert_or_assign(std::move(before.key), *std::move(before.value));
      } else {
        rows.erase(before.key);
      }
      undo_.pop_back();
    }
    End();
  }

  void End() LATCHKEY_NO_THREAD_SAFETY_ANALYSIS {
    open_ = false;
    backend_.mutex_.Unlock();
  }

  MemoryBackend& backend_;
  bool open_ = false;
  std::vector<Before> undo_;
};

absl::StatusOr<std::unique_ptr<KvSession>> MemoryBackend::NewSession() {
  return std::make_unique<MemorySession>(*this);
}

}  // namespace

absl::StatusOr<std::unique_ptr<KvBackend>> OpenMemoryBackend(const KvOptions& options) {
  if (options.tables.empty()) return InvalidArgument("memory: no tables: name at least one");
  return std::make_unique<MemoryBackend>(options.tables.size());
}

}  // namespace latchkey
