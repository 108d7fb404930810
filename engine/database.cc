// The public interface, forwarded to the implementation.
#include <new>
#include <utility>

#include "engine/cursor_impl.h"
#include "engine/database_impl.h"
#include "engine/latchkey.h"
#include "engine/transaction_impl.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

absl::Status CheckTree(bool valid) {
  if (valid) return absl::OkStatus();
  return absl::InvalidArgumentError("the Tree handle is empty: get one from Database::OpenTree");
}

// Runs a move of a cursor; for want of memory the cursor ends with that error, and another seek may
// work. nullptr: there was no memory for the cursor itself.
template <typename Call>
void Move(CursorImpl* cursor, Call call) {
  if (cursor == nullptr) return;
  try {
    call(*cursor);
  } catch (const std::bad_alloc&) {
    cursor->Fail(OutOfMemory());
  }
}

// Runs a call of a transaction. nullptr: there was no memory to begin it.
template <typename Call>
absl::Status Guarded(TransactionImpl* transaction, Call call) {
  if (transaction == nullptr) return OutOfMemory();
  return CatchOutOfMemory([&]() -> absl::Status { return call(*transaction); });
}

}  // namespace

// ---- Cursor

Cursor::Cursor(std::unique_ptr<CursorImpl> impl) : impl_(std::move(impl)) {}
Cursor::~Cursor() = default;
Cursor::Cursor(Cursor&&) noexcept = default;
Cursor& Cursor::operator=(Cursor&&) noexcept = default;
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
bool Cursor::Valid() const { return impl_ != nullptr && impl_->Valid(); }
absl::Status Cursor::status() const { return impl_ != nullptr ? impl_->status() : OutOfMemory(); }
std::string_view Cursor::key() const { return impl_->key(); }
std::string_view Cursor::value() const { return impl_->value(); }

// ---- Transaction

Transaction::Transaction(std::unique_ptr<TransactionImpl> impl) : impl_(std::move(impl)) {}
Transaction::~Transaction() = default;
Transaction::Transaction(Transaction&&) noexcept = default;
Transaction& Transaction::operator=(Transaction&&) noexcept = default;

absl::Status Transaction::Get(Tree tree, std::string_view key, std::string* value) {
  return Guarded(impl_.get(), [&](TransactionImpl& transaction) -> absl::Status {
    LATCHKEY_RETURN_IF_ERROR(CheckTree(tree.valid()));
    return transaction.Get(*tree.impl_, key, value);
  });
}
absl::Status Transaction::Put(Tree tree, std::string_view key, std::string_view value) {
  return Guarded(impl_.get(), [&](TransactionImpl& transaction) -> absl::Status {
    LATCHKEY_RETURN_IF_ERROR(CheckTree(tree.valid()));
    return transaction.Put(*tree.impl_, key, value);
  });
}
absl::Status Transaction::Insert(Tree tree, std::string_view key, std::string_view value) {
  return Guarded(impl_.get(), [&](TransactionImpl& transaction) -> absl::Status {
    LATCHKEY_RETURN_IF_ERROR(CheckTree(tree.valid()));
    return transaction.Insert(*tree.impl_, key, value);
  });
}
absl::Status Transaction::Delete(Tree tree, std::string_view key) {
  return Guarded(impl_.get(), [&](TransactionImpl& transaction) -> absl::Status {
    LATCHKEY_RETURN_IF_ERROR(CheckTree(tree.valid()));
    return transaction.Delete(*tree.impl_, key);
  });
}
absl::Status Transaction::GetForUpdate(Tree tree, std::string_view key, std::string* value) {
  return Guarded(impl_.get(), [&](TransactionImpl& transaction) -> absl::Status {
    LATCHKEY_RETURN_IF_ERROR(CheckTree(tree.valid()));
    return transaction.GetForUpdate(*tree.impl_, key, value);
  });
}
Cursor Transaction::NewCursor(Tree tree, KeyRange range) {
  if (impl_ == nullptr) return Cursor(nullptr);
  try {
    return Cursor(std::make_unique<CursorImpl>(*impl_, tree.impl_, std::move(range)));
  } catch (const std::bad_alloc&) {
    return Cursor(nullptr);
  }
}
void Transaction::Prefetch(Tree tree, std::span<const std::string_view> keys) {
  Guarded(impl_.get(), [&](TransactionImpl& transaction) {
    transaction.Prefetch(keys.size(), [&](size_t i) {
      return std::pair<TreeImpl*, std::string_view>(tree.impl_, keys[i]);
    });
    return absl::OkStatus();
  }).IgnoreError();
}
void Transaction::Prefetch(std::span<const std::pair<Tree, std::string_view>> keys) {
  Guarded(impl_.get(), [&](TransactionImpl& transaction) {
    transaction.Prefetch(keys.size(), [keys](size_t i) {
      return std::pair<TreeImpl*, std::string_view>(keys[i].first.impl_, keys[i].second);
    });
    return absl::OkStatus();
  }).IgnoreError();
}
absl::StatusOr<Savepoint> Transaction::SetSavepoint() {
  if (impl_ == nullptr) return OutOfMemory();
  return CatchOutOfMemory([&] { return impl_->SetSavepoint(); });
}
absl::Status Transaction::RollbackTo(const Savepoint& savepoint) {
  return Guarded(impl_.get(),
                 [&](TransactionImpl& transaction) { return transaction.RollbackTo(savepoint); });
}
absl::Status Transaction::Commit() {
  return Guarded(impl_.get(), [](TransactionImpl& transaction) { return transaction.Commit(); });
}
absl::Status Transaction::Rollback() {
  return Guarded(impl_.get(), [](TransactionImpl& transaction) -> absl::Status {
    LATCHKEY_RETURN_IF_ERROR(transaction.CheckActive());
    return transaction.Rollback();
  });
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
Database::~Database() = default;

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

absl::Status Database::Close() {
  return CatchOutOfMemory([&] { return impl_->Close(); });
}

absl::StatusOr<Tree> Database::OpenTree(std::string_view name, bool create) {
  LATCHKEY_ASSIGN_OR_RETURN(TreeImpl * tree,
                            CatchOutOfMemory([&] { return impl_->OpenTree(name, create); }));
  return Tree(tree);
}
absl::Status Database::DropTree(std::string_view name) {
  return CatchOutOfMemory([&] { return impl_->DropTree(name); });
}
std::vector<std::string> Database::ListTrees() const { return impl_->ListTrees(); }

Transaction Database::Begin(const BeginOptions& options) {
  try {
    return Transaction(impl_->Begin(options));
  } catch (const std::bad_alloc&) {
    return Transaction(nullptr);
  }
}

absl::Status Database::Get(Tree tree, std::string_view key, std::string* value) {
  return CatchOutOfMemory([&]() -> absl::Status {
    LATCHKEY_RETURN_IF_ERROR(CheckTree(tree.valid()));
    return impl_->Get(*tree.impl_, key, value);
  });
}
absl::Status Database::Put(Tree tree, std::string_view key, std::string_view value) {
  return CatchOutOfMemory([&]() -> absl::Status {
    LATCHKEY_RETURN_IF_ERROR(CheckTree(tree.valid()));
    return impl_->RunTransaction(
        [&](TransactionImpl& transaction) { return transaction.Put(*tree.impl_, key, value); });
  });
}
absl::Status Database::Delete(Tree tree, std::string_view key) {
  return CatchOutOfMemory([&]() -> absl::Status {
    LATCHKEY_RETURN_IF_ERROR(CheckTree(tree.valid()));
    return impl_->RunTransaction(
        [&](TransactionImpl& transaction) { return transaction.Delete(*tree.impl_, key); });
  });
}
absl::Status Database::Write(const WriteBatch& batch) {
  return CatchOutOfMemory([&]() -> absl::Status {
    for (const WriteBatch::Operation& operation : batch.operations_) {
      LATCHKEY_RETURN_IF_ERROR(CheckTree(operation.tree.valid()));
    }
    return impl_->RunTransaction([&](TransactionImpl& transaction) -> absl::Status {
      for (const WriteBatch::Operation& operation : batch.operations_) {
        TreeImpl& tree = *operation.tree.impl_;
        if (operation.value) {
          LATCHKEY_RETURN_IF_ERROR(transaction.Put(tree, operation.key, *operation.value));
        } else if (absl::Status deleted = transaction.Delete(tree, operation.key);
                   !deleted.ok() && !absl::IsNotFound(deleted)) {
          return deleted;
        }
      }
      return absl::OkStatus();
    });
  });
}

absl::Status Database::Checkpoint() {
  return CatchOutOfMemory([&] { return impl_->Checkpoint(); });
}
absl::Status Database::SetCacheBytes(uint64_t cache_bytes) {
  return CatchOutOfMemory([&] { return impl_->SetCacheBytes(cache_bytes); });
}
Statistics Database::GetStatistics() const { return impl_->GetStatistics(); }
void Database::ResetStatisticsExtremes() { impl_->store().ResetExtremes(); }
uint32_t Database::page_size() const { return impl_->store().page_size(); }
std::string Database::DeviceDescription() const { return impl_->store().device().Describe(); }
absl::Status Database::Verify() {
  return CatchOutOfMemory([&] { return impl_->Verify(); });
}

}  // namespace latchkey
