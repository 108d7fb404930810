#include "engine/transaction_impl.h"

#include "engine/cursor_impl.h"

namespace latchkey {

TransactionImpl::~TransactionImpl() {
  EndUnfinished();
  KeepSpareCursor(nullptr);
}

std::unique_ptr<CursorImpl> TransactionImpl::TakeSpareCursor() {
  return std::unique_ptr<CursorImpl>(spare_cursor_.exchange(nullptr));
}

void TransactionImpl::KeepSpareCursor(std::unique_ptr<CursorImpl> cursor) {
  if (cursor != nullptr && !cursor->IsSmall()) return;
  delete spare_cursor_.exchange(cursor.release());
}

absl::StatusOr<Savepoint> TransactionImpl::SetSavepoint() {
  LATCHKEY_RETURN_IF_ERROR(state_.CheckWritable());
  return Savepoint(rollback_.SetSavepoint(), DatabaseNumber());
}

absl::Status TransactionImpl::RollbackTo(const Savepoint& savepoint) {
  LATCHKEY_RETURN_IF_ERROR(CheckActive());
  if (savepoint.database_ != DatabaseNumber()) {
    return absl::InvalidArgumentError(
        "the Savepoint is empty or of another database: use one that SetSavepoint of this "
        "transaction has returned");
  }
  return rollback_.RollbackTo(savepoint.id_);
}

absl::Status TransactionImpl::CheckUsable() const {
  LATCHKEY_RETURN_IF_ERROR(CheckActive());
  return identity() == nullptr ? absl::OkStatus() : identity()->CheckOpen();
}

absl::Status TransactionImpl::Refuse(Tree tree) const {
  LATCHKEY_RETURN_IF_ERROR(CheckActive());
  return identity()->Refuse(tree);
}

void TransactionImpl::EndUnfinished() {
  if (!active()) return;
  if (identity() != nullptr && identity()->IsForeign()) return Disown();
  Rollback().IgnoreError();
}

absl::Status TransactionImpl::RollBackForClose() {
  state_.was_closed = true;
  return Rollback();
}

void TransactionImpl::Disown() {
  state_.was_closed = true;
  state_.trees.Forget();
  context().snapshots.Abandon(state_.txn);
}

}  // namespace latchkey
