#include "engine/transaction/transaction_rollback.h"

#include <utility>

#include "engine/btree/leaf_change.h"
#include "engine/btree/record_state.h"
#include "storage/base/canary.h"
#include "storage/base/check.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

// Differs from OutOfMemory(), because the keys that could not be restored stay locked. Made when
// the program starts.
const absl::Status& NoMemoryForRollback() {
  static const auto* const status = new absl::Status(
      absl::StatusCode::kUnavailable,
      "memory ran out in a rollback: the keys that could not be restored stay locked; close and "
      "reopen the database, which completes the rollback");
  return *status;
}
[[maybe_unused]] const bool made_early = NoMemoryForRollback().ok();

}  // namespace

// ---- The whole

absl::Status TransactionRollback::Rollback() {
  if (!state_.txn.active()) return absl::OkStatus();
  state_.NoteUser();
  if (state_.log != nullptr) state_.log->BeginUndo(state_.log_txn);
  RollbackResult done = state_.context.versions.Rollback(
      state_.txn, [this](const Undo& undo) { return Restore(undo); },
      [this](bool all_restored) { return End(all_restored); });
  if (state_.log == nullptr) FreeOwnChains();  // of one that has written a chain only
  if (state_.log != nullptr) state_.log->ReleaseSpace(state_.log_txn);
  if (done.outcome == RollbackOutcome::kRolledBack) {
    state_.trees.Leave();
  } else {
    state_.trees.Forget();
  }
  ++state_.writes;
  absl::Status left = std::exchange(chain_left_, absl::OkStatus());
  if (done.outcome == RollbackOutcome::kUndoFailed) {
    if (state_.log == nullptr) state_.context.holds_uncommitted = true;
    return std::move(done.error);
  }
  if (!left.ok()) return left;
  // Every record is restored. Keys stay locked only if memory ran out before a chain was freed.
  return done.outcome == RollbackOutcome::kKeptLocked ? NoMemoryForRollback() : absl::OkStatus();
}

absl::Status TransactionRollback::Abort(absl::Status why) {
  LATCHKEY_RETURN_IF_ERROR(Rollback());
  return why;
}

absl::Status TransactionRollback::RollbackTo(uint64_t savepoint) {
  state_.NoteUser();
  if (state_.log != nullptr) state_.log->BeginUndo(state_.log_txn);
  absl::Status done = state_.context.versions.RollbackTo(
      state_.txn, savepoint, [this](const Undo& undo) { return Restore(undo); });
  ++state_.writes;
  if (done.ok())
    state_.chains.DropUnfinished();  // after an error the rollback of the whole does it
  // After a commit no transaction would own this chain. After an abort the next open frees it.
  if (done.ok()) done = chain_left_;
  return done.ok() || absl::IsInvalidArgument(done) ? done : Abort(std::move(done));
}

bool TransactionRollback::End(bool all_restored) {
  bool all_freed = FreeOwnChains() && chain_left_.ok();
  if (state_.log == nullptr) return true;
  if (all_restored) {
    state_.context.versions.TakeSavedChains(state_.txn, [&](std::string_view chain) {
      all_freed &= FreeChain(chain).outcome != StepOutcome::kNoMemory;
    });
  }
  // A chain that is left over is freed by the undo of the next open. An end record would prevent
  // that undo.
  all_restored &= all_freed;
  if (all_restored) {
    state_.log->LogEnd(state_.log_txn);
  } else {
    state_.log->Abandon(state_.log_txn);
  }
  return all_restored;
}

// ---- Its steps

// Repeats a step for a while when memory runs out: other actors may free some in that time.
TransactionRollback::StepResult TransactionRollback::AwaitMemoryFor(
    absl::FunctionRef<absl::Status()> step) {
  for (Backoff backoff(state_.context.pool.runtime());; backoff.Pause()) {
    absl::Status done = CatchOutOfMemory(step);
    if (done.ok()) return {StepOutcome::kDone, absl::OkStatus()};
    if (!IsOutOfMemory(done)) return {StepOutcome::kFailed, std::move(done)};
    if (backoff.attempts() < memory_patience_) continue;
    memory_patience_ = 0;  // the next steps do not wait again
    return {StepOutcome::kNoMemory, NoMemoryForRollback()};
  }
}

absl::Status TransactionRollback::Restore(const Undo& undo) {
  TreeImpl& tree = state_.trees.Find(undo.tree);
  return AwaitMemoryFor([&] { return TryRestore(tree, undo); }).status;
}

absl::Status TransactionRollback::TryRestore(TreeImpl& tree, const Undo& undo) {
  OverflowReference own_chain;
  const auto restore = [&](ExclusiveGuard& guard, SlotPosition position) {
    LATCHKEY_CHECK(position.exact);  // our own write: no other transaction may remove it
    NodeEditor leaf(guard.Mutable(), tree.btree.page_size(),
                    state_.context.pool.Here().scratch.get());
    if (StateOf(leaf.flags(position.slot)) == RecordState::kOverflow) {
      own_chain = OverflowReference(leaf.Value(position.slot));
    }
    const bool unlogged = LATCHKEY_CANARY("rollback-without-compensation");
    if (state_.log != nullptr && !unlogged) LogUndo(tree, undo, own_chain.view(), guard);
    if (undo.old.state == RecordState::kAbsent) {
      leaf.Remove(position.slot);
    } else {
      LATCHKEY_CHECK(leaf.ReplaceValue(position.slot, undo.old.bytes, FlagsOf(undo.old.state)));
    }
    return absl::OkStatus();
  };
  LATCHKEY_RETURN_IF_ERROR(ChangeLeaf(tree.btree, undo.key, undo.old.bytes.size(),
                                      /*must_not_fail=*/true, restore));
  // The record is restored; a second restore would be wrong. So a failure to free is only kept.
  StepResult freed = FreeChain(own_chain.view());
  if (freed.outcome != StepOutcome::kDone && chain_left_.ok()) {
    chain_left_ = std::move(freed.status);
  }
  return absl::OkStatus();
}

void TransactionRollback::LogUndo(TreeImpl& tree, const Undo& undo, std::string_view own_chain,
                                  ExclusiveGuard& leaf) {
  state_.log->LogCompensation(
      state_.log_txn,
      {.tree = tree.id,
       .page = leaf.page(),
       .key = undo.key,
       .now = undo.old.state,
       .now_bytes = undo.old.bytes,
       .before = own_chain.empty() ? RecordState::kAbsent : RecordState::kOverflow,
       .before_bytes = own_chain,
       .undone_from = Lsn{Raw(undo.as_of) + 1}},
      leaf.Mutable());
  if (undo.old.state == RecordState::kOverflow) {
    state_.log->ForgetSuperseded(ChainOf(undo.old.bytes));
  }
}

TransactionRollback::StepResult TransactionRollback::FreeChain(std::string_view chain) {
  if (chain.empty()) return {StepOutcome::kDone, absl::OkStatus()};
  OverflowStore& overflow = state_.context.overflow;
  LogTxn* const owner = state_.log != nullptr ? &state_.log_txn : nullptr;
  StepResult freed = AwaitMemoryFor([&] { return overflow.Free(chain, owner); });
  // Without a log the next open does not know of this chain, so it waits in memory.
  if (freed.outcome == StepOutcome::kNoMemory && state_.log == nullptr &&
      overflow.FreeLater(chain)) {
    return {StepOutcome::kDone, absl::OkStatus()};
  }
  return freed;
}

bool TransactionRollback::FreeOwnChains() {
  bool had_memory = AwaitMemoryFor([&] { return state_.chains.FreeUnfinishedPages(); }).outcome !=
                    StepOutcome::kNoMemory;
  state_.chains.TakeLeft([&](std::string_view chain) {
    had_memory &= FreeChain(chain).outcome != StepOutcome::kNoMemory;
  });
  return had_memory;
}

}  // namespace latchkey
