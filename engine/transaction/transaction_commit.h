// The commit of a transaction.
//
//   free own chains -> stamp and log in commit order -> unlock -> wait for the log -> collect
//
// The version store gives the transaction its place in the order of commits and calls back at that
// instant, so commit records are in that order, too. Garbage is collected last: the log's sync, for
// which the commits of other actors may wait as well, begins right after the record.
//
// Thread-safety: belongs to one transaction.
#pragma once

#include <absl/status/status.h>

#include "engine/transaction/transaction_rollback.h"
#include "engine/transaction/transaction_state.h"
#include "storage/base/ids.h"

namespace latchkey {

class TransactionCommit {
 public:
  TransactionCommit(TransactionState& state, TransactionRollback& rollback)
      : state_(state), rollback_(rollback) {}

  /// OutOfMemory, and FailedPrecondition for `options`: the transaction goes on. Aborted, or the store's error: it is rolled back.
  /// Unavailable from the log: the outcome is unknown. After all others it is over.
  absl::Status Commit(const CommitOptions& options = {});
  /// The place of the last commit in the order of commits; 0 = it wrote nothing.
  CommitTs last_commit() const { return last_commit_; }

 private:
  /// The error that keeps a transaction that has written from committing.
  absl::Status CheckStore();
  /// FailedPrecondition: nothing is logged, so the commit cannot promise this.
  absl::Status CheckPromise(const CommitOptions& options) const;

  TransactionState& state_;
  TransactionRollback& rollback_;
  CommitTs last_commit_ = 0;
};

}  // namespace latchkey
