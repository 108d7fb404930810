#include "engine/btree/tree.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "storage/base/check.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

// Deeper than any sound tree of 2^32 pages: only a damaged tree is that deep.
constexpr uint32_t kMaxHeight = 40;

absl::Status TooDeep(PageId root) {
  return MakeStatus(absl::StatusCode::kDataLoss,
                    "the tree rooted at page {} is deeper than {} levels: it is damaged", Raw(root),
                    kMaxHeight);
}

absl::Status NoTreePage(PageId root, PageId page) {
  return MakeStatus(absl::StatusCode::kDataLoss,
                    "the tree rooted at page {} leads to page {}, which is none of a tree",
                    Raw(root), Raw(page));
}

bool IsTreePage(const NodeView& node) {
  return node.type() == (node.is_leaf() ? PageType::kTreeLeaf : PageType::kTreeInner);
}

uint32_t ChildSlot(const NodeView& node, const LeafTarget& target) {
  switch (target.kind) {
    case LeafTarget::Kind::kCovering:
      return node.ChildSlotFor(target.key);
    case LeafTarget::Kind::kBelow:
      return node.LowerBound(target.key)
          .slot;  // a key equal to a separator has its lesser ones left
    case LeafTarget::Kind::kLast:
      break;
  }
  return node.count();
}

// Narrows `fences` to child `slot` of `node`. Garbage if `node` changes: validate afterwards.
void Narrow(const NodeView& node, uint32_t slot, OwnedFences* fences) {
  if (slot > 0) {
    fences->lower.clear();
    node.AppendKey(slot - 1, &fences->lower);
    fences->has_lower = true;
  }
  if (slot < node.count()) {
    fences->upper.clear();
    node.AppendKey(slot, &fences->upper);
    fences->has_upper = true;
  }
}

// Copies a node without the free bytes between its slots and its heap.
void CopyUsed(const OptimisticGuard& node, uint32_t page_size, std::byte* page) {
  const size_t slots_end = node_format::kSlots + node.Load<uint16_t>(node_format::kCount) *
                                                     size_t{node_format::kSlotSize};
  const size_t heap = node.Load<uint16_t>(node_format::kHeapSize);
  if (slots_end + heap >= page_size) return node.Copy(0, page, page_size);
  node.Copy(0, page, slots_end);
  node.Copy(page_size - heap, page + page_size - heap, heap);
}

}  // namespace

// The end of a descent for a structure change: a page and its parent, both still optimistic.
struct BTree::Path {
  OptimisticGuard node;
  OptimisticGuard parent;
  bool has_parent = false;
  uint32_t child_slot = 0;    // of the node in the parent
  uint32_t parent_count = 0;  // separators of the parent
  OwnedFences fences;         // of the node
  OwnedFences parent_fences;
};

absl::Status BTree::CreateRoot(BufferPool& pool, ExclusiveGuard* root) {
  PoolActor& actor = pool.Here();
  actor.tree = kInvalidPageId;  // the tree has no root yet
  LATCHKEY_RETURN_IF_ERROR(pool.NewPage(actor, root));
  NodeEditor(root->Mutable(), pool.page_size()).Init(0, Fences{});
  return absl::OkStatus();
}

absl::StatusOr<PageId> BTree::Create(BufferPool& pool, TreeLog* log) {
  LogSpace space;
  if (log != nullptr) LATCHKEY_RETURN_IF_ERROR(log->Reserve(1, /*must_not_fail=*/false, &space));
  ExclusiveGuard root;
  LATCHKEY_RETURN_IF_ERROR(CreateRoot(pool, &root));
  if (log != nullptr) log->LogImages(space, {{&root}}, {});
  return root.page();
}

// ---- Descent

// With kHolds each page is latched while its child is fixed (see Hold).
template <bool kHolds>
absl::Status BTree::Descend(PoolActor& actor, std::string_view key, OptimisticGuard* leaf,
                            DescentHint* hint) const {
  Enter(actor);
  Backoff backoff(pool_.runtime());
  for (;; backoff.Pause()) {
    if constexpr (!kHolds) {
      if (backoff.attempts() == kUnlatchedAttempts) return Descend<true>(actor, key, leaf, hint);
    }
    OptimisticGuard node;
    LATCHKEY_RETURN_IF_ERROR(pool_.FixOptimistic(actor, root_, &node));
    NodeView view = ViewOf(node);
    uint32_t height = 0;
    bool restart = false;
    [[maybe_unused]] std::conditional_t<kHolds, SharedGuard, std::monostate> held;
    *hint = {};
    while (!view.is_leaf()) {
      const uint32_t slot = view.ChildSlotFor(key);
      const PageId child = view.Child(slot);
      OptimisticGuard next;
      if ((restart = !node.Validate())) break;
      if (Raw(child) >= kMaxPageIds || ++height > kMaxHeight) return TooDeep(root_);
      if constexpr (kHolds) {
        if ((restart = !pool_.TryUpgrade(node, &held))) break;
      }
      const absl::Status fixed = pool_.FixOptimistic(actor, child, &next);
      NodeView::Prefetch(next.data());
      if ((restart = !node.Validate())) break;  // the child may have been another's by then
      if (!fixed.ok()) return fixed;
      *hint = {.parent = node, .child_slot = slot, .leaf = child};
      node = next;
      view = ViewOf(node);
    }
    if (restart) continue;
    if (!IsLeafPage(view)) {
      if (!node.Validate()) continue;
      return NoTreePage(root_, node.page());
    }
    *leaf = node;
    return absl::OkStatus();
  }
}

absl::Status BTree::FindLeaf(PoolActor& actor, std::string_view key, OptimisticGuard* leaf) const {
  DescentHint unused;
  return Descend<false>(actor, key, leaf, &unused);
}

template <typename Guard>
absl::Status BTree::LatchLeaf(PoolActor& actor, std::string_view key, Guard* leaf) const {
  const auto fix = [&](PageId page) {
    if constexpr (std::is_same_v<Guard, SharedGuard>)
      return pool_.FixShared(actor, page, leaf);
    else
      return pool_.FixExclusive(actor, page, leaf);
  };
  Enter(actor);
  Backoff backoff(pool_.runtime());
  for (;; backoff.Pause()) {
    SharedGuard held;
    LATCHKEY_RETURN_IF_ERROR(pool_.FixShared(actor, root_, &held));
    PageId page = root_;
    for (uint32_t height = 0;; ++height) {
      const NodeView view(held.data(), page_size_);
      if (!IsTreePage(view)) return NoTreePage(root_, page);
      if (view.is_leaf()) break;  // the root alone: others are fixed from their parents below
      page = view.Child(view.ChildSlotFor(key));
      if (Raw(page) >= kMaxPageIds || height > kMaxHeight) return TooDeep(root_);
      if (view.level() == 1) {
        LATCHKEY_RETURN_IF_ERROR(fix(page));
        return IsLeafPage(ViewOf(*leaf)) ? absl::OkStatus() : NoTreePage(root_, page);
      }
      SharedGuard next;
      LATCHKEY_RETURN_IF_ERROR(pool_.FixShared(actor, page, &next));
      held = std::move(next);
    }
    held.Unfix();
    LATCHKEY_RETURN_IF_ERROR(fix(root_));
    if (IsLeafPage(ViewOf(*leaf))) return absl::OkStatus();
    leaf->Unfix();  // the root has got a level meanwhile
  }
}

template absl::Status BTree::LatchLeaf(PoolActor&, std::string_view, SharedGuard*) const;

// The separators around the leaf prove that it covers the key, as long as their parent has not
// changed. A split or merge of a leaf changes the parent first.
bool BTree::TryFixHinted(PoolActor& actor, std::string_view key, const DescentHint& hint,
                         ExclusiveGuard* leaf) const {
  Enter(actor);
  if (!hint.parent || !pool_.TryRefix(actor, hint.parent)) return false;
  if (!ViewOf(hint.parent).ProvesChild(hint.child_slot, key)) return false;
  OptimisticGuard seen;
  if (!pool_.TryFixOptimistic(actor, hint.leaf, &seen) || !IsLeafPage(ViewOf(seen))) return false;
  return hint.parent.Validate() && pool_.TryUpgrade(seen, leaf);
}

absl::Status BTree::FixLeaf(PoolActor& actor, std::string_view key, ExclusiveGuard* leaf,
                            DescentHint* hint) const {
  DescentHint unused;
  if (hint == nullptr) hint = &unused;
  if (TryFixHinted(actor, key, *hint, leaf)) return absl::OkStatus();
  Backoff backoff(pool_.runtime());
  for (;; backoff.Pause()) {
    if (backoff.attempts() == unlatched_attempts_) {
      *hint = {};
      return LatchLeaf(actor, key, leaf);
    }
    OptimisticGuard guard;
    LATCHKEY_RETURN_IF_ERROR(Descend<false>(actor, key, &guard, hint));
    if (pool_.TryUpgrade(guard, leaf)) return absl::OkStatus();
  }
}

absl::StatusOr<BTree::Step> BTree::TryCopyLeaf(PoolActor& actor, const LeafTarget& target,
                                               uint32_t read_ahead, std::byte* page,
                                               OwnedFences* fences, OptimisticGuard* leaf,
                                               ScanPlace* place, uint32_t attempt) const {
  Enter(actor);
  *place = {};
  fences->Clear();
  SharedGuard held;
  OptimisticGuard node;
  LATCHKEY_RETURN_IF_ERROR(pool_.FixOptimistic(actor, root_, &node));
  if (!Hold(node, attempt, &held)) return Step::kRestart;
  NodeView view = ViewOf(node);
  for (uint32_t height = 0; !view.is_leaf(); ++height) {
    const uint32_t slot = ChildSlot(view, target);
    const PageId child = view.Child(slot);
    Narrow(view, slot, fences);
    std::vector<PageId> ahead;
    if (read_ahead > 0 && view.level() == 1) {
      const bool upwards = target.kind == LeafTarget::Kind::kCovering;
      const uint32_t room = upwards ? view.count() - std::min(slot, view.count()) : slot;
      // A leaf that is in no frame brings those behind it with it: the scan waits once for all.
      if (Raw(child) < kMaxPageIds && !pool_.IsResident(child)) {
        for (uint32_t i = 0; i <= std::min(read_ahead, room); ++i) {
          ahead.push_back(view.Child(upwards ? slot + i : slot - i));
        }
      }
    }
    if (!node.Validate()) return Step::kRestart;
    if (Raw(child) >= kMaxPageIds || height > kMaxHeight) return TooDeep(root_);
    if (!ahead.empty()) {
      std::erase_if(ahead, [](PageId id) { return Raw(id) >= kMaxPageIds; });
      pool_.Prefetch(actor, ahead);
    }
    OptimisticGuard next;
    const absl::Status fixed = pool_.FixOptimistic(actor, child, &next);
    if (!node.Validate()) return Step::kRestart;
    if (!fixed.ok()) return fixed;
    if (!Hold(next, attempt, &held)) return Step::kRestart;
    if (view.level() == 1) *place = {.parent = node, .child_slot = slot};
    node = next;
    view = ViewOf(node);
  }
  CopyUsed(node, page_size_, page);
  if (!node.Validate()) return Step::kRestart;
  *leaf = node;
  return Step::kDone;
}

// The separators around the leaf prove that it covers the key, as in TryFixHinted.
bool BTree::TryCopyNextLeaf(PoolActor& actor, std::string_view key, std::byte* page,
                            OwnedFences* fences, OptimisticGuard* leaf, ScanPlace* place) const {
  Enter(actor);
  if (!place->parent || !pool_.TryRefix(actor, place->parent)) return false;
  const NodeView parent = ViewOf(place->parent);
  const uint32_t slot = place->child_slot + 1;
  if (!parent.ProvesChild(slot, key)) return false;
  fences->Clear();
  Narrow(parent, slot, fences);
  const PageId child = parent.Child(slot);
  const PageId behind = parent.Child(slot + 1);
  if (!place->parent.Validate() || Raw(child) >= kMaxPageIds) return false;
  OptimisticGuard node;
  if (!pool_.TryFixOptimistic(actor, child, &node) || !IsLeafPage(ViewOf(node))) return false;
  CopyUsed(node, page_size_, page);
  if (!node.Validate() || !place->parent.Validate()) return false;
  *leaf = node;
  place->child_slot = slot;
  place->next_leaf = Raw(behind) < kMaxPageIds ? pool_.BytesOf(behind) : nullptr;
  return true;
}

absl::Status BTree::CopyLeaf(PoolActor& actor, const LeafTarget& target, uint32_t read_ahead,
                             std::byte* page, OwnedFences* fences, OptimisticGuard* leaf,
                             ScanPlace* place) const {
  ScanPlace unused;
  if (place == nullptr) place = &unused;
  if (target.kind == LeafTarget::Kind::kCovering &&
      TryCopyNextLeaf(actor, target.key, page, fences, leaf, place)) {
    return absl::OkStatus();
  }
  Backoff backoff(pool_.runtime());
  for (;; backoff.Pause()) {
    LATCHKEY_ASSIGN_OR_RETURN(const Step step, TryCopyLeaf(actor, target, read_ahead, page, fences,
                                                           leaf, place, backoff.attempts()));
    if (step == Step::kDone) return absl::OkStatus();
  }
}

absl::StatusOr<BTree::Step> BTree::TryFindPath(PoolActor& actor, std::string_view key,
                                               uint32_t level, uint32_t attempt, Path* path) const {
  SharedGuard held;
  path->has_parent = false;
  path->fences.Clear();
  path->parent_fences.Clear();
  Enter(actor);
  LATCHKEY_RETURN_IF_ERROR(pool_.FixOptimistic(actor, root_, &path->node));
  for (uint32_t height = 0;; ++height) {
    if (!Hold(path->node, attempt, &held)) return Step::kRestart;
    const NodeView view = ViewOf(path->node);
    const uint32_t at = view.level();
    const bool is_tree_page = IsTreePage(view);
    if (!path->node.Validate()) return Step::kRestart;
    if (!is_tree_page) return NoTreePage(root_, path->node.page());
    if (at <= level) return Step::kDone;
    path->child_slot = view.ChildSlotFor(key);
    path->parent_count = view.count();
    const PageId child = view.Child(path->child_slot);
    path->parent_fences = path->fences;
    Narrow(view, path->child_slot, &path->fences);
    path->parent = path->node;
    path->has_parent = true;
    if (!path->parent.Validate()) return Step::kRestart;
    if (Raw(child) >= kMaxPageIds || height > kMaxHeight) return TooDeep(root_);
    const absl::Status fixed = pool_.FixOptimistic(actor, child, &path->node);
    if (!path->parent.Validate()) return Step::kRestart;
    if (!fixed.ok()) return fixed;
  }
}

// ---- Splits

absl::Status BTree::Split(PoolActor& actor, const NodeEditor::Incoming& incoming,
                          bool must_not_fail) {
  return SplitAt(actor, incoming, 0, must_not_fail);
}

absl::Status BTree::SplitAt(PoolActor& actor, const NodeEditor::Incoming& incoming, uint32_t level,
                            bool must_not_fail) {
  Backoff backoff(pool_.runtime());
  for (;; backoff.Pause()) {
    bool parent_full = false;
    {
      LogSpace space;
      LATCHKEY_RETURN_IF_ERROR(ReserveLog(kPagesOfSplit, must_not_fail, &space));
      LATCHKEY_ASSIGN_OR_RETURN(
          const Step step,
          TrySplitAt(actor, incoming, level, backoff.attempts(), space, &parent_full));
      if (step == Step::kDone) return absl::OkStatus();
    }
    if (parent_full) {
      LATCHKEY_RETURN_IF_ERROR(
          SplitAt(actor, {.key = incoming.key, .value_size = 0}, level + 1, must_not_fail));
    }
  }
}

absl::StatusOr<BTree::Step> BTree::TrySplitAt(PoolActor& actor,
                                              const NodeEditor::Incoming& incoming, uint32_t level,
                                              uint32_t attempt, LogSpace& space,
                                              bool* parent_full) {
  Path path;
  LATCHKEY_ASSIGN_OR_RETURN(const Step found,
                            TryFindPath(actor, incoming.key, level, attempt, &path));
  if (found == Step::kRestart) return Step::kRestart;
  ExclusiveGuard parent, node;
  if (path.has_parent && !pool_.TryUpgrade(path.parent, &parent)) return Step::kRestart;
  if (!pool_.TryUpgrade(path.node, &node)) {
    // The latched parent keeps the page where it is. Only its content may have changed.
    if (!path.has_parent) return Step::kRestart;
    LATCHKEY_RETURN_IF_ERROR(pool_.FixExclusive(actor, path.node.page(), &node));
  }

  const LatchedNodeView view(node.data(), page_size_);
  if (view.level() != level) return Step::kDone;  // the root lost levels meanwhile: nothing is full
  const bool fits = level == 0 ? view.HasRoomFor(view.LowerBound(incoming.key), incoming.key,
                                                 incoming.value_size)
                               : view.HasRoomForAnySeparator();
  if (fits || view.count() == 0) return Step::kDone;  // another actor has made room meanwhile
  if (!path.has_parent) {
    LATCHKEY_RETURN_IF_ERROR(SplitRoot(actor, node, incoming, space));
    return Step::kDone;
  }
  if (!LatchedNodeView(parent.data(), page_size_).HasRoomForAnySeparator()) {
    *parent_full = true;
    return Step::kRestart;
  }
  ExclusiveGuard right;
  LATCHKEY_RETURN_IF_ERROR(pool_.NewPage(actor, &right));
  std::string separator;
  {
    const OnException give_back([&] { pool_.FreePage(actor, std::move(right)); });
    EditorOf(node).SplitInto(EditorOf(right), path.fences.view(), incoming, &separator);
  }
  const bool inserted =
      EditorOf(parent).InsertSeparator(path.child_slot, separator, node.page(), right.page());
  LATCHKEY_CHECK(inserted);
  if (log_ != nullptr) log_->LogSplit(space, parent, node, right, separator);
  return Step::kDone;
}

absl::Status BTree::SplitRoot(PoolActor& actor, ExclusiveGuard& root,
                              const NodeEditor::Incoming& incoming, LogSpace& space) {
  ExclusiveGuard left, right;
  LATCHKEY_RETURN_IF_ERROR(pool_.NewPage(actor, &left));
  const OnException give_back([&] {
    pool_.FreePage(actor, std::move(left));
    if (right) pool_.FreePage(actor, std::move(right));
  });
  if (absl::Status made = pool_.NewPage(actor, &right); !made.ok()) {
    pool_.FreePage(actor, std::move(left));
    return made;
  }
  // The root keeps its page id: its content moves to `left`, which is then split.
  RacyCopyIn(left.Mutable() + kPageHeaderSize, root.data() + kPageHeaderSize,
             page_size_ - kPageHeaderSize);
  RacyStore<uint8_t>(left.Mutable() + offsetof(PageHeader, page_type),
                     static_cast<uint8_t>(root.data()[offsetof(PageHeader, page_type)]));
  const uint32_t level = LatchedNodeView(root.data(), page_size_).level();
  std::string separator;
  EditorOf(left).SplitInto(EditorOf(right), Fences{}, incoming, &separator);
  NodeEditor top = EditorOf(root);
  top.Init(level + 1, Fences{});
  top.SetRightmost(left.page());
  const bool inserted = top.InsertSeparator(0, separator, left.page(), right.page());
  LATCHKEY_CHECK(inserted);
  if (log_ != nullptr) log_->LogImages(space, {{&root, &left, &right}}, {});
  return absl::OkStatus();
}

// ---- Merges

bool BTree::IsUnderfull(const NodeView& leaf) {
  return leaf.UsedBytes() < node_format::Capacity(leaf.page_size()) / 4;
}

void BTree::TryMerge(PoolActor& actor, std::string_view key) {
  for (uint32_t level = 0; level < kMaxHeight; ++level) {
    if (TryMergeLevel(actor, key, level, MergeOf::kUnderfull) != Packed::kMerged) return;
  }
}

BTree::Packed BTree::TryPackNext(PoolActor& actor, std::string_view key) {
  const Packed packed = TryMergeLevel(actor, key, /*level=*/0, MergeOf::kAnyLeft);
  if (packed != Packed::kMerged) return packed;
  for (uint32_t level = 1; level < kMaxHeight; ++level) {
    if (TryMergeLevel(actor, key, level, MergeOf::kAnyLeft) != Packed::kMerged &&
        TryMergeLevel(actor, key, level, MergeOf::kUnderfull) != Packed::kMerged) {
      break;
    }
  }
  return packed;
}

BTree::Packed BTree::TryMergeLevel(PoolActor& actor, std::string_view key, uint32_t level,
                                   MergeOf of) {
  constexpr uint32_t kAttempts = 3;
  Packed packed = Packed::kNothing;
  for (uint32_t attempt = 0; attempt < kAttempts; ++attempt) {
    if (TryMergeAt(actor, key, level, of, &packed) == Step::kDone) break;
  }
  return packed;
}

BTree::Step BTree::TryMergeAt(PoolActor& actor, std::string_view key, uint32_t level, MergeOf of,
                              Packed* packed) {
  Path path;
  const absl::StatusOr<Step> found = TryFindPath(actor, key, level, /*attempt=*/0, &path);
  if (!found.ok()) return Step::kDone;
  if (*found == Step::kRestart) return Step::kRestart;
  if (!path.has_parent || path.parent_count == 0) return Step::kDone;
  if (ViewOf(path.node).level() != level) return Step::kDone;
  if (of == MergeOf::kUnderfull && !IsUnderfull(ViewOf(path.node))) return Step::kDone;

  LogSpace space;  // outlives the guards: freed pages leave the pool before it ends
  const size_t pages = of == MergeOf::kAnyLeft ? 3 : 2;  // a filling changes the right page, too
  if (!ReserveLog(pages, /*must_not_fail=*/false, &space).ok()) return Step::kDone;
  ExclusiveGuard parent, node;
  if (!pool_.TryUpgrade(path.parent, &parent) || !pool_.TryUpgrade(path.node, &node)) {
    return Step::kRestart;
  }
  const uint32_t separators = LatchedNodeView(parent.data(), page_size_).count();
  if (path.child_slot < separators) {
    *packed = TryUnite(actor, path.parent_fences, parent, path.child_slot, node, of,
                       /*node_is_left=*/true, space);
  }
  if (*packed == Packed::kNothing && path.child_slot > 0 && of == MergeOf::kUnderfull) {
    *packed = TryUnite(actor, path.parent_fences, parent, path.child_slot - 1, node, of,
                       /*node_is_left=*/false, space);
  }
  if (*packed != Packed::kMerged) return Step::kDone;
  const bool root_has_one_child =
      parent.page() == root_ && LatchedNodeView(parent.data(), page_size_).count() == 0;
  parent.Unfix();
  node.Unfix();
  if (root_has_one_child) CollapseRoot(actor);
  return Step::kDone;
}

BTree::Packed BTree::TryUnite(PoolActor& actor, const OwnedFences& parent_fences,
                              ExclusiveGuard& parent, uint32_t left_slot, ExclusiveGuard& node,
                              MergeOf of, bool node_is_left, LogSpace& space) {
  const LatchedNodeView parent_view(parent.data(), page_size_);
  OptimisticGuard seen;
  ExclusiveGuard sibling;
  if (!pool_
           .FixOptimistic(actor, parent_view.Child(node_is_left ? left_slot + 1 : left_slot), &seen)
           .ok() ||
      !pool_.TryUpgrade(seen, &sibling)) {
    return Packed::kNothing;
  }
  // In a damaged tree the parent may name any page.
  const NodeView sibling_view = ViewOf(sibling);
  if (!IsTreePage(sibling_view) || sibling_view.level() != ViewOf(node).level()) {
    return Packed::kNothing;
  }
  std::string separator;
  parent_view.AppendKey(left_slot, &separator);
  OwnedFences united = parent_fences, right_part = parent_fences;
  Narrow(parent_view, left_slot, &united);
  Narrow(parent_view, left_slot + 1, &right_part);
  united.upper = right_part.upper;
  united.has_upper = right_part.has_upper;

  ExclusiveGuard& left = node_is_left ? node : sibling;
  ExclusiveGuard& right = node_is_left ? sibling : node;
  const LatchedNodeView right_view(right.data(), page_size_);
  if (!LatchedNodeView(left.data(), page_size_)
           .CanMergeWith(right_view, separator, united.view())) {
    const bool filled = of == MergeOf::kAnyLeft && sibling_view.is_leaf() &&
                        TryFill(parent, left_slot, left, right, united.view(), space);
    return filled ? Packed::kFilled : Packed::kNothing;
  }
  const bool done = EditorOf(left).MergeFrom(right_view, separator, united.view());
  LATCHKEY_CHECK(done);
  EditorOf(parent).RemoveSeparator(left_slot);
  if (log_ != nullptr) log_->LogImages(space, {{&left, &parent}}, {{right.page()}});
  pool_.FreePage(actor, std::move(right));
  return Packed::kMerged;
}

bool BTree::TryFill(ExclusiveGuard& parent, uint32_t left_slot, ExclusiveGuard& left,
                    ExclusiveGuard& right, const Fences& fences, LogSpace& space) {
  const LatchedNodeView::Filling filling =
      LatchedNodeView(left.data(), page_size_)
          .FillingFrom(LatchedNodeView(right.data(), page_size_), fences);
  if (filling.records == 0 || !LatchedNodeView(parent.data(), page_size_)
                                   .CanReplaceSeparator(left_slot, filling.separator)) {
    return false;
  }
  EditorOf(left).FillFrom(EditorOf(right), filling, fences);
  EditorOf(parent).ReplaceSeparator(left_slot, filling.separator);
  if (log_ != nullptr) log_->LogImages(space, {{&parent, &left, &right}}, {});
  return true;
}

void BTree::CollapseRoot(PoolActor& actor) {
  LogSpace space;
  if (!ReserveLog(1, /*must_not_fail=*/false, &space).ok()) return;
  ExclusiveGuard root, child;
  if (!pool_.FixExclusive(actor, root_, &root).ok()) return;
  const LatchedNodeView view(root.data(), page_size_);
  if (view.is_leaf() || view.count() != 0) return;
  OptimisticGuard child_seen;
  if (!pool_.FixOptimistic(actor, view.Child(0), &child_seen).ok() ||
      !pool_.TryUpgrade(child_seen, &child)) {
    return;  // an inner root without separators is sound; the next merge tries again
  }
  RacyCopyIn(root.Mutable() + kPageHeaderSize, child.data() + kPageHeaderSize,
             page_size_ - kPageHeaderSize);
  RacyStore<uint8_t>(root.Mutable() + offsetof(PageHeader, page_type),
                     static_cast<uint8_t>(child.data()[offsetof(PageHeader, page_type)]));
  if (log_ != nullptr) log_->LogImages(space, {{&root}}, {{child.page()}});
  pool_.FreePage(actor, std::move(child));
}

// ---- Batches

void BTree::FindMissing(PoolActor& actor, std::string_view key, MissingPages* missing) const {
  DescentHint hint;
  const bool found = pool_.fix_mode() == FixMode::kLatched
                         ? Peek<true>(actor, key, &hint, /*fences=*/nullptr, missing)
                         : Peek<false>(actor, key, &hint, /*fences=*/nullptr, missing);
  // The leaf is not fixed: that will be its first use.
  if (found && !pool_.IsResident(hint.leaf)) missing->leaves.push_back(hint.leaf);
}

bool BTree::PeekLeaf(PoolActor& actor, std::string_view key, DescentHint* hint, OwnedFences* fences,
                     MissingPages* missing) const {
  return Peek<false>(actor, key, hint, fences, missing);
}

// The result is only a hint, so a page that changes meanwhile is not worth a second attempt.
template <bool kHolds>
bool BTree::Peek(PoolActor& actor, std::string_view key, DescentHint* hint, OwnedFences* fences,
                 MissingPages* missing) const {
  Enter(actor);
  *hint = {};
  if (fences != nullptr) fences->Clear();
  OptimisticGuard node;
  [[maybe_unused]] std::conditional_t<kHolds, SharedGuard, std::monostate> held;
  PageId next = root_;
  for (uint32_t height = 0; height <= kMaxHeight; ++height) {
    OptimisticGuard guard;
    if (!pool_.TryFixOptimistic(actor, next, &guard)) {
      if (missing != nullptr && !pool_.IsResident(next)) missing->inner.push_back(next);
      return false;
    }
    PoolActor::Add(actor.scouting_fixes, 1);
    if (height > 0 && !node.Validate()) return false;
    if constexpr (kHolds) {
      if (!pool_.TryUpgrade(guard, &held)) return false;
    }
    node = guard;
    const NodeView view = ViewOf(node);
    const uint32_t level = view.level();
    if (level == 0) return false;
    const uint32_t slot = view.ChildSlotFor(key);
    next = view.Child(slot);
    if (fences != nullptr) Narrow(view, slot, fences);
    if (!node.Validate() || Raw(next) >= kMaxPageIds) return false;
    if (level != 1) continue;
    *hint = {.parent = node, .child_slot = slot, .leaf = next};
    return true;
  }
  return false;
}

}  // namespace latchkey
