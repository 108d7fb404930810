#include "engine/transaction/blind_put.h"

#include "engine/log/log_record.h"
#include "storage/base/status_macros.h"

namespace latchkey {

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
         !context.snapshots.HasSnapshotBelow(context.snapshots.clock() + 1);
}

absl::StatusOr<bool> BlindPut::Try(TreeImpl& tree, std::string_view key, std::string_view value,
                                   const DescentHint& at) {
  LATCHKEY_RETURN_IF_ERROR(state_.CheckWritable());
  TransactionContext& context = state_.context;
  if (state_.log == nullptr) LATCHKEY_RETURN_IF_ERROR(context.pool.store().WriteStatus());
  LATCHKEY_RETURN_IF_ERROR(state_.trees.Enter(state_.txn, tree));
  if (context.ranges.any()) return false;  // asked after Enter: see RangeDeletes
  if (state_.log != nullptr) {
    LATCHKEY_RETURN_IF_ERROR(state_.log->ReserveChange(state_.log_txn));
  }
  Lsn lsn{0};
  {
    ChangeBuffer::Place place;
    if (!buffer_.TryPlace(at.leaf, key, value, &place)) return false;
    // The leaf cannot split while it is latched, so it covers the key from here on.
    if (!at.parent.Validate() || tree.is_dropped()) return false;
    // Asked again: another writer may have put a chain into the leaf, which then left its frame.
    if (tree.btree.may_name_chains()) return false;
    if (!Commit(tree, key, value, place, &lsn)) return false;
  }
  state_.trees.Leave();
  context.snapshots.End(state_.txn);
  context.versions.CountCommit();
  context.snapshots.RefreshBounds();  // so that the next put finds the leaf's mark visible
  if (state_.log == nullptr) return true;
  state_.log->ReleaseSpace(state_.log_txn);
  LATCHKEY_RETURN_IF_ERROR(state_.log->WaitOrPromiseDurable(lsn));
  return true;
}

bool BlindPut::Commit(const TreeImpl& tree, std::string_view key, std::string_view value,
                      ChangeBuffer::Place& place, Lsn* lsn) {
  SnapshotManager& snapshots = state_.context.snapshots;
  if (place.mark() >= snapshots.all_visible_below()) return false;
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
  const CommitTs ts = snapshots.StampUnseen([&](CommitTs) {
    return state_.log == nullptr || state_.log->TryLogBlindPut(state_.log_txn, change, lsn);
  });
  if (ts == 0) return false;
  place.Add(*lsn, id);
  return true;
}

}  // namespace latchkey
