// The transaction's part in the life of objects that it does not own: trees, which may be dropped
// while it writes in them, and the database, which may be closed or forked while it runs.
#include "engine/transaction_impl.h"

namespace latchkey {

absl::Status TransactionImpl::CheckUsable() const {
  LATCHKEY_RETURN_IF_ERROR(CheckActive());
  return context_.identity == nullptr ? absl::OkStatus() : context_.identity->CheckOpen();
}

absl::Status TransactionImpl::Refuse(Tree tree) const {
  LATCHKEY_RETURN_IF_ERROR(CheckActive());
  return context_.identity->Refuse(tree);
}

absl::Status TransactionImpl::EnterTree(TreeImpl& tree) {
  trees_.push_back(&tree);
  const bool listed = SnapshotManager::ListTree(txn_, tree.id);
  if (!listed) tree.CountWriter(1);
  if (!tree.is_dropped()) return absl::OkStatus();
  trees_.pop_back();
  if (listed) {
    SnapshotManager::UnlistTree(txn_);
  } else {
    tree.CountWriter(-1);
  }
  return tree.Dropped();
}

void TransactionImpl::LeaveTrees() {
  for (size_t i = TxnSlot::kListedTrees; i < trees_.size(); ++i) trees_[i]->CountWriter(-1);
  trees_.clear();
}

void TransactionImpl::EndUnfinished() {
  if (!active()) return;
  if (context_.identity != nullptr && context_.identity->IsForeign()) return Disown();
  Rollback().IgnoreError();
}

absl::Status TransactionImpl::RollBackForClose() {
  was_closed_ = true;
  return Rollback();
}

void TransactionImpl::Disown() {
  was_closed_ = true;
  trees_.clear();
  context_.snapshots.Abandon(txn_);
}

}  // namespace latchkey
