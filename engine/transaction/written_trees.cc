#include "engine/transaction/written_trees.h"

#include "storage/base/check.h"

namespace latchkey {

TreeImpl& WrittenTrees::Find(TreeId id) const {
  const auto found =
      std::find_if(trees_.begin(), trees_.end(), [id](TreeImpl* tree) { return tree->id == id; });
  LATCHKEY_CHECK(found != trees_.end());
  return **found;
}

absl::Status WrittenTrees::Enter(Txn& txn, TreeImpl& tree) {
  trees_.push_back(&tree);
  const bool listed = SnapshotManager::ListTree(txn, tree.id);
  if (!listed) tree.CountWriter(1);
  if (!tree.is_dropped()) return absl::OkStatus();
  trees_.pop_back();
  if (listed) {
    SnapshotManager::UnlistTree(txn);
  } else {
    tree.CountWriter(-1);
  }
  return tree.Dropped();
}

void WrittenTrees::Leave() {
  for (size_t i = TxnSlot::kListedTrees; i < trees_.size(); ++i) trees_[i]->CountWriter(-1);
  trees_.clear();
}

}  // namespace latchkey
