// The public interface: each call is checked here, then forwarded. The checks are for handles that
// the call cannot use, null outputs, and views of memory that the call writes to.
#include <cstdint>
#include <new>
#include <utility>

#include "engine/backup/backup_job.h"
#include "engine/cursor_impl.h"
#include "engine/database_impl.h"
#include "engine/latchkey.h"
#include "engine/public_calls.h"
#include "engine/transaction_impl.h"
#include "engine/watch/metrics_text.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

// Runs a move of a cursor. If memory runs out, the cursor ends with that error, and another Seek
// may work.
template <typename Call>
void Move(CursorImpl* cursor, Call call) {
  if (cursor == nullptr) return;
  try {
    call(*cursor);
  } catch (const std::bad_alloc&) {
    cursor->Fail(OutOfMemory());
  }
}

}  // namespace

// ---- Cursor

Cursor::Cursor(absl::Status refusal) : refusal_(std::move(refusal)) {}
Cursor::Cursor(std::shared_ptr<TransactionImpl> transaction, std::unique_ptr<CursorImpl> impl)
    : transaction_(std::move(transaction)), impl_(std::move(impl)) {}
Cursor::~Cursor() {
  if (impl_ != nullptr) transaction_->KeepSpareCursor(std::move(impl_));
}
Cursor::Cursor(Cursor&& other) noexcept
    : transaction_(std::move(other.transaction_)),
      impl_(std::move(other.impl_)),
      refusal_(std::exchange(other.refusal_, absl::OkStatus())) {}
Cursor& Cursor::operator=(Cursor&& other) noexcept {
  if (this == &other) return *this;
  impl_ = std::move(other.impl_);
  transaction_ = std::move(other.transaction_);
  refusal_ = std::exchange(other.refusal_, absl::OkStatus());
  return *this;
}
void Cursor::SeekToFirst() {
  Move(impl_.get(), [](CursorImpl& cursor) { cursor.SeekToFirst(); });
}
void Cursor::SeekToLast() {
  Move(impl_.get(), [](CursorImpl& cursor) { cursor.SeekToLast(); });
}
void Cursor::Seek(std::string_view key) {
  Move(impl_.get(), [key](CursorImpl& cursor) { cursor.Seek(key); });
}
void Cursor::SeekForPrev(std::string_view key) {
  Move(impl_.get(), [key](CursorImpl& cursor) { cursor.SeekForPrev(key); });
}
void Cursor::Next() {
  Move(impl_.get(), [](CursorImpl& cursor) { cursor.Next(); });
}
void Cursor::Prev() {
  Move(impl_.get(), [](CursorImpl& cursor) { cursor.Prev(); });
}
Cursor::Copies Cursor::CopyRecords(bool forward, size_t max_records, size_t max_bytes,
                                   std::span<char> to) {
  RecordCopies copies(max_records, max_bytes, to);
  Move(impl_.get(), [&](CursorImpl& cursor) { cursor.CopyRecords(forward, &copies); });
  return copies.result();
}
bool Cursor::Valid() const { return impl_ != nullptr && impl_->Valid(); }
absl::Status Cursor::status() const {
  if (impl_ != nullptr) return impl_->status();
  return refusal_.ok() ? MovedFrom("Cursor") : refusal_;
}
std::string_view Cursor::key() const {
  return impl_ != nullptr ? impl_->key() : std::string_view();
}
std::string_view Cursor::value() const {
  return impl_ != nullptr ? impl_->value() : std::string_view();
}

// ---- Transaction

Transaction::Transaction(absl::Status refusal) : refusal_(std::move(refusal)) {}
Transaction::Transaction(std::shared_ptr<TransactionImpl> impl) : impl_(std::move(impl)) {}
Transaction::~Transaction() {
  if (impl_ != nullptr) impl_->EndUnfinished();
}
Transaction::Transaction(Transaction&& other) noexcept
    : impl_(std::move(other.impl_)), refusal_(std::exchange(other.refusal_, absl::OkStatus())) {}
Transaction& Transaction::operator=(Transaction&& other) noexcept {
  if (this == &other) return *this;
  if (impl_ != nullptr) impl_->EndUnfinished();
  impl_ = std::move(other.impl_);
  refusal_ = std::exchange(other.refusal_, absl::OkStatus());
  return *this;
}
absl::Status Transaction::Refusal() const {
  return refusal_.ok() ? MovedFrom("Transaction") : refusal_;
}

absl::Status Transaction::status() const { return impl_ != nullptr ? absl::OkStatus() : Refusal(); }

absl::Status Transaction::Get(Tree tree, std::string_view key, std::string* value) {
  if (impl_ == nullptr) return Refusal();
  if (NeedsReadApart(key, value)) {
    return ReadApart(key, value,
                     [this, tree, value](std::string_view copy) { return Get(tree, copy, value); });
  }
  return CatchOutOfMemory([&] {
    return OnTree(*impl_, tree, Timed::kGet, [&](TransactionImpl& transaction, TreeImpl& found) {
      return transaction.Get(found, key, value);
    });
  });
}
absl::Status Transaction::Put(Tree tree, std::string_view key, std::string_view value) {
  if (impl_ == nullptr) return Refusal();
  return CatchOutOfMemory([&] {
    return OnTree(*impl_, tree, Timed::kPut, [&](TransactionImpl& transaction, TreeImpl& found) {
      return transaction.Put(found, key, value);
    });
  });
}
absl::Status Transaction::Insert(Tree tree, std::string_view key, std::string_view value) {
  if (impl_ == nullptr) return Refusal();
  return CatchOutOfMemory([&] {
    return OnTree(*impl_, tree, Timed::kPut, [&](TransactionImpl& transaction, TreeImpl& found) {
      return transaction.Insert(found, key, value);
    });
  });
}
absl::Status Transaction::Delete(Tree tree, std::string_view key) {
  if (impl_ == nullptr) return Refusal();
  return CatchOutOfMemory([&] {
    return OnTree(*impl_, tree, Timed::kDelete, [&](TransactionImpl& transaction, TreeImpl& found) {
      return transaction.Delete(found, key);
    });
  });
}
absl::Status Transaction::GetForUpdate(Tree tree, std::string_view key, std::string* value) {
  if (impl_ == nullptr) return Refusal();
  if (NeedsReadApart(key, value)) {
    return ReadApart(key, value, [this, tree, value](std::string_view copy) {
      return GetForUpdate(tree, copy, value);
    });
  }
  return CatchOutOfMemory([&] {
    return OnTree(*impl_, tree, Timed::kGetForUpdate, [&](TransactionImpl& transaction, TreeImpl& found) {
      return transaction.GetForUpdate(found, key, value);
    });
  });
}
Cursor Transaction::NewCursor(Tree tree, KeyRange range) {
  if (impl_ == nullptr) return Cursor(Refusal());
  try {
    if (!impl_->CanUse(tree)) return Cursor(impl_->Refuse(tree));
    TreeImpl* const found = &DatabaseIdentity::ImplOf(tree);
    std::unique_ptr<CursorImpl> cursor = impl_->TakeSpareCursor();
    if (cursor == nullptr) {
      cursor = std::make_unique<CursorImpl>(*impl_, found, std::move(range));
    } else {
      cursor->BeginAgain(found, std::move(range));
    }
    return Cursor(impl_, std::move(cursor));
  } catch (const std::bad_alloc&) {
    return Cursor(OutOfMemory());
  }
}
void Transaction::Prefetch(Tree tree, std::span<const std::string_view> keys) {
  if (impl_ == nullptr) return;
  Guarded(*impl_, [&](TransactionImpl& transaction) {
    TreeImpl* const found = transaction.Find(tree);
    transaction.Prefetch(keys.size(), [&](size_t i) {
      return std::pair<TreeImpl*, std::string_view>(found, keys[i]);
    });
    return absl::OkStatus();
  }).IgnoreError();
}
void Transaction::Prefetch(std::span<const std::pair<Tree, std::string_view>> keys) {
  if (impl_ == nullptr) return;
  Guarded(*impl_, [&](TransactionImpl& transaction) {
    transaction.Prefetch(keys.size(), [&](size_t i) {
      return std::pair<TreeImpl*, std::string_view>(transaction.Find(keys[i].first),
                                                    keys[i].second);
    });
    return absl::OkStatus();
  }).IgnoreError();
}
absl::StatusOr<Savepoint> Transaction::SetSavepoint() {
  if (impl_ == nullptr) return Refusal();
  return CatchOutOfMemory([&]() -> absl::StatusOr<Savepoint> {
    LATCHKEY_RETURN_IF_ERROR(impl_->CheckUsable());
    return impl_->SetSavepoint();
  });
}
absl::Status Transaction::RollbackTo(const Savepoint& savepoint) {
  if (impl_ == nullptr) return Refusal();
  return Guarded(*impl_,
                 [&](TransactionImpl& transaction) { return transaction.RollbackTo(savepoint); });
}
absl::Status Transaction::Commit(const CommitOptions& options) {
  if (impl_ == nullptr) return Refusal();
  return Guarded(*impl_, [&](TransactionImpl& transaction) -> absl::Status {
    if (transaction.writes() == 0) return transaction.Commit(options);
    return transaction.sampled().Measure(Timed::kCommit,
                                         [&] { return transaction.Commit(options); });
  });
}
absl::Status Transaction::Rollback() {
  if (impl_ == nullptr) return Refusal();
  return Guarded(*impl_, [](TransactionImpl& transaction) { return transaction.Rollback(); });
}
bool Transaction::is_vain_to_repeat() const {
  return impl_ != nullptr && impl_->is_vain_to_repeat();
}

// ---- WriteBatch

void WriteBatch::Put(Tree tree, std::string_view key, std::string_view value) {
  operations_.push_back({tree, std::string(key), std::string(value)});
}
void WriteBatch::Delete(Tree tree, std::string_view key) {
  operations_.push_back({tree, std::string(key), std::nullopt});
}

// ---- Database

Database::Database(std::unique_ptr<DatabaseImpl> impl) : impl_(std::move(impl)) {}
Database::~Database() {
  if (impl_->identity().IsForeign()) DatabaseImpl::LeaveToParent(std::move(impl_));
}

absl::StatusOr<std::unique_ptr<Database>> Database::Open(const std::string& path,
                                                         const Options& options) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::unique_ptr<Database>> {
    LATCHKEY_ASSIGN_OR_RETURN(std::unique_ptr<DatabaseImpl> impl,
                              DatabaseImpl::Open(ThreadRuntime(), path, options));
    return DatabaseImpl::AsDatabase(std::move(impl));
  });
}

std::unique_ptr<Database> DatabaseImpl::AsDatabase(std::unique_ptr<DatabaseImpl> impl) {
  return std::unique_ptr<Database>(new Database(std::move(impl)));
}

DatabaseImpl& DatabaseImpl::Of(Database& database) { return *database.impl_; }

absl::Status Database::Close() {
  if (impl_->identity().IsForeign()) return impl_->identity().CheckOpen();
  return CatchOutOfMemory([&] { return impl_->CloseForGood(); });
}

absl::StatusOr<Tree> Database::OpenTree(std::string_view name, bool create) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<Tree> {
    LATCHKEY_RETURN_IF_ERROR(impl_->identity().CheckOpen());
    LATCHKEY_ASSIGN_OR_RETURN(TreeImpl * tree, impl_->OpenTree(name, create));
    return impl_->identity().HandleOf(*tree);
  });
}
absl::Status Database::DropTree(std::string_view name) {
  return GuardedWrite(*impl_, [name](DatabaseImpl& database) { return database.DropTree(name); });
}
std::vector<std::string> Database::ListTrees() const {
  if (!impl_->identity().CheckOpen().ok()) return {};
  return impl_->ListTrees();
}

Transaction Database::Begin(const BeginOptions& options) {
  try {
    if (absl::Status open = impl_->identity().CheckOpen(); !open.ok()) {
      return Transaction(std::move(open));
    }
    auto transaction = std::make_shared<TransactionImpl>(impl_->context());
    transaction->sampled() = SampledCalls(impl_->latencies());
    if (absl::Status begun = transaction->Begin(impl_->Resolve(options)); !begun.ok()) {
      return Transaction(std::move(begun));
    }
    return Transaction(std::move(transaction));
  } catch (const std::bad_alloc&) {
    return Transaction(OutOfMemory());
  }
}

absl::Status Database::Get(Tree tree, std::string_view key, std::string* value) {
  if (NeedsReadApart(key, value)) {
    return ReadApart(key, value,
                     [this, tree, value](std::string_view copy) { return Get(tree, copy, value); });
  }
  return CatchOutOfMemory([&] {
    return OnTree(*impl_, tree, [&](TreeImpl& found) {
      return impl_->latencies().Measure(Timed::kGet, [&] { return impl_->Get(found, key, value); });
    });
  });
}
absl::Status Database::Put(Tree tree, std::string_view key, std::string_view value) {
  return CatchOutOfMemory([&] {
    return OnTree(*impl_, tree, [&](TreeImpl& found) {
      return impl_->latencies().Measure(Timed::kWrite,
                                        [&] { return impl_->Put(found, key, value); });
    });
  });
}
absl::Status Database::Delete(Tree tree, std::string_view key) {
  return CatchOutOfMemory([&] {
    return OnTree(*impl_, tree, [&](TreeImpl& found) {
      return impl_->latencies().Measure(Timed::kWrite, [&] {
        return impl_->RunTransaction(
            [&](TransactionImpl& transaction) { return transaction.Delete(found, key); });
      });
    });
  });
}

absl::Status Database::Checkpoint() {
  return GuardedWrite(*impl_, [](DatabaseImpl& database) { return database.Checkpoint(); });
}
absl::Status Database::SetCacheBytes(uint64_t cache_bytes) {
  return Guarded(*impl_, [cache_bytes](DatabaseImpl& database) {
    return database.SetCacheBytes(cache_bytes);
  });
}
Statistics Database::GetStatistics() const {
  if (impl_->identity().IsForeign()) return {};
  const DatabaseImpl::LastWords* closed = impl_->last_words();
  return closed != nullptr ? closed->statistics : impl_->GetStatistics();
}
std::vector<OperationLatency> Database::GetLatencies() const { return impl_->latencies().List(); }
std::string Database::GetMetrics(MetricsFormat format) const {
  return MetricsText(format, ThreadRuntime().WallClockSeconds(), GetStatistics(), GetLatencies());
}
void Database::ResetStatisticsExtremes() {
  if (impl_->identity().CheckOpen().ok()) impl_->store().ResetExtremes();
}
uint32_t Database::page_size() const {
  const DatabaseImpl::LastWords* closed = impl_->last_words();
  return closed != nullptr ? closed->page_size : impl_->store().page_size();
}
std::string Database::DeviceDescription() const {
  const DatabaseImpl::LastWords* closed = impl_->last_words();
  return closed != nullptr ? closed->device : impl_->store().device().Describe();
}
absl::Status Database::Verify() {
  return Guarded(*impl_, [](DatabaseImpl& database) { return database.Verify(); });
}
absl::StatusOr<CompactInfo> Database::Compact(const CompactOptions& options) {
  CompactInfo info;
  LATCHKEY_RETURN_IF_ERROR(GuardedWrite(*impl_, [&](DatabaseImpl& database) -> absl::Status {
    LATCHKEY_ASSIGN_OR_RETURN(info, database.Compact(options));
    return absl::OkStatus();
  }));
  return info;
}
absl::StatusOr<BackupInfo> Database::Backup(const std::string& directory,
                                            const BackupOptions& options) {
  BackupInfo info;
  LATCHKEY_RETURN_IF_ERROR(GuardedWrite(*impl_, [&](DatabaseImpl& database) -> absl::Status {
    LATCHKEY_ASSIGN_OR_RETURN(info, database.Backup(directory, options, BackupSizing{}));
    return absl::OkStatus();
  }));
  return info;
}

}  // namespace latchkey
