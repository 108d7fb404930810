#include "engine/transaction/transaction_state.h"

#include "storage/base/status_macros.h"

namespace latchkey {

absl::Status TransactionState::NotActive() const {
  if (was_closed) {
    return absl::FailedPreconditionError(
        "the transaction is over: its database was closed while it ran, which rolled it back");
  }
  return absl::FailedPreconditionError(
      "the transaction is over (committed, rolled back or aborted): begin another one");
}

absl::Status TransactionState::NotWritable() const {
  LATCHKEY_RETURN_IF_ERROR(CheckActive());
  if (context.is_read_only) return OpenedReadOnly();
  return absl::FailedPreconditionError(
      "the transaction is read-only: begin one without BeginOptions::read_only to write or lock");
}

absl::Status KeyTooLong(size_t key_size) {
  return InvalidArgument("a key of {} bytes is too long: keys have 0 to {} bytes", key_size,
                         Database::kMaxKeySize);
}

absl::Status OpenedReadOnly() {
  return absl::FailedPreconditionError(
      "the database was opened read-only: open it without Options::read_only to write");
}

absl::Status NoSuchKey() { return absl::NotFoundError("no such key"); }

}  // namespace latchkey
