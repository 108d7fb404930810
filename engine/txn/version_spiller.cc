#include "engine/txn/version_spiller.h"

#include <utility>
#include <vector>

#include "storage/base/canary.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {

absl::Status VersionSpiller::Find(const Txn& txn, uint64_t hash, TreeId tree, std::string_view key,
                                  VersionRun::Oldest* oldest, std::string* old) const {
  if (txn.spilled_blocks_ == nullptr) txn.spilled_blocks_ = std::make_shared<SpilledBlocks>();
  return spill_->Find(txn.snapshot_.read_ts, txn.record_, hash, tree, key,
                      txn.spilled_blocks_.get(), oldest, old);
}

bool VersionSpiller::SpillSettled() {
  if (!CanSpill() || settled_.empty()) return false;
  spilling_.store(true, std::memory_order_relaxed);
  Chores chores;
  const absl::Status done = CatchOutOfMemory([&]() -> absl::Status {
    settled_.Freeze();
    LiveSnapshots live;
    snapshots_.ListSnapshots(&live);
    LATCHKEY_RETURN_IF_ERROR(spill_->AddSettled(settled_.Frozen(), live, &chores));
    settled_.DropFrozen();
    // If the merge fails, there are only more runs than usual.
    spill_->Merge(live, &chores).IgnoreError();
    return absl::OkStatus();
  });
  spilling_.store(false, std::memory_order_relaxed);
  DoChores(gc_client_, chores);
  return done.ok();
}

void VersionSpiller::DropUnneeded() {
  if (!HasAny()) return;
  Chores chores;
  CatchOutOfMemory([&] {
    CommitTs oldest = snapshots_.oldest_snapshot();
    if (LATCHKEY_CANARY("spilled-versions-dropped-too-early")) oldest += 100;
    if (spill_->HasUnneeded(oldest)) spill_->DropUnneeded(oldest, &chores);
    return absl::OkStatus();
  }).IgnoreError();
  DoChores(gc_client_, chores);
}

absl::Status VersionSpiller::SpillUndo(Txn& txn) {
  WriteRecord& record = *txn.record_;
  return CatchOutOfMemory([&]() -> absl::Status {
    std::vector<SettlingVersion> undo;
    for (const VersionEntry* entry = record.newest; entry != nullptr;
         entry = entry->next_of_writer) {
      if (!entry->lock_only && gaps_.IsEmptyFor(txn.snapshot_.read_ts, entry->tree, entry->key())) {
        return absl::FailedPreconditionError("the transaction has written in a gap");
      }
      undo.push_back({.tree = entry->tree,
                      .hash = entry->hash,
                      .key = entry->key(),
                      .state = entry->old_state,
                      .old = entry->old(),
                      .lock_only = entry->lock_only,
                      .leaves_ghost = entry->leaves_ghost});
    }
    if (undo.empty()) return absl::OkStatus();
    LATCHKEY_RETURN_IF_ERROR(spill_->AddUndo(record, txn.id_, undo));
    counters_.Report(record);
    uint64_t unlinked = 0;
    for (VersionEntry* entry = record.newest; entry != nullptr; entry = entry->next_of_writer) {
      unlinked += table_.Unlink(*entry);
    }
    counters_.CountUnlinked(unlinked);
    record.spilled = true;
    record.newest = nullptr;
    record.arena.Reset();
    txn.admitted_bytes_ = 0;
    return absl::OkStatus();
  });
}

absl::Status VersionSpiller::RestoreUndo(WriteRecord& record,
                                         absl::FunctionRef<absl::Status(const Undo&)> restore) {
  return CatchOutOfMemory([&] {
    return spill_->ForEachUndo(record, [&](const SettlingVersion& version) {
      if (version.lock_only) return absl::OkStatus();
      return restore({version.tree, version.key, {version.state, version.old}, Lsn{0}});
    });
  });
}

void VersionSpiller::ReleaseUndo(WriteRecord& record) {
  Chores purge;
  CatchOutOfMemory([&] {
    spill_->Remove(record, &purge);
    return absl::OkStatus();
  }).IgnoreError();
  DoChores(gc_client_, purge);
}

}  // namespace latchkey
