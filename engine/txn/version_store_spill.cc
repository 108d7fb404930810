// Spilling: settled versions and the undo of large transactions go to the spill device and are read
// back.
#include <utility>
#include <vector>

#include "engine/txn/version_store.h"
#include "storage/base/canary.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {

// False: it cannot be read. `walk`: that through the table; it has found *state, or nothing.
bool VersionStore::LookupSettled(const Txn& txn, const VersionTable::Unseen& walk, uint64_t hash,
                                 TreeId tree, std::string_view key, std::string* old,
                                 std::optional<RecordState>* state) {
  const CommitTs read_ts = txn.snapshot_.read_ts;
  VersionRun::Oldest oldest;
  if (*state && WriteRecord::IsCommitted(walk.outcome)) oldest.ts = walk.outcome;
  if (!walk.met_seen && HasSettledAfter(read_ts)) {
    const auto settled = settled_.CopyUnseen(hash, tree, key, read_ts, old, &oldest.ts);
    if (settled) *state = settled;
  }
  if (!HasSpilledAfter(read_ts)) return true;
  if (txn.spilled_blocks_ == nullptr) txn.spilled_blocks_ = std::make_shared<SpilledBlocks>();
  std::string spilled_old;
  if (!spill_
           ->Find(read_ts, txn.record_, hash, tree, key, txn.spilled_blocks_.get(), &oldest,
                  &spilled_old)
           .ok()) {
    return false;
  }
  if (oldest.found) {
    *state = oldest.state;
    old->swap(spilled_old);
  }
  return true;
}

bool VersionStore::SpillSettled() {
  if (!CanSpill() || settled_.empty()) return false;
  spilling_.store(true, std::memory_order_relaxed);
  Chores chores;
  const absl::Status done = CatchOutOfMemory([&]() -> absl::Status {
    settled_.Freeze();
    LATCHKEY_RETURN_IF_ERROR(spill_->AddSettled(settled_.Frozen()));
    settled_.DropFrozen();
    LiveSnapshots live;
    snapshots_.ListSnapshots(&live);
    // If the merge fails, there are only more runs than usual.
    spill_->Merge(live, &chores).IgnoreError();
    return absl::OkStatus();
  });
  spilling_.store(false, std::memory_order_relaxed);
  Do(chores);
  return done.ok();
}

void VersionStore::DropSpilled() {
  if (!HasSpilled()) return;
  Chores chores;
  CatchOutOfMemory([&] {
    CommitTs oldest = snapshots_.oldest_snapshot();
    if (LATCHKEY_CANARY("spilled-versions-dropped-too-early")) oldest += 100;
    if (spill_->HasUnneeded(oldest)) spill_->DropUnneeded(oldest, &chores);
    return absl::OkStatus();
  }).IgnoreError();
  Do(chores);
}

// The keys stay locked: the run now says so instead of the entries.
absl::Status VersionStore::SpillUndo(Txn& txn) {
  WriteRecord& record = *txn.record_;
  return CatchOutOfMemory([&]() -> absl::Status {
    std::vector<SettlingVersion> undo;
    for (const VersionEntry* entry = record.newest; entry != nullptr;
         entry = entry->next_of_writer) {
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
    ReportEntries(record);
    int64_t unlinked = 0;
    for (VersionEntry* entry = record.newest; entry != nullptr; entry = entry->next_of_writer) {
      unlinked += table_.Unlink(*entry);
    }
    counters().versions.fetch_sub(unlinked, std::memory_order_relaxed);
    record.spilled = true;
    record.newest = nullptr;
    record.arena.Reset();
    txn.admitted_bytes_ = 0;
    return absl::OkStatus();
  });
}

absl::Status VersionStore::RestoreSpilled(WriteRecord& record,
                                          absl::FunctionRef<absl::Status(const Undo&)> restore) {
  return CatchOutOfMemory([&] {
    return spill_->ForEachUndo(record, [&](const SettlingVersion& version) {
      if (version.lock_only) return absl::OkStatus();
      return restore({version.tree, version.key, {version.state, version.old}, Lsn{0}});
    });
  });
}

void VersionStore::ReleaseSpilled(WriteRecord& record) {
  Chores purge;
  CatchOutOfMemory([&] {
    spill_->Remove(record, &purge);
    return absl::OkStatus();
  }).IgnoreError();
  Do(purge);
}

}  // namespace latchkey
