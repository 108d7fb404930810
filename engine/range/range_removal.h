// RangeRemoval: takes the records of a range out of the pages of a tree, when no reader and no
// writer may look at them any more.
//
//   1. On each level, from the root down, in the two pages at the ends of the range: the run of
//      children that lie wholly inside leaves the tree. The first child of the run stays, as an
//      empty subtree of the same height, because its neighbours' prefixes rest on their fences. One
//      log record holds the images of the changed pages and the roots of the rest of the run.
//   2. The leaves that are left of the range lose its records, one log record a leaf.
//   3. The pages of the detached subtrees are freed, children before or with their parents, by a walk
//      through the inner pages. Leaves are read only if they may name overflow chains. Other actors may
//      still be on their way to these pages. The walk invalidates each inner page when it lists the
//      page's children, so a merge, a split or a descent that has reached the page by then either ends
//      before the list is made, or turns back to the root. It invalidates all pages, the leaves too,
//      before it logs that they are free, so no change of them is logged behind that.
//
// After an error another Run goes on: progress keeps what was done. After a crash the log has it.
//
// Thread-safety: one actor. Others may change records outside the range, and split and merge pages.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bufferpool/buffer_pool.h"
#include "engine/btree/tree.h"
#include "engine/log/engine_log.h"
#include "engine/overflow.h"
#include "engine/range/range_deletes.h"
#include "storage/base/ids.h"

namespace latchkey {

class RangeRemoval {
 public:
  struct Parts {
    BufferPool& pool;
    OverflowStore& overflow;
    EngineLog* log = nullptr;  ///< nullptr = nothing is logged
    /// False: no leaf of the tree names a chain, so detached leaves are not read.
    bool leaves_may_name_chains = true;
  };

  /// `mark`: raised to this on changed pages. `must_not_fail`: may use the part of the log that is
  /// kept back (recovery). `page_is_gone`, `chain_is_gone`: whether a page of a detached subtree, or
  /// the first page of a chain, was freed before the crash.
  RangeRemoval(const Parts& parts, const KeyRange& range, TxnId mark, LogTxn& txn,
               RangeProgress& progress, bool must_not_fail,
               absl::FunctionRef<bool(PageId)> page_is_gone,
               absl::FunctionRef<bool(PageId)> chain_is_gone)
      : parts_(parts),
        range_(range),
        mark_(mark),
        txn_(txn),
        progress_(progress),
        must_not_fail_(must_not_fail),
        page_is_gone_(page_is_gone),
        chain_is_gone_(chain_is_gone),
        page_size_(parts.pool.page_size()) {}

  /// `tree` nullptr: it is dropped; frees only what was detached before. ResourceExhausted: the log
  /// is full; Run again.
  absl::Status Run(BTree* tree);

 private:
  enum class End { kFrom, kTo };

  absl::Status DetachAt(BTree& tree, uint32_t level, End end);
  absl::Status TryDetach(BTree& tree, uint32_t level, End end, std::vector<std::string>* chains);
  absl::Status DescendTo(BTree& tree, uint32_t level, End end, ExclusiveGuard* node,
                         OwnedFences* fences);
  bool FindRun(const LatchedNodeView& node, const OwnedFences& fences, uint32_t* first,
               uint32_t* last) const;
  absl::Status LatchSpine(const LatchedNodeView& node, uint32_t child,
                          std::vector<ExclusiveGuard>* spine);
  void EmptyRoot(ExclusiveGuard& root, LogSpace& space);
  void CutOut(ExclusiveGuard& node, std::vector<ExclusiveGuard>& spine, const OwnedFences& fences,
              uint32_t first, uint32_t last, LogSpace& space);
  absl::Status EmptyLeaves(BTree& tree);
  absl::Status EmptyLeaf(const OptimisticGuard& seen, bool* again);
  bool IsInside(std::string_view key) const;
  void NoteChains(const LatchedNodeView& leaf, std::vector<std::string>* chains) const;
  absl::Status FreeChains(const std::vector<std::string>& chains);
  absl::Status FreeDetached();
  absl::Status FreeSubtree(PageId page, uint32_t depth);
  absl::Status FreeLeaf(PageId page);
  absl::Status FreeBatch();
  absl::Status Reserve(size_t pages, LogSpace* space) const;

  const Parts parts_;
  const KeyRange& range_;
  const TxnId mark_;
  LogTxn& txn_;
  RangeProgress& progress_;
  const bool must_not_fail_;
  const absl::FunctionRef<bool(PageId)> page_is_gone_, chain_is_gone_;
  const uint32_t page_size_;
  std::vector<PageId> batch_;        // to be freed
  std::vector<PageId> batch_inner_;  // those of them that are inner pages
};

}  // namespace latchkey
