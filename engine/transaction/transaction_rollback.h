// The rollback of a transaction: the whole of it, or back to a savepoint.
//
// Undo comes from the version store, newest change first. Each step puts one record back to its old
// state under the latch of its leaf, logs that as a compensation, and frees the overflow chain that
// the transaction's own value had.
//
// A step that lacks memory waits for a while, because other actors may free some. If none comes,
// the record's key stays locked, and with a log the next open completes the rollback.
//
//   running --Rollback, Abort--> rolled back
//      |  ^         '----------> over, but some keys stay locked
//      '--' RollbackTo
//
// Thread-safety: belongs to one transaction.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

#include <cstdint>
#include <string_view>

#include "engine/transaction/transaction_state.h"
#include "engine/tree_impl.h"
#include "engine/txn/version_store.h"

namespace latchkey {

class TransactionRollback {
 public:
  explicit TransactionRollback(TransactionState& state) : state_(state) {}

  /// For a transaction that begins.
  void Reset() { memory_patience_ = kMemoryPatience; }
  /// Ends the transaction. No effect if it is over. Unavailable: some keys stay locked.
  absl::Status Rollback();
  /// Ends the transaction because of `why` (e.g. Aborted). Returns `why`, or the error of the
  /// rollback.
  absl::Status Abort(absl::Status why);

  /// A point of the running transaction for RollbackTo.
  uint64_t SetSavepoint() {
    return state_.context.versions.SetSavepoint(state_.txn, state_.log_txn.last());
  }
  /// Undoes the writes since `savepoint`. InvalidArgument: the transaction has no such savepoint.
  /// After every other error the transaction is over. REQUIRES: the transaction is running.
  absl::Status RollbackTo(uint64_t savepoint);

 private:
  /// How a step of a rollback has ended.
  enum class StepOutcome { kDone, kFailed, kNoMemory };
  struct StepResult {
    StepOutcome outcome;
    absl::Status status;  ///< OK only if kDone
  };

  StepResult AwaitMemoryFor(absl::FunctionRef<absl::Status()> step);
  /// A step: puts the record of `undo.key` back to its old state.
  absl::Status Restore(const Undo& undo);
  absl::Status TryRestore(TreeImpl& tree, const Undo& undo);
  void LogUndo(TreeImpl& tree, const Undo& undo, std::string_view own_chain, ExclusiveGuard& leaf);
  /// A step: frees a chain of this transaction.
  StepResult FreeChain(std::string_view chain);
  /// Frees the chains that no record names. False: memory ran out.
  bool FreeOwnChains();
  /// The last step of a rollback. Returns whether its keys may be unlocked.
  bool End(bool all_restored);

  static constexpr uint32_t kMemoryPatience = 200;  // back-offs; about 30 ms with threads

  TransactionState& state_;
  uint32_t memory_patience_ = kMemoryPatience;
  absl::Status chain_left_;  // why the chain of a restored record is not freed; OK = none is left
};

}  // namespace latchkey
