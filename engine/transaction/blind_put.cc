#include "engine/transaction/blind_put.h"

#include "engine/btree/leaf_change.h"
#include "engine/log/log_record.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {

namespace {

// Puts of other actors have snapshots for a microsecond or two, which is less than the read of a leaf
// takes. False: a snapshot is still there, or one is so old that it is no put's.
bool AwaitNoSnapshot(const TransactionContext& context) {
  constexpr uint32_t kPauses = 6;
  constexpr CommitTs kLongAgo = 64;  // commits
  const SnapshotManager& snapshots = context.snapshots;
  for (Backoff backoff(context.pool.runtime());; backoff.Pause()) {
    const CommitTs next = snapshots.clock() + 1;
    if (!snapshots.HasSnapshotBelow(next)) return true;
    if (backoff.attempts() == kPauses) return false;
    if (next > kLongAgo && snapshots.HasSnapshotBelow(next - kLongAgo)) return false;
  }
}

}  // namespace

bool BlindPut::MayTake(const TransactionContext& context, TreeImpl& tree, std::string_view key,
                       std::string_view value, DescentHint* place) {
  if (context.changes == nullptr || context.changes->empty()) return false;
  if (key.size() > Database::kMaxKeySize ||
      value.size() > MaxInlineValue(tree.btree.page_size(), key.size())) {
    return false;
  }
  // The old value may be in a chain, which would have to be freed.
  if (tree.btree.may_name_chains()) return false;
  return tree.btree.PeekLeaf(context.pool.Here(), key, place) &&
         !context.pool.IsResident(place->leaf) &&
         context.changes->HasRoomIn(place->leaf, key, value) && AwaitNoSnapshot(context);
}

absl::StatusOr<BlindPut::Outcome> BlindPut::Try(TreeImpl& tree, std::string_view key,
                                                std::string_view value, const DescentHint& at) {
  LATCHKEY_RETURN_IF_ERROR(state_.CheckWritable());
  TransactionContext& context = state_.context;
  if (state_.log == nullptr) LATCHKEY_RETURN_IF_ERROR(context.pool.store().WriteStatus());
  LATCHKEY_RETURN_IF_ERROR(state_.trees.Enter(state_.txn, tree));
  if (context.ranges.any()) return Outcome::kReadLeaf;  // asked after Enter: see RangeDeletes
  if (state_.log != nullptr) {
    LATCHKEY_RETURN_IF_ERROR(state_.log->ReserveChange(state_.log_txn));
  }
  Lsn lsn{0};
  {
    ChangeBuffer::Place place;
    if (!buffer_.TryPlace(tree.id, at.leaf, key, value, &place)) {
      return Outcome::kReadLeaf;
    }
    // The leaf cannot split while it is latched, so it covers the key from here on.
    if (!at.parent.Validate() || tree.is_dropped()) return Outcome::kReadLeaf;
    // Asked again: another writer may have put a chain into the leaf, which then left its frame.
    if (tree.btree.may_name_chains()) return Outcome::kReadLeaf;
    const Outcome committed = Commit(tree, key, value, place, &lsn);
    if (committed != Outcome::kDone) return committed;
  }
  state_.trees.Leave();
  context.snapshots.End(state_.txn);
  context.versions.CountCommit();
  context.snapshots.RefreshBounds();  // so that the next put finds the leaf's mark visible
  if (state_.log == nullptr) return Outcome::kDone;
  state_.log->ReleaseSpace(state_.log_txn);
  LATCHKEY_RETURN_IF_ERROR(state_.log->WaitOrPromiseDurable(lsn));
  return Outcome::kDone;
}

void BlindPut::SplitFull(std::span<const ChangeBuffer::FullLeaf> leaves,
                         absl::FunctionRef<TreeImpl*(TreeId)> find_tree) {
  CatchOutOfMemory([&] {
    for (const ChangeBuffer::FullLeaf& leaf : leaves) {
      TreeImpl* const tree = find_tree(leaf.tree);
      if (tree == nullptr) continue;
      if (!state_.trees.Contains(*tree) && !state_.trees.Enter(state_.txn, *tree).ok()) continue;
      if (state_.context.ranges.any()) break;  // asked after Enter: see RangeDeletes
      SplitAhead(tree->btree, leaf.key, leaf.value_size);
    }
    return absl::OkStatus();
  }).IgnoreError();
  state_.trees.Leave();
  state_.context.snapshots.End(state_.txn);
}

BlindPut::Outcome BlindPut::Commit(const TreeImpl& tree, std::string_view key,
                                   std::string_view value, ChangeBuffer::Place& place, Lsn* lsn) {
  SnapshotManager& snapshots = state_.context.snapshots;
  if (place.mark() >= snapshots.all_visible_below()) return Outcome::kReadLeaf;
  const TxnId id = snapshots.DrawTxnId(state_.txn);
  const RecordChange change{.tree = tree.id,
                            .page = place.page(),
                            .key = key,
                            .now = RecordState::kValue,
                            .now_bytes = value,
                            .before = RecordState::kAbsent,
                            .before_bytes = {},
                            .undone_from = Lsn{0},
                            .page_lsn = static_cast<uint32_t>(Raw(place.lsn())),
                            .is_difference = false,
                            .difference = {}};
  state_.log_txn.set_id(id);
  bool is_unseen = false;
  const CommitTs ts = snapshots.StampUnseen([&](CommitTs) {
    is_unseen = true;
    return state_.log == nullptr || state_.log->TryLogBlindPut(state_.log_txn, change, lsn);
  });
  if (ts == 0) return is_unseen ? Outcome::kReadLeaf : Outcome::kSnapshot;
  place.Add(*lsn, id);
  return Outcome::kDone;
}

}  // namespace latchkey
