#include "engine/transaction/transaction_commit.h"

#include <utility>

#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {

absl::Status TransactionCommit::CheckStore() {
  if (state_.log != nullptr) {
    return state_.log_txn.active() ? state_.log->FailUnlessWritable() : absl::OkStatus();
  }
  return state_.trees.empty() ? absl::OkStatus() : state_.context.pool.store().WriteStatus();
}

absl::Status TransactionCommit::CheckPromise(const CommitOptions& options) const {
  if (state_.log != nullptr ||
      options.durability.value_or(Durability::kNone) == Durability::kNone) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      "the database was opened with durability none, so no commit can be made durable: commit "
      "without CommitOptions::durability, or open the database with durability commit or group");
}

absl::Status TransactionCommit::Commit(const CommitOptions& options) {
  LATCHKEY_RETURN_IF_ERROR(state_.CheckActive());
  LATCHKEY_RETURN_IF_ERROR(CheckPromise(options));
  if (state_.chains.unfinished() != nullptr) {
    return absl::FailedPreconditionError(
        "the transaction has a value in parts that is not finished: call its Finish, or destroy "
        "its ValueWriter, before the commit");
  }
  state_.NoteUser();
  if (absl::Status freed = state_.chains.FreeLeft(); IsOutOfMemory(freed)) return freed;
  if (absl::Status writable = CheckStore(); !writable.ok()) {
    return rollback_.Abort(std::move(writable));
  }
  EngineLog* const log = state_.log;
  VersionStore& versions = state_.context.versions;
  Lsn commit{0};
  const absl::StatusOr<Committed> done = versions.TryCommit(
      state_.txn,
      [&](CommitTs) { return log == nullptr || log->TryLogCommit(state_.log_txn, &commit); },
      [&] { log->AwaitCommitBuffer(); });
  if (!done.ok()) return rollback_.Abort(done.status());
  last_commit_ = done->ts;
  state_.trees.Leave();
  absl::Status acknowledged;
  if (log != nullptr) {
    log->ReleaseSpace(state_.log_txn);
    acknowledged = log->WaitOrPromiseDurable(commit, options.durability);
  }
  versions.CollectAfter(*done);
  return acknowledged;
}

}  // namespace latchkey
