// The B+tree over the buffer pool: descent with optimistic lock coupling, splits, merges, read-ahead
// for scans, and which pages of announced keys are missing. It orders keys and knows nothing of
// transactions. For those TransactionWriter (engine/transaction) changes records, leaves ghosts and
// sets marks in the leaves that this class finds.
//
// Optimistic lock coupling (Leis et al., DaMoN 2016): a descent fixes every page optimistically and
// validates the parent after it has fixed the child. It latches nothing, so readers write nothing
// shared except what the fix policy asks. Writers latch only the leaf. Splits and merges latch
// parent and child (and sibling), parent first, by upgrading optimistic guards. They never wait
// while they hold a latch, so they cannot deadlock with each other.
//
// FixMode::kLatched: a descent holds each page's shared latch until it has latched the child (latch
// coupling), as in the papers on buffer pools. An optimistic descent does the same after some failed
// attempts.
//
// Pages hold no fences and no sibling links: the separators to the left and right of the descent's
// path are the fences (docs/decisions/0001-fences-from-the-descent.md).
//
// Invariants:
//  1. The root keeps its page id for the life of the tree; its level changes.
//  2. A key is in the one leaf whose fences [lower, upper) contain it, or nowhere.
//  3. An inner page with n separators has n + 1 children, all of one level less.
//
// Thread-safety: every actor may call every member at once, except Create and Check.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <atomic>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bufferpool/buffer_pool.h"
#include "engine/btree/node.h"
#include "engine/btree/tree_log.h"

namespace latchkey {

/// The leaf that a scan wants.
struct LeafTarget {
  enum class Kind {
    kCovering,  ///< the leaf whose fences contain `key`
    kBelow,     ///< the leaf that holds the largest keys < `key`
    kLast,      ///< the last leaf
  };
  Kind kind = Kind::kCovering;
  std::string_view key;
};

/// The end of a descent: the next descent, for a key nearby, can begin there. It may be outdated;
/// its user finds out.
struct DescentHint {
  OptimisticGuard parent;  ///< of the leaf; empty = nothing is known
  uint32_t child_slot = 0;
  PageId leaf = kInvalidPageId;
};

/// Pages on the ways from a root to some keys that are not resident, in the order of the keys, with
/// repetitions. Below an inner page more may be missing.
struct MissingPages {
  std::vector<PageId> inner, leaves;

  void Clear() {
    inner.clear();
    leaves.clear();
  }
};

/// Where a scan is. The copy of the next leaf begins there. It may be outdated; CopyLeaf finds out.
struct ScanPlace {
  OptimisticGuard parent;  ///< of the leaf that was copied last; empty = nothing is known
  uint32_t child_slot = 0;
  /// Bytes of the next leaf, to prefetch them; nullptr = unknown. The frame may have another page by
  /// now.
  const std::byte* next_leaf = nullptr;
};

/// Fences of a page, owned.
struct OwnedFences {
  std::string lower;
  std::string upper;
  bool has_lower = false;  ///< false: the leftmost page of its level
  bool has_upper = false;  ///< false: the rightmost

  void Clear() {
    has_lower = has_upper = false;
    lower.clear();
    upper.clear();
  }
  Fences view() const {
    return {.lower = lower,
            .upper = has_upper ? std::optional<std::string_view>(upper) : std::nullopt};
  }
};

/// Whether a page that has proved itself may be used: checks the shape of tree pages by
/// LatchedNodeView::CheckShape. Readers of other page types check those themselves. DataLoss names
/// the page.
absl::Status CheckPageShape(PageId id, std::span<const std::byte> page);

/// Counts of what BTree::Check has checked.
struct TreeCounts {
  uint64_t inner = 0, leaves = 0;  ///< pages
  uint64_t records = 0;            ///< without ghosts
};

class BTree {
 public:
  /// The tree whose root is page `root`. `log` records structure changes; nullptr = nothing is
  /// logged.
  BTree(BufferPool& pool, PageId root, TreeLog* log = nullptr)
      : pool_(pool),
        page_size_(pool.page_size()),
        unlatched_attempts_(pool.fix_mode() == FixMode::kLatched ? 0 : kUnlatchedAttempts),
        root_(root),
        log_(log) {}

  /// Makes an empty tree and returns its root.
  static absl::StatusOr<PageId> Create(BufferPool& pool, TreeLog* log = nullptr);
  /// As Create, but leaves the root latched and logs nothing: for a caller that makes a tree and
  /// enters it elsewhere in one atomic change.
  static absl::Status CreateRoot(BufferPool& pool, ExclusiveGuard* root);

  PageId root() const { return root_; }
  uint32_t page_size() const { return page_size_; }
  BufferPool& pool() const { return pool_; }

  /// False: no leaf has ever named an overflow chain. True of a tree of which nothing else is known.
  bool may_name_chains() const { return may_name_chains_.load(std::memory_order_acquire); }
  /// REQUIRES: no leaf has named a chain, and no other actor uses the tree yet.
  void PromiseNoChains() { may_name_chains_.store(false, std::memory_order_relaxed); }
  /// A leaf may name a chain from now on.
  void NoteChains() { may_name_chains_.store(true, std::memory_order_release); }

  /// A trace of fixes shows what `actor` fixes from now on as of this tree. The functions below do so
  /// themselves; callers that fix pages of the tree by other ways call it before.
  void Enter(PoolActor& actor) const { actor.tree = root_; }

  /// The leaf that covers `key`, optimistically: what is read from it is valid only once it
  /// validates.
  absl::Status FindLeaf(PoolActor& actor, std::string_view key, OptimisticGuard* leaf) const;
  /// The leaf that covers `key`, latched exclusively. `hint`, unless nullptr, is of this tree: the
  /// descent tries it first, and updates it to the place of the leaf. A descent that latches empties
  /// it.
  absl::Status FixLeaf(PoolActor& actor, std::string_view key, ExclusiveGuard* leaf,
                       DescentHint* hint = nullptr) const;

  /// The leaf that covers `key`, latched shared or exclusively, by latches from the root down: for
  /// callers whose optimistic attempts keep failing, since it needs only one. Guard: SharedGuard or
  /// ExclusiveGuard.
  template <typename Guard>
  absl::Status LatchLeaf(PoolActor& actor, std::string_view key, Guard* leaf) const;
  /// Attempts that latch nothing, before a caller should latch. 0: FixMode::kLatched.
  uint32_t unlatched_attempts() const { return unlatched_attempts_; }

  /// Copies the leaf of `target` to `page` (page_size bytes) as one consistent version, with its
  /// fences. `leaf`: the guard under which it was copied. With `read_ahead` > 0 it also brings in
  /// the next `read_ahead` leaves in the direction of the scan (`kCovering`: upwards), as far as
  /// they are below the same parent, if the leaf itself must be read. `place`: that of the scan.
  absl::Status CopyLeaf(PoolActor& actor, const LeafTarget& target, uint32_t read_ahead,
                        std::byte* page, OwnedFences* fences, OptimisticGuard* leaf,
                        ScanPlace* place = nullptr) const;

  /// Makes room: splits the leaf that covers `incoming.key`, unless the record fits by now.
  /// Afterwards the caller finds the leaf again. `must_not_fail`: as for TreeLog::Reserve.
  absl::Status Split(PoolActor& actor, const NodeEditor::Incoming& incoming,
                     bool must_not_fail = false);
  /// Whether a split would find room in the log now, without waiting for it.
  bool HasLogRoom() const { return log_ == nullptr || log_->HasRoom(kPagesOfSplit); }
  /// Merges the leaf that covers `key` with a sibling if both fit well into one page, and then the
  /// levels above. Best effort: gives up if another actor interferes.
  void TryMerge(PoolActor& actor, std::string_view key);
  enum class Packed {
    kNothing,
    kFilled,  ///< the leaf has taken records from the next one
    kMerged,  ///< the leaves are one now
  };
  /// Merges the leaf that covers `key` with the next one below the same parent if both fit into one
  /// page, however full they are, and then the levels above in the same way, so that the tree loses
  /// levels. If the leaves do not fit, the first one takes as many of the other's records as it has
  /// room for. Best effort.
  Packed TryPackNext(PoolActor& actor, std::string_view key);
  /// Whether a page is a leaf. In a damaged tree a page may be anything.
  static bool IsLeafPage(const NodeView& page) {
    return page.is_leaf() && page.type() == PageType::kTreeLeaf;
  }
  /// Whether a leaf is empty enough for TryMerge to be worth calling.
  static bool IsUnderfull(const NodeView& leaf);

  /// Descends for `key` through resident pages. Appends the first missing page, if any, to *missing.
  void FindMissing(PoolActor& actor, std::string_view key, MissingPages* missing) const;

  /// Finds the leaf that covers `key` without touching it, so that the leaves of a batch of keys
  /// can be fetched together. While `hint->parent` validates, the leaf is `hint->leaf`. False, with
  /// an empty hint: a page on the way is not resident or is changing, or the tree is a single page.
  /// `fences`, unless nullptr: receives those of the leaf, as they are while `hint->parent` validates.
  /// `missing`, unless nullptr: receives the page on the way that is not resident.
  bool PeekLeaf(PoolActor& actor, std::string_view key, DescentHint* hint,
                OwnedFences* fences = nullptr, MissingPages* missing = nullptr) const;

  /// Walks the whole tree and checks order, fences and levels. Calls `visit(page)` for every page
  /// of the tree and `visit_overflow(reference)` for every overflow chain. `counts`, unless
  /// nullptr: what was checked, also if a fault ends the walk. REQUIRES: no writers.
  absl::Status Check(absl::FunctionRef<absl::Status(PageId)> visit,
                     absl::FunctionRef<absl::Status(std::string_view)> visit_overflow,
                     TreeCounts* counts = nullptr) const;

 private:
  struct Path;
  enum class Step { kDone, kRestart };

  template <typename Guard>
  NodeView ViewOf(const Guard& guard) const {
    return {guard.data(), page_size_};
  }
  NodeEditor EditorOf(ExclusiveGuard& guard) const {
    return {guard.Mutable(), page_size_, pool_.Here().scratch.get()};
  }

  static constexpr uint32_t kUnlatchedAttempts = 16;  // with FixMode::kOptimistic

  /// After unlatched_attempts() failed attempts: latches `node` shared, and then ends the latch in
  /// `held`. So the replacement algorithm cannot evict a page for its own child, and a descent makes
  /// progress whatever the algorithm prefers. False if `node` has changed: the descent restarts.
  bool Hold(const OptimisticGuard& node, uint32_t attempt, SharedGuard* held) const {
    return attempt < unlatched_attempts_ || pool_.TryUpgrade(node, held);
  }
  /// PeekLeaf. With kHolds each page on the way is latched until the next one is (see Hold).
  template <bool kHolds>
  bool Peek(PoolActor& actor, std::string_view key, DescentHint* hint, OwnedFences* fences,
            MissingPages* missing) const;
  template <bool kHolds>
  absl::Status Descend(PoolActor& actor, std::string_view key, OptimisticGuard* leaf,
                       DescentHint* hint) const;
  /// Latches the leaf of `hint` if the leaf is proved to cover `key`.
  bool TryFixHinted(PoolActor& actor, std::string_view key, const DescentHint& hint,
                    ExclusiveGuard* leaf) const;
  /// One descent to the page at `level` that covers `key`, with its parent and fences. `attempt`
  /// counts the failed ones before it (see Hold).
  absl::StatusOr<Step> TryFindPath(PoolActor& actor, std::string_view key, uint32_t level,
                                   uint32_t attempt, Path* path) const;
  absl::StatusOr<Step> TryCopyLeaf(PoolActor& actor, const LeafTarget& target, uint32_t read_ahead,
                                   std::byte* page, OwnedFences* fences, OptimisticGuard* leaf,
                                   ScanPlace* place, uint32_t attempt) const;
  /// CopyLeaf of the leaf behind that of `place`, if it is in a frame and is proved to cover `key`.
  bool TryCopyNextLeaf(PoolActor& actor, std::string_view key, std::byte* page, OwnedFences* fences,
                       OptimisticGuard* leaf, ScanPlace* place) const;
  absl::Status SplitAt(PoolActor& actor, const NodeEditor::Incoming& incoming, uint32_t level,
                       bool must_not_fail);
  absl::StatusOr<Step> TrySplitAt(PoolActor& actor, const NodeEditor::Incoming& incoming,
                                  uint32_t level, uint32_t attempt, LogSpace& space,
                                  bool* parent_full);
  absl::Status SplitRoot(PoolActor& actor, ExclusiveGuard& root,
                         const NodeEditor::Incoming& incoming, LogSpace& space);
  static constexpr size_t kPagesOfSplit = 3;  // the parent, the page, the new page

  absl::Status ReserveLog(size_t pages, bool must_not_fail, LogSpace* space) const {
    return log_ == nullptr ? absl::OkStatus() : log_->Reserve(pages, must_not_fail, space);
  }
  enum class MergeOf {
    kUnderfull,  ///< a page that is underfull, with either sibling
    kAnyLeft,    ///< any page, with the sibling on its right; a leaf may be filled from there
  };
  Step TryMergeAt(PoolActor& actor, std::string_view key, uint32_t level, MergeOf of,
                  Packed* packed);
  Packed TryMergeLevel(PoolActor& actor, std::string_view key, uint32_t level, MergeOf of);
  /// Merges `node`, the child at left_slot or the next one, with its sibling there, or fills it. All
  /// or nothing.
  Packed TryUnite(PoolActor& actor, const OwnedFences& parent_fences, ExclusiveGuard& parent,
                  uint32_t left_slot, ExclusiveGuard& node, MergeOf of, bool node_is_left,
                  LogSpace& space);
  /// Moves records from `right` to `left`, the child at left_slot. `fences`: those of both.
  bool TryFill(ExclusiveGuard& parent, uint32_t left_slot, ExclusiveGuard& left,
               ExclusiveGuard& right, const Fences& fences, LogSpace& space);
  void CollapseRoot(PoolActor& actor);
  absl::Status CheckSubtree(PageId page, uint32_t level, bool is_root, const OwnedFences& fences,
                            absl::FunctionRef<absl::Status(PageId)> visit,
                            absl::FunctionRef<absl::Status(std::string_view)> visit_overflow,
                            TreeCounts* counts) const;

  BufferPool& pool_;
  const uint32_t page_size_;
  const uint32_t unlatched_attempts_;
  const PageId root_;
  TreeLog* const log_;
  std::atomic<bool> may_name_chains_{true};
};

}  // namespace latchkey
