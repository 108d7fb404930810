// The B+tree over the buffer pool: descent with optimistic lock coupling, splits, merges, scans'
// and batches' read-ahead. It orders keys and knows nothing of transactions: engine/transaction.cc
// puts versions and ghosts into the leaves that this class finds.
//
// Optimistic lock coupling (Leis et al., DaMoN 2016): a descent fixes every page optimistically and
// validates the parent after it has fixed the child; nothing is latched on the way, so readers
// write nothing shared but what the fix policy asks. Writers latch the leaf alone; splits and
// merges latch parent and child (and sibling), parent first, by upgrading optimistic guards: they
// never wait while they hold a latch, so they cannot deadlock with each other.
//
// Pages hold no fences and no sibling links: the separators to the left and right of the descent's
// path are the fences (docs/decisions/0001-fences-from-the-descent.md).
//
// Invariants:
//  1. The root keeps its page id for the life of the tree; its level changes.
//  2. A key is in the one leaf whose fences [lower, upper) contain it, or nowhere.
//  3. An inner page with n separators has n + 1 children, all of one level less.
//
// Thread-safety: everything may be called from every actor at once, except Create and Check.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bufferpool/buffer_pool.h"
#include "engine/btree/node.h"
#include "engine/btree/tree_log.h"

namespace latchkey {

/// Which leaf a scan wants.
struct LeafTarget {
  enum class Kind {
    kCovering,  ///< the leaf whose fences contain `key`
    kBelow,     ///< the leaf that holds the largest keys < `key`
    kLast,      ///< the last leaf
  };
  Kind kind = Kind::kCovering;
  std::string_view key;
};

/// Where a descent has ended: the next one, for a key nearby, can begin there. It need not stay
/// true: whoever uses it finds out.
struct DescentHint {
  OptimisticGuard parent;  ///< of the leaf; empty: nothing is known
  uint32_t child_slot = 0;
  PageId leaf = kInvalidPageId;
};

/// Fences of a page, owned.
struct OwnedFences {
  std::string lower;
  std::string upper;
  bool has_lower = false;  ///< false: the leftmost page of its level
  bool has_upper = false;  ///< false: the rightmost

  Fences view() const {
    return {.lower = lower,
            .upper = has_upper ? std::optional<std::string_view>(upper) : std::nullopt};
  }
};

/// Whether a page that has proved itself may be used: the shape of tree pages, as
/// LatchedNodeView::CheckShape has it; pages of other types are their readers' business. DataLoss
/// names the page.
absl::Status CheckPageShape(PageId id, std::span<const std::byte> page);

/// What BTree::Check has looked at.
struct TreeCounts {
  uint64_t inner = 0, leaves = 0;  ///< pages
  uint64_t records = 0;            ///< without ghosts
};

class BTree {
 public:
  /// The tree whose root is page `root`. Structure changes are logged to `log`; nullptr: nowhere.
  BTree(BufferPool& pool, PageId root, TreeLog* log = nullptr)
      : pool_(pool), page_size_(pool.page_size()), root_(root), log_(log) {}

  /// Makes an empty tree and returns its root.
  static absl::StatusOr<PageId> Create(BufferPool& pool, TreeLog* log = nullptr);
  /// As Create, but leaves the root latched and logs nothing: for who makes a tree and enters it
  /// somewhere in one atomic change.
  static absl::Status CreateRoot(BufferPool& pool, ExclusiveGuard* root);

  PageId root() const { return root_; }
  uint32_t page_size() const { return page_size_; }
  BufferPool& pool() const { return pool_; }

  /// The leaf that covers `key`, optimistically: what is read from it counts once it validates.
  absl::Status FindLeaf(PoolActor& actor, std::string_view key, OptimisticGuard* leaf) const;
  /// The leaf that covers `key`, latched exclusively. `hint`, if not null, is of this tree: it is
  /// tried first, and tells afterwards where the leaf was found.
  absl::Status FixLeaf(PoolActor& actor, std::string_view key, ExclusiveGuard* leaf,
                       DescentHint* hint = nullptr) const;

  /// Copies the leaf of `target` to `page` (page_size bytes) as one consistent version, with its
  /// fences; `leaf` is the guard under which it was copied. With `read_ahead` > 0 the next that
  /// many leaves in the direction of the scan (`kCovering`: upwards) are brought in, if on the same
  /// parent.
  absl::Status CopyLeaf(PoolActor& actor, const LeafTarget& target, uint32_t read_ahead,
                        std::byte* page, OwnedFences* fences, OptimisticGuard* leaf) const;

  /// Makes room: splits the leaf that covers `incoming.key` unless the record fits by now. The
  /// caller looks the leaf up again afterwards. `must_not_fail`: as of TreeLog::Reserve.
  absl::Status Split(PoolActor& actor, const NodeEditor::Incoming& incoming,
                     bool must_not_fail = false);
  /// Merges the leaf that covers `key` with a sibling if the two fit well into one page, and
  /// upwards. Best effort: gives up when anybody interferes.
  void TryMerge(PoolActor& actor, std::string_view key);
  /// Whether a page is a leaf at all: a page of a damaged tree may be anything.
  static bool IsLeafPage(const NodeView& page) {
    return page.is_leaf() && page.type() == PageType::kTreeLeaf;
  }
  /// Whether a leaf is empty enough for TryMerge to be worth calling.
  static bool IsUnderfull(const NodeView& leaf);

  /// Brings the leaves of `keys` in, with the reads of each level of all keys in flight together.
  /// Returns how many pages were missing.
  size_t Prefetch(PoolActor& actor, std::span<const std::string_view> keys) const;
  /// One round of the above: descends for `key` through resident pages and appends the first page
  /// that is missing, if any, to *missing.
  void FindMissing(PoolActor& actor, std::string_view key, std::vector<PageId>* missing) const;

  /// Finds which leaf covers `key` without touching it, for a batch of keys whose leaves are to be
  /// on their way at once: while `hint->parent` validates it is `hint->leaf`. False, and an empty
  /// hint: the way there is not resident or in motion, or the tree is a single page.
  bool PeekLeaf(PoolActor& actor, std::string_view key, DescentHint* hint) const;

  /// Walks the whole tree: order, fences, levels. `visit(page)` is told every page of the tree,
  /// `visit_overflow(reference)` every overflow chain. REQUIRES: no writers.
  /// `counts`, if not null: what was looked at, also up to a fault.
  absl::Status Check(absl::FunctionRef<absl::Status(PageId)> visit,
                     absl::FunctionRef<absl::Status(std::string_view)> visit_overflow,
                     TreeCounts* counts = nullptr) const;

 private:
  struct Path;
  enum class Step { kDone, kRestart };

  NodeView ViewOf(const OptimisticGuard& guard) const { return {guard.data(), page_size_}; }
  NodeEditor EditorOf(ExclusiveGuard& guard) const {
    return {guard.Mutable(), page_size_, pool_.Here().scratch.get()};
  }

  absl::Status Descend(PoolActor& actor, std::string_view key, OptimisticGuard* leaf,
                       DescentHint* hint) const;
  /// Latches the leaf of `hint` if that surely covers `key`.
  bool TryFixHinted(PoolActor& actor, std::string_view key, const DescentHint& hint,
                    ExclusiveGuard* leaf) const;
  /// One attempt at a descent to the page at `level` that covers `key`, with its parent and fences.
  absl::StatusOr<Step> TryFindPath(PoolActor& actor, std::string_view key, uint32_t level,
                                   Path* path) const;
  absl::StatusOr<Step> TryCopyLeaf(PoolActor& actor, const LeafTarget& target, uint32_t read_ahead,
                                   std::byte* page, OwnedFences* fences,
                                   OptimisticGuard* leaf) const;
  absl::Status SplitAt(PoolActor& actor, const NodeEditor::Incoming& incoming, uint32_t level,
                       bool must_not_fail);
  absl::StatusOr<Step> TrySplitAt(PoolActor& actor, const NodeEditor::Incoming& incoming,
                                  uint32_t level, LogSpace& space, bool* parent_full);
  absl::Status SplitRoot(PoolActor& actor, ExclusiveGuard& root,
                         const NodeEditor::Incoming& incoming, LogSpace& space);
  absl::Status ReserveLog(size_t pages, bool must_not_fail, LogSpace* space) const {
    return log_ == nullptr ? absl::OkStatus() : log_->Reserve(pages, must_not_fail, space);
  }
  Step TryMergeAt(PoolActor& actor, std::string_view key, uint32_t level, bool* merged);
  /// Merges `node`, the child at left_slot or behind it, with its sibling there. All or nothing.
  bool TryUnite(PoolActor& actor, const OwnedFences& parent_fences, ExclusiveGuard& parent,
                uint32_t left_slot, ExclusiveGuard& node, bool node_is_left, LogSpace& space);
  void CollapseRoot(PoolActor& actor);
  absl::Status CheckSubtree(PageId page, uint32_t level, bool is_root, const OwnedFences& fences,
                            absl::FunctionRef<absl::Status(PageId)> visit,
                            absl::FunctionRef<absl::Status(std::string_view)> visit_overflow,
                            TreeCounts* counts) const;

  BufferPool& pool_;
  const uint32_t page_size_;
  const PageId root_;
  TreeLog* const log_;
};

}  // namespace latchkey
