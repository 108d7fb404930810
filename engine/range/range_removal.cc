#include "engine/range/range_removal.h"

#include <algorithm>
#include <utility>

#include "engine/btree/node.h"
#include "storage/base/canary.h"
#include "storage/base/check.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

constexpr size_t kBatchPages = 2048;
// As of BTree: deeper than any sound tree.
constexpr uint32_t kMaxHeight = 40;

absl::Status Damaged(PageId page) {
  return MakeStatus(absl::StatusCode::kDataLoss,
                    "page {} is no page of the tree whose range is deleted: the tree is damaged",
                    Raw(page));
}

void NarrowTo(const LatchedNodeView& node, uint32_t first, uint32_t last, OwnedFences* fences) {
  if (first > 0) {
    fences->lower.clear();
    node.AppendKey(first - 1, &fences->lower);
    fences->has_lower = true;
  }
  if (last < node.count()) {
    fences->upper.clear();
    node.AppendKey(last, &fences->upper);
    fences->has_upper = true;
  }
}

}  // namespace

absl::Status RangeRemoval::Run(BTree* tree) {
  LATCHKEY_RETURN_IF_ERROR(FreeDetached());
  if (tree == nullptr) return absl::OkStatus();
  tree->Enter(parts_.pool.Here());
  uint32_t height = 0;
  {
    SharedGuard root;
    LATCHKEY_RETURN_IF_ERROR(parts_.pool.FixShared(parts_.pool.Here(), tree->root(), &root));
    height = NodeView(root.data(), page_size_).level();
  }
  for (uint32_t level = height; level > 0; --level) {
    LATCHKEY_RETURN_IF_ERROR(DetachAt(*tree, level, End::kFrom));
    LATCHKEY_RETURN_IF_ERROR(DetachAt(*tree, level, End::kTo));
  }
  LATCHKEY_RETURN_IF_ERROR(EmptyLeaves(*tree));
  return FreeDetached();
}

absl::Status RangeRemoval::Reserve(size_t pages, LogSpace* space) const {
  if (parts_.log == nullptr) return absl::OkStatus();
  return parts_.log->Reserve(pages, must_not_fail_, space);
}

// ---- Inner pages

absl::Status RangeRemoval::DetachAt(BTree& tree, uint32_t level, End end) {
  for (;;) {
    std::vector<std::string> chains;
    LATCHKEY_RETURN_IF_ERROR(TryDetach(tree, level, end, &chains));
    if (chains.empty()) return absl::OkStatus();
    LATCHKEY_RETURN_IF_ERROR(FreeChains(chains));
  }
}

// Fills *chains, and changes nothing, if the leaf that would stay names overflow chains: these are
// freed first.
absl::Status RangeRemoval::TryDetach(BTree& tree, uint32_t level, End end,
                                     std::vector<std::string>* chains) {
  // Room for a page a level, and for the ids that they name: at most a page of ids for each.
  LogSpace space;
  LATCHKEY_RETURN_IF_ERROR(Reserve(2 * (level + 1), &space));
  ExclusiveGuard node;
  OwnedFences fences;
  LATCHKEY_RETURN_IF_ERROR(DescendTo(tree, level, end, &node, &fences));
  const LatchedNodeView view(node.data(), page_size_);
  uint32_t first = 0, last = 0;
  if (view.level() != level || view.count() == 0 || !FindRun(view, fences, &first, &last)) {
    return absl::OkStatus();
  }
  progress_.detached.reserve(progress_.detached.size() + (level + 1) * (page_size_ / 8));
  if (node.page() == tree.root() && first == 0 && last == view.count()) {
    EmptyRoot(node, space);
    return absl::OkStatus();
  }
  std::vector<ExclusiveGuard> spine;
  LATCHKEY_RETURN_IF_ERROR(LatchSpine(view, first, &spine));
  NoteChains(LatchedNodeView(spine.back().data(), page_size_), chains);
  if (!chains->empty()) return absl::OkStatus();
  CutOut(node, spine, fences, first, last, space);
  return absl::OkStatus();
}

absl::Status RangeRemoval::DescendTo(BTree& tree, uint32_t level, End end, ExclusiveGuard* node,
                                     OwnedFences* fences) {
  PoolActor& actor = parts_.pool.Here();
  LATCHKEY_RETURN_IF_ERROR(parts_.pool.FixExclusive(actor, tree.root(), node));
  for (uint32_t depth = 0;; ++depth) {
    const LatchedNodeView view(node->data(), page_size_);
    if (view.level() <= level) return absl::OkStatus();
    const std::string_view from = range_.from ? *range_.from : std::string_view();
    uint32_t slot = view.count();
    if (end == End::kFrom) {
      slot = view.ChildSlotFor(from);
    } else if (range_.to) {
      slot = view.LowerBound(*range_.to).slot;
    }
    const PageId child = view.Child(slot);
    if (Raw(child) >= parts_.pool.store().page_id_limit() || depth > kMaxHeight) {
      return Damaged(child);
    }
    NarrowTo(view, slot, slot, fences);
    ExclusiveGuard next;
    LATCHKEY_RETURN_IF_ERROR(parts_.pool.FixExclusive(actor, child, &next));
    *node = std::move(next);
  }
}

// The children whose fences lie in the range, if any. REQUIRES: the range overlaps the fences.
bool RangeRemoval::FindRun(const LatchedNodeView& node, const OwnedFences& fences, uint32_t* first,
                           uint32_t* last) const {
  *first = 0;
  *last = node.count();
  if (range_.from && (fences.has_lower ? fences.lower < *range_.from : !range_.from->empty())) {
    *first = node.LowerBound(*range_.from).slot + 1;
  }
  if (range_.to && (!fences.has_upper || *range_.to < fences.upper)) {
    const SlotPosition position = node.LowerBound(*range_.to);
    if (!position.exact && position.slot == 0) return false;
    *last = position.slot - (position.exact ? 0 : 1);
  }
  return *first <= *last;
}

absl::Status RangeRemoval::LatchSpine(const LatchedNodeView& node, uint32_t child,
                                      std::vector<ExclusiveGuard>* spine) {
  PoolActor& actor = parts_.pool.Here();
  uint32_t level = node.level();
  spine->reserve(level);
  PageId page = node.Child(child);
  while (level > 0) {
    if (Raw(page) >= parts_.pool.store().page_id_limit()) return Damaged(page);
    ExclusiveGuard guard;
    LATCHKEY_RETURN_IF_ERROR(parts_.pool.FixExclusive(actor, page, &guard));
    const LatchedNodeView view(guard.data(), page_size_);
    if (view.level() != --level || (level == 0) != BTree::IsLeafPage(view)) return Damaged(page);
    if (level > 0) page = view.Child(0);
    spine->push_back(std::move(guard));
  }
  return absl::OkStatus();
}

void RangeRemoval::EmptyRoot(ExclusiveGuard& root, LogSpace& space) {
  const LatchedNodeView view(root.data(), page_size_);
  const size_t before = progress_.detached.size();
  for (uint32_t i = 0; i <= view.count(); ++i) progress_.detached.push_back(view.Child(i));
  NodeEditor editor(root.Mutable(), page_size_);
  const TxnId mark = std::max(view.last_writer(), mark_);
  editor.Init(0, Fences{});
  editor.set_last_writer(mark);
  if (parts_.log == nullptr) return;
  ExclusiveGuard* const changed[] = {&root};
  parts_.log->LogDetach(txn_, space, changed, std::span(progress_.detached).subspan(before));
}

void RangeRemoval::CutOut(ExclusiveGuard& node, std::vector<ExclusiveGuard>& spine,
                          const OwnedFences& fences, uint32_t first, uint32_t last,
                          LogSpace& space) {
  const LatchedNodeView view(node.data(), page_size_);
  const size_t before = progress_.detached.size();
  for (uint32_t i = first + 1; i <= last; ++i) progress_.detached.push_back(view.Child(i));
  for (const ExclusiveGuard& guard : spine) {
    const LatchedNodeView page(guard.data(), page_size_);
    if (page.is_leaf()) break;
    for (uint32_t i = 1; i <= page.count(); ++i) progress_.detached.push_back(page.Child(i));
  }
  const bool is_empty = LatchedNodeView(spine.back().data(), page_size_).count() == 0;
  if (progress_.detached.size() == before && is_empty) return;  // it was cut out before
  OwnedFences run = fences;
  NarrowTo(view, first, last, &run);
  std::vector<ExclusiveGuard*> changed{&node};
  changed.reserve(spine.size() + 1);  // behind the first change nothing may fail
  NodeEditor parent(node.Mutable(), page_size_, parts_.pool.Here().scratch.get());
  for (uint32_t i = first; i < last; ++i) parent.RemoveSeparator(first);
  for (size_t i = 0; i < spine.size(); ++i) {
    const LatchedNodeView page(spine[i].data(), page_size_);
    const TxnId mark = std::max(page.last_writer(), mark_);
    NodeEditor editor(spine[i].Mutable(), page_size_);
    editor.Init(page.level(), run.view());
    editor.set_last_writer(mark);
    if (i + 1 < spine.size()) editor.SetRightmost(spine[i + 1].page());
    changed.push_back(&spine[i]);
  }
  if (parts_.log == nullptr) return;
  parts_.log->LogDetach(txn_, space, changed, std::span(progress_.detached).subspan(before));
}

// ---- Leaves

bool RangeRemoval::IsInside(std::string_view key) const {
  return (!range_.from || *range_.from <= key) && (!range_.to || key < *range_.to);
}

// Appends the overflow chains of the leaf's records in the range that are not freed yet.
void RangeRemoval::NoteChains(const LatchedNodeView& leaf, std::vector<std::string>* chains) const {
  std::string key;
  for (uint32_t slot = 0; slot < leaf.count(); ++slot) {
    if ((leaf.flags(slot) & kOverflow) == 0) continue;
    key.clear();
    leaf.AppendKey(slot, &key);
    const PageId chain = ChainOf(leaf.Value(slot)).first_page;
    if (!IsInside(key) || progress_.freed_chains.contains(Raw(chain)) || chain_is_gone_(chain))
      continue;
    chains->emplace_back(leaf.Value(slot));
  }
}

absl::Status RangeRemoval::FreeChains(const std::vector<std::string>& chains) {
  for (const std::string& chain : chains) {
    LATCHKEY_RETURN_IF_ERROR(parts_.overflow.Free(chain));
    progress_.freed_chains.insert(Raw(ChainOf(chain).first_page));
  }
  return absl::OkStatus();
}

absl::Status RangeRemoval::EmptyLeaves(BTree& tree) {
  PoolActor& actor = parts_.pool.Here();
  std::string key = range_.from.value_or(std::string());
  std::vector<std::byte> copy(page_size_);
  for (uint32_t attempts = 0;;) {
    OwnedFences fences;
    OptimisticGuard seen;
    LATCHKEY_RETURN_IF_ERROR(
        tree.CopyLeaf(actor, {LeafTarget::Kind::kCovering, key}, 0, copy.data(), &fences, &seen));
    bool again = false;
    LATCHKEY_RETURN_IF_ERROR(EmptyLeaf(seen, &again));
    if (again) {
      parts_.pool.runtime().BackOff(attempts++);  // writers beside the range may change the leaf
      continue;
    }
    attempts = 0;
    // What deletes leave sparse is united with a neighbour, as after ordinary deletes.
    if (BTree::IsUnderfull(NodeView(copy.data(), page_size_))) tree.TryMerge(actor, key);
    if (!fences.has_upper || (range_.to && *range_.to <= fences.upper)) return absl::OkStatus();
    if (fences.upper <= key) return Damaged(tree.root());
    key = std::move(fences.upper);
  }
}

// Removes the records of the range from a leaf. *again: it had some, or has changed since it was
// seen, so the caller looks once more. A leaf that has split ends before the fence that was seen.
absl::Status RangeRemoval::EmptyLeaf(const OptimisticGuard& seen, bool* again) {
  std::vector<std::string> chains;
  {
    LogSpace space;
    LATCHKEY_RETURN_IF_ERROR(Reserve(1, &space));
    ExclusiveGuard guard;
    if (!parts_.pool.TryUpgrade(seen, &guard)) {
      *again = true;
      return absl::OkStatus();
    }
    const LatchedNodeView leaf(guard.data(), page_size_);
    NoteChains(leaf, &chains);
    if (chains.empty()) {
      std::string record;
      for (uint32_t slot = leaf.count(); slot-- > 0;) {
        record.clear();
        leaf.AppendKey(slot, &record);
        if (!IsInside(record)) continue;
        NodeEditor(guard.Mutable(), page_size_).Remove(slot);
        *again = true;
      }
      if (!*again) return absl::OkStatus();
      NodeEditor editor(guard.Mutable(), page_size_, parts_.pool.Here().scratch.get());
      editor.set_last_writer(std::max(leaf.last_writer(), mark_));
      ExclusiveGuard* const changed[] = {&guard};
      if (parts_.log != nullptr) parts_.log->LogImages(nullptr, space, changed, {});
      return absl::OkStatus();
    }
  }
  *again = true;
  return FreeChains(chains);
}

// ---- Pages that no page refers to any more

absl::Status RangeRemoval::FreeDetached() {
  for (const PageId root : progress_.detached) LATCHKEY_RETURN_IF_ERROR(FreeSubtree(root, 0));
  LATCHKEY_RETURN_IF_ERROR(FreeBatch());
  progress_.detached.clear();
  progress_.freed.clear();
  return absl::OkStatus();
}

absl::Status RangeRemoval::FreeSubtree(PageId page, uint32_t depth) {
  if (progress_.freed.contains(Raw(page)) || page_is_gone_(page)) return absl::OkStatus();
  if (Raw(page) >= parts_.pool.store().page_id_limit() || depth > kMaxHeight) return Damaged(page);
  std::vector<PageId> children;
  uint32_t level = 0;
  {
    ExclusiveGuard guard;
    LATCHKEY_RETURN_IF_ERROR(parts_.pool.FixExclusive(parts_.pool.Here(), page, &guard));
    guard.Invalidate();
    const LatchedNodeView node(guard.data(), page_size_);
    level = node.level();
    if (level > 0) {
      children.reserve(node.count() + 1);
      for (uint32_t i = 0; i <= node.count(); ++i) children.push_back(node.Child(i));
    }
  }
  if (level == 0) LATCHKEY_RETURN_IF_ERROR(FreeLeaf(page));
  constexpr size_t kReadTogether = 64;
  const bool are_read = level > 1 || parts_.leaves_may_name_chains;
  for (size_t i = 0; i < children.size(); ++i) {
    if (are_read && i % kReadTogether == 0) {
      const size_t count = std::min(kReadTogether, children.size() - i);
      parts_.pool.Prefetch(parts_.pool.Here(), std::span(children).subspan(i, count));
    }
    LATCHKEY_RETURN_IF_ERROR(level > 1 ? FreeSubtree(children[i], depth + 1)
                                       : FreeLeaf(children[i]));
  }
  if (level > 0) batch_.push_back(page);
  batch_inner_.push_back(page);
  return batch_.size() >= kBatchPages ? FreeBatch() : absl::OkStatus();
}

// The leaf itself goes with the page above it.
absl::Status RangeRemoval::FreeLeaf(PageId page) {
  if (parts_.leaves_may_name_chains) {
    std::vector<std::string> chains;
    {
      SharedGuard guard;
      LATCHKEY_RETURN_IF_ERROR(parts_.pool.FixShared(parts_.pool.Here(), page, &guard));
      const LatchedNodeView leaf(guard.data(), page_size_);
      if (!BTree::IsLeafPage(leaf)) return Damaged(page);
      NoteChains(leaf, &chains);
    }
    LATCHKEY_RETURN_IF_ERROR(FreeChains(chains));
  }
  batch_.push_back(page);
  return absl::OkStatus();
}

absl::Status RangeRemoval::FreeBatch() {
  if (batch_.empty()) return absl::OkStatus();
  std::sort(batch_.begin(), batch_.end());
  LogSpace space;  // held until the pages are freed
  LATCHKEY_RETURN_IF_ERROR(Reserve(5 * batch_.size() / page_size_ + 2, &space));
  if (parts_.log != nullptr && !LATCHKEY_CANARY("range-frees-not-logged")) {
    // A purge of a ghost that has one of the pages latched logs its change before the free is logged.
    for (const PageId page : batch_) parts_.pool.Invalidate(page);
    parts_.log->LogFreeSorted(txn_, space, batch_);
  }
  for (const PageId page : batch_inner_) progress_.freed.insert(Raw(page));
  for (const PageId page : batch_) {
    LATCHKEY_RETURN_IF_ERROR(parts_.pool.FreePageById(parts_.pool.Here(), page));
  }
  batch_.clear();
  batch_inner_.clear();
  return absl::OkStatus();
}

}  // namespace latchkey
