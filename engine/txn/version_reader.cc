#include "engine/txn/version_reader.h"

#include <algorithm>

#include "storage/base/canary.h"

namespace latchkey {
namespace {

bool IsVisible(uint64_t outcome, CommitTs read_ts) {
  if (LATCHKEY_CANARY("snapshot-sees-the-next-commit")) read_ts += 1;
  return WriteRecord::IsCommitted(outcome) && outcome <= read_ts;
}

}  // namespace

Visible VersionReader::Lookup(const Txn& txn, TreeId tree, std::string_view key, std::string* old) {
  bool is_own = false;
  const auto sees = [&](const WriteRecord& writer) {
    if (&writer == txn.record_) return is_own = true;
    return IsVisible(writer.outcome.load(std::memory_order_acquire), txn.snapshot_.read_ts);
  };
  const uint64_t hash = VersionTable::HashOf(tree, key);
  VersionTable::Unseen walk;
  std::optional<RecordState> state = table_.CopyUnseen(hash, tree, key, sees, old, &walk);
  const CommitTs read_ts = txn.snapshot_.read_ts;
  bool is_empty = !is_own && gaps_.IsEmptyFor(read_ts, tree, key);
  // Settled versions are older than every entry. Spilled undo is not: older entries of its keys may
  // still be in the table.
  const bool may_find_older =
      walk.met_seen ? spiller_.HasUndo() : settled_.HasAfter(read_ts) || spiller_.HasAfter(read_ts);
  if (may_find_older && !is_empty && !LookupSettled(txn, walk, hash, tree, key, old, &state)) {
    return Visible::kTooOld;
  }
  // Again, after the walk: a version may have been dropped because of a gap noted meanwhile.
  if (is_empty || (!is_own && gaps_.IsEmptyFor(read_ts, tree, key))) state = RecordState::kAbsent;
  // Checked after the walk: a version dropped because the snapshot had expired was unlinked later
  // than that.
  if (SnapshotManager::Expired(txn)) return Visible::kTooOld;
  if (!state) return Visible::kPage;
  switch (*state) {
    case RecordState::kValue:
      return Visible::kOld;
    case RecordState::kOverflow:
      return Visible::kOldOverflow;
    default:
      return Visible::kAbsent;
  }
}

// False: it cannot be read. `walk`: that through the table; it has found *state, or nothing.
bool VersionReader::LookupSettled(const Txn& txn, const VersionTable::Unseen& walk, uint64_t hash,
                                  TreeId tree, std::string_view key, std::string* old,
                                  std::optional<RecordState>* state) {
  const CommitTs read_ts = txn.snapshot_.read_ts;
  VersionRun::Oldest oldest;
  if (*state && WriteRecord::IsCommitted(walk.outcome)) oldest.ts = walk.outcome;
  if (!walk.met_seen && settled_.HasAfter(read_ts)) {
    const auto settled = settled_.CopyUnseen(hash, tree, key, read_ts, old, &oldest.ts);
    if (settled) *state = settled;
  }
  if (!spiller_.HasAfter(read_ts)) return true;
  std::string spilled_old;
  if (!spiller_.Find(txn, hash, tree, key, &oldest, &spilled_old).ok()) return false;
  if (oldest.found) {
    *state = oldest.state;
    old->swap(spilled_old);
  }
  return true;
}

bool VersionReader::HasVersions(TreeId tree, std::string_view key, CommitTs unneeded_until) {
  // The newest entry decides. If it has been collected, older ones may still be linked, since each
  // actor collects its own queue. No snapshot needs them, and they leave nothing on the page.
  const uint64_t hash = VersionTable::HashOf(tree, key);
  const VersionTable::Newest newest = table_.FindNewest(hash, tree, key);
  const CommitTs oldest = std::max(snapshots_.oldest_snapshot(), unneeded_until);
  if (newest.entry != nullptr && !IsVisible(newest.outcome, oldest)) return true;
  if (newest.entry == nullptr && settled_.HasAfter(oldest) &&
      settled_.NewestOf(hash, tree, key) > oldest) {
    return true;
  }
  if (!spiller_.HasAfter(oldest)) return false;
  const VersionSpill::Newest spilled = spiller_.NewestOf(/*own=*/nullptr, hash, oldest);
  if (spilled.running.record == nullptr && !spilled.undo_failed && spilled.ts == 0) return false;
  // A filter's "perhaps": the ghost stays for now and is looked at again when spilled versions are
  // dropped.
  spiller_.PostponeGhost(tree, key);
  return true;
}

}  // namespace latchkey
