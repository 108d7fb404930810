// The trees that a transaction may have written in. DropTree refuses to drop them (tree_impl.h).
//
// The transaction's slot lists the first of them (TxnSlot::kListedTrees); each of the others counts
// the transaction (TreeImpl::CountWriter).
//
// Thread-safety: belongs to one transaction.
#pragma once

#include <absl/status/status.h>

#include <algorithm>
#include <vector>

#include "engine/tree_impl.h"
#include "engine/txn/snapshot_manager.h"
#include "storage/base/ids.h"

namespace latchkey {

class WrittenTrees {
 public:
  bool empty() const { return trees_.empty(); }
  bool Contains(const TreeImpl& tree) const {
    return std::find(trees_.begin(), trees_.end(), &tree) != trees_.end();
  }
  /// The tree with this id. REQUIRES: there is one.
  TreeImpl& Find(TreeId id) const;

  /// Adds a tree before the descent for the first write of `txn` in it. FailedPrecondition: it is
  /// being dropped.
  absl::Status Enter(Txn& txn, TreeImpl& tree);
  /// Leaves all trees, at the end of a transaction that holds no key in them any more.
  void Leave();
  /// Forgets the trees but stays counted in them, for keys that stay locked.
  void Forget() { trees_.clear(); }

 private:
  std::vector<TreeImpl*> trees_;
};

}  // namespace latchkey
