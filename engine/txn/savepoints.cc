#include "engine/txn/savepoints.h"

#include "engine/txn/wait_graph.h"
#include "storage/base/check.h"
#include "storage/base/status_macros.h"

namespace latchkey {

uint64_t Savepoints::Set(Txn& txn, Lsn as_of) {
  LATCHKEY_CHECK(txn.active());
  if (txn.savepoints_ == nullptr) txn.savepoints_ = std::make_unique<SavepointLog>();
  const uint64_t id = next_savepoint_.fetch_add(1, std::memory_order_relaxed);
  txn.savepoints_->Set(id, as_of);
  return id;
}

absl::Status Savepoints::RollbackTo(Txn& txn, uint64_t savepoint,
                                    absl::FunctionRef<absl::Status(const Undo&)> restore) {
  LATCHKEY_CHECK(txn.active());
  if (txn.savepoints_ == nullptr || !txn.savepoints_->Has(savepoint)) {
    return absl::InvalidArgumentError(
        "not a savepoint of this transaction, or one that an earlier RollbackTo has undone");
  }
  WaitGraph::Returned(txn);
  while (const SavedChange* change = txn.savepoints_->NewestSince(savepoint)) {
    VersionEntry& entry = *change->entry;
    if (change->was_written) {
      LATCHKEY_RETURN_IF_ERROR(
          restore({entry.tree, entry.key(), {change->state, change->bytes}, change->as_of}));
      entry.leaves_ghost = change->state == RecordState::kGhost;
    } else {
      LATCHKEY_RETURN_IF_ERROR(
          restore({entry.tree, entry.key(), {entry.old_state, entry.old()}, change->as_of}));
      entry.leaves_ghost = entry.old_state == RecordState::kGhost;
      table_.TurnIntoLock(entry);
    }
    txn.savepoints_->Pop();
  }
  txn.savepoints_->DropAfter(savepoint);
  return absl::OkStatus();
}

void Savepoints::TakeChains(Txn& txn, absl::FunctionRef<void(std::string_view)> take) {
  if (txn.savepoints_ == nullptr) return;
  for (const SavedChange& change : txn.savepoints_->changes()) {
    if (change.was_written && change.state == RecordState::kOverflow) take(change.bytes);
  }
  txn.savepoints_.reset();
}

void Savepoints::FreeChains(const SavepointLog* savepoints) {
  if (savepoints == nullptr) return;
  for (const SavedChange& change : savepoints->changes()) {
    if (change.was_written && change.state == RecordState::kOverflow) {
      gc_client_.FreeOverflow(change.tree, change.bytes);
    }
  }
}

}  // namespace latchkey
