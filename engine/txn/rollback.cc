#include "engine/txn/rollback.h"

#include "storage/base/canary.h"
#include "storage/base/check.h"

namespace latchkey {

RollbackResult Rollback::Run(Txn& txn, absl::FunctionRef<absl::Status(const Undo&)> restore,
                             absl::FunctionRef<bool(bool)> end) {
  LATCHKEY_CHECK(txn.active());
  WaitGraph::Returned(txn);
  counters_.Here().rollbacks.fetch_add(1, std::memory_order_relaxed);
  WriteRecord* record = txn.record_;
  budget_.ReleaseReads(txn);
  if (record == nullptr) {
    snapshots_.End(txn);
    return {};
  }
  counters_.Report(*record);
  RollbackResult result;
  result.error = RestoreEntries(*record, restore);
  if (record->spilled) {
    const absl::Status spilled = spiller_.RestoreUndo(*record, restore);
    if (result.error.ok()) result.error = spilled;
  }
  const bool all_restored = result.error.ok();
  const bool may_unlock = end(all_restored);
  if (may_unlock) {
    savepoints_.FreeChains(txn.savepoints_.get());
    ReleaseRestored(*record);
    if (record->spilled && all_restored) spiller_.ReleaseUndo(*record);
  }
  result.outcome = !all_restored ? RollbackOutcome::kUndoFailed
                   : !may_unlock ? RollbackOutcome::kKeptLocked
                                 : RollbackOutcome::kRolledBack;
  EndRolledBack(txn, *record, result.outcome == RollbackOutcome::kRolledBack);
  return result;
}

// `is_over`: no key of the transaction is locked any more.
void Rollback::EndRolledBack(Txn& txn, WriteRecord& record, bool is_over) {
  record.outcome.store(is_over ? WriteRecord::kRolledBack : WriteRecord::kUndoFailed,
                       std::memory_order_release);
  const bool deadlocked = txn.deadlocked_;
  if (is_over) {
    snapshots_.End(txn);
  } else {
    snapshots_.Abandon(txn);
  }
  waits_.WakeWaiters(record);
  if (deadlocked) waits_.YieldToWaiters(record);
  if (is_over) pool_.Return(&record);
}

absl::Status Rollback::RestoreEntries(WriteRecord& record,
                                      absl::FunctionRef<absl::Status(const Undo&)> restore) {
  absl::Status first_error;
  for (VersionEntry* entry = record.newest; entry != nullptr; entry = entry->next_of_writer) {
    if (entry->lock_only) continue;
    if (LATCHKEY_CANARY("rollback-forgets-a-record") && entry->next_of_writer == nullptr) break;
    const absl::Status status =
        restore({entry->tree, entry->key(), {entry->old_state, entry->old()}, Lsn{0}});
    entry->restore_failed = !status.ok();
    if (first_error.ok()) first_error = status;
  }
  return first_error;
}

// Unlocks the keys, after the end of the rollback is certain: until then no other transaction may
// write them.
void Rollback::ReleaseRestored(WriteRecord& record) {
  uint64_t unlinked = 0;
  for (VersionEntry* entry = record.newest; entry != nullptr; entry = entry->next_of_writer) {
    if (entry->restore_failed) continue;
    table_.Unlink(*entry);
    ++unlinked;
    // The collector of the delete that made the ghost may have come while the ghost was
    // overwritten.
    if (entry->old_state == RecordState::kGhost) {
      gc_client_.PurgeGhost(entry->tree, entry->key(), /*unneeded_until=*/0);
    }
  }
  counters_.CountUnlinked(unlinked);
}

}  // namespace latchkey
