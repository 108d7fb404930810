#include "engine/catalog.h"

#include <algorithm>
#include <utility>

#include "engine/btree/leaf_change.h"
#include "engine/catalog_entry.h"
#include "engine/latchkey.h"
#include "storage/base/check.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

std::string EntryOf(const TreeImpl& tree, bool may_name_chains) {
  return EncodeCatalogEntry(
      {.tree = tree.id, .root = tree.btree.root(), .may_name_chains = may_name_chains});
}

absl::Status CheckName(std::string_view name) {
  if (!name.empty() && name.size() <= Database::kMaxTreeNameSize) return absl::OkStatus();
  return InvalidArgument("a tree name of {} bytes: names have 1 to {} bytes", name.size(),
                         Database::kMaxTreeNameSize);
}

}  // namespace

Catalog::Catalog(BufferPool& pool, PageId root, EngineLog* log)
    : pool_(pool), log_(log), mutex_(pool.runtime()), btree_(pool, root, log) {}

absl::StatusOr<std::unique_ptr<Catalog>> Catalog::Create(BufferPool& pool, EngineLog* log) {
  LATCHKEY_ASSIGN_OR_RETURN(const PageId root, BTree::Create(pool, log));
  return std::unique_ptr<Catalog>(new Catalog(pool, root, log));
}

absl::StatusOr<std::unique_ptr<Catalog>> Catalog::Load(BufferPool& pool, const ClientRoot& root,
                                                       EngineLog* log) {
  if (Raw(root.catalog_root) >= pool.store().page_id_limit()) {
    return MakeStatus(absl::StatusCode::kDataLoss, "the catalogue's root page {} does not exist",
                      Raw(root.catalog_root));
  }
  std::unique_ptr<Catalog> catalog(new Catalog(pool, root.catalog_root, log));
  catalog->next_tree_id_ = root.next_tree_id;
  LATCHKEY_RETURN_IF_ERROR(catalog->LoadTrees());
  return catalog;
}

void Catalog::Describe(ClientRoot* root) const {
  MutexLock lock(mutex_);
  root->next_tree_id = next_tree_id_;
  root->catalog_root = btree_.root();
}

absl::Status Catalog::LoadTrees() {
  std::vector<std::byte> page(pool_.page_size());
  OwnedFences fences;
  OptimisticGuard guard;
  std::string from, name;
  for (;;) {
    LATCHKEY_RETURN_IF_ERROR(btree_.CopyLeaf(pool_.Here(),
                                             {.kind = LeafTarget::Kind::kCovering, .key = from}, 0,
                                             page.data(), &fences, &guard));
    const LatchedNodeView leaf(page.data(), pool_.page_size());
    for (uint32_t slot = 0; slot < leaf.count(); ++slot) {
      name.clear();
      leaf.AppendKey(slot, &name);
      const std::optional<CatalogEntry> entry = DecodeCatalogEntry(leaf.Value(slot));
      if (!entry) {
        return MakeStatus(absl::StatusCode::kDataLoss, "tree \"{}\": damaged catalogue entry",
                          name);
      }
      if (Raw(entry->root) >= pool_.store().page_id_limit()) {
        return MakeStatus(absl::StatusCode::kDataLoss, "tree \"{}\": root page {} does not exist",
                          name, Raw(entry->root));
      }
      trees_.push_back(std::make_unique<TreeImpl>(entry->tree, name, pool_, entry->root, log_));
      if (!entry->may_name_chains) trees_.back()->btree.PromiseNoChains();
      // Trees that were created after the root was written.
      next_tree_id_ = std::max(next_tree_id_, Raw(entry->tree) + 1);
    }
    if (!fences.has_upper) break;
    if (fences.upper <= from) {
      return absl::DataLossError("the catalogue's pages lead back: they are damaged");
    }
    from = fences.upper;
  }
  std::sort(trees_.begin(), trees_.end(),
            [](const auto& a, const auto& b) { return Raw(a->id) < Raw(b->id); });
  return absl::OkStatus();
}

absl::StatusOr<TreeImpl*> Catalog::OpenTree(std::string_view name, bool create) {
  LATCHKEY_RETURN_IF_ERROR(CheckName(name));
  // Reserved before the mutex is taken: a full log waits for a checkpoint, which needs the mutex.
  LogSpace space;
  if (create && log_ != nullptr) {
    LATCHKEY_RETURN_IF_ERROR(log_->Reserve(2, /*must_not_fail=*/false, &space));
  }
  MutexLock lock(mutex_);
  if (TreeImpl* const tree = FindName(name); tree != nullptr) return tree;
  if (!create) return MakeStatus(absl::StatusCode::kNotFound, "there is no tree \"{}\"", name);
  return CreateTree(name, space);
}

// The tree's empty root and its entry are one atomic change: no crash leaves one without the other.
// A split of the catalogue may take the part of the log that is kept back: a wait for room here
// would never end.
absl::StatusOr<TreeImpl*> Catalog::CreateTree(std::string_view name, LogSpace& space) {
  ExclusiveGuard root;
  LATCHKEY_RETURN_IF_ERROR(BTree::CreateRoot(pool_, &root));
  const absl::StatusOr<TreeImpl*> tree =
      EnterTree(name, root.page(), /*may_name_chains=*/false, [&](ExclusiveGuard& leaf) {
        if (log_ != nullptr) log_->LogImages(nullptr, space, {{&root, &leaf}}, {});
      });
  if (!tree.ok()) pool_.FreePage(pool_.Here(), std::move(root));
  return tree;
}

absl::StatusOr<TreeImpl*> Catalog::AddLoadedTree(std::string_view name, const LoadedTree& loaded,
                                                 LogTxn& load) {
  LogSpace space;
  if (log_ != nullptr) {
    LATCHKEY_RETURN_IF_ERROR(log_->Reserve(1, /*must_not_fail=*/false, &space));
  }
  MutexLock lock(mutex_);
  LATCHKEY_RETURN_IF_ERROR(CheckUnused(name));
  return EnterTree(name, loaded.root, loaded.names_chains, [&](ExclusiveGuard& leaf) {
    if (log_ != nullptr) log_->LogLastImages(load, space, {{&leaf}});
  });
}

absl::Status Catalog::CheckUnused(std::string_view name) const {
  LATCHKEY_RETURN_IF_ERROR(CheckName(name));
  if (FindName(name) == nullptr) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kAlreadyExists,
                    "there is a tree \"{}\" already: choose another name, or drop that tree first",
                    name);
}

absl::Status Catalog::CheckFree(std::string_view name) const {
  MutexLock lock(mutex_);
  return CheckUnused(name);
}

TreeImpl* Catalog::FindName(std::string_view name) const {
  for (const auto& tree : trees_) {
    if (tree->name() == name) return tree.get();
  }
  return nullptr;
}

// Enters a tree, and calls `log` with the changed leaf, which is still latched.
absl::StatusOr<TreeImpl*> Catalog::EnterTree(std::string_view name, PageId root_page,
                                             bool may_name_chains,
                                             absl::FunctionRef<void(ExclusiveGuard&)> log) {
  const TreeId id{next_tree_id_};
  std::unique_ptr<TreeImpl> tree;
  const absl::Status entered = CatchOutOfMemory([&] {
    // Everything that may fail comes before the record in the log.
    tree = std::make_unique<TreeImpl>(id, std::string(name), pool_, root_page, log_);
    if (!may_name_chains) tree->btree.PromiseNoChains();
    const std::string value = EntryOf(*tree, may_name_chains);
    trees_.reserve(trees_.size() + 1);
    return ChangeLeaf(
        btree_, name, value.size(), /*must_not_fail=*/true,
        [&](ExclusiveGuard& guard, SlotPosition position) {
          NodeEditor leaf(guard.Mutable(), pool_.page_size(), pool_.Here().scratch.get());
          LATCHKEY_CHECK(!position.exact && leaf.Insert(position.slot, name, value, 0));
          log(guard);
          return absl::OkStatus();
        });
  });
  LATCHKEY_RETURN_IF_ERROR(entered);
  ++next_tree_id_;
  trees_.push_back(std::move(tree));
  return trees_.back().get();
}

absl::StatusOr<TreeImpl*> Catalog::RemoveTree(TreeId id) {
  LogSpace space;
  if (log_ != nullptr) LATCHKEY_RETURN_IF_ERROR(log_->ReserveSystemChange(&space));
  MutexLock lock(mutex_);
  const auto it =
      std::find_if(trees_.begin(), trees_.end(), [id](const auto& tree) { return tree->id == id; });
  if (it == trees_.end()) {
    return MakeStatus(absl::StatusCode::kNotFound, "there is no tree {}", Raw(id));
  }
  const std::string_view name = (*it)->name();
  if (dropped_trees_.size() == dropped_trees_.capacity()) {  // behind the change nothing may fail
    dropped_trees_.reserve(std::max<size_t>(16, 2 * dropped_trees_.size()));
  }
  LATCHKEY_RETURN_IF_ERROR(ChangeLeaf(
      btree_, name, 0, /*must_not_fail=*/false, [&](ExclusiveGuard& guard, SlotPosition position) {
        LATCHKEY_CHECK(position.exact);
        NodeEditor leaf(guard.Mutable(), pool_.page_size());
        if (log_ != nullptr) {
          log_->LogSystemChange(space,
                                {.tree = kCatalogTree,
                                 .page = guard.page(),
                                 .key = name,
                                 .now = RecordState::kAbsent,
                                 .now_bytes = {},
                                 .before = RecordState::kValue,
                                 .before_bytes = leaf.Value(position.slot)},
                                guard.Mutable());
        }
        leaf.Remove(position.slot);
        return absl::OkStatus();
      }));
  (*it)->BeginDrop();  // unless the caller has marked it
  dropped_trees_.push_back(std::move(*it));
  trees_.erase(it);
  return dropped_trees_.back().get();
}

// Both entries change in one record, so no crash leaves two names or none. A split of the catalogue
// may take the part of the log that is kept back, as in CreateTree.
absl::Status Catalog::RenameTree(std::string_view from, std::string_view to) {
  LogSpace space;
  if (log_ != nullptr) {
    LATCHKEY_RETURN_IF_ERROR(log_->Reserve(2, /*must_not_fail=*/false, &space));
  }
  MutexLock lock(mutex_);
  TreeImpl* const tree = FindName(from);
  if (tree == nullptr) {
    LATCHKEY_RETURN_IF_ERROR(CheckName(from));
    return MakeStatus(absl::StatusCode::kNotFound, "there is no tree \"{}\"", from);
  }
  if (tree->is_dropped()) return tree->Dropped();
  LATCHKEY_RETURN_IF_ERROR(CheckUnused(to));
  auto name = std::make_unique<const std::string>(to);
  tree->ReserveName();
  const std::string value = EntryOf(*tree, tree->btree.may_name_chains());
  const absl::Status renamed =
      ChangeLeaf(btree_, to, value.size(), /*must_not_fail=*/true,
                 [&](ExclusiveGuard& guard, SlotPosition position) -> absl::Status {
                   ExclusiveGuard other;  // the leaf of `from`, unless it is the same
                   if (!LatchedNodeView(guard.data(), pool_.page_size()).LowerBound(from).exact) {
                     LATCHKEY_RETURN_IF_ERROR(btree_.FixLeaf(pool_.Here(), from, &other));
                   }
                   NodeEditor leaf(guard.Mutable(), pool_.page_size(), pool_.Here().scratch.get());
                   LATCHKEY_CHECK(!position.exact && leaf.Insert(position.slot, to, value, 0));
                   NodeEditor old(other ? other.Mutable() : guard.Mutable(), pool_.page_size());
                   const SlotPosition gone = old.LowerBound(from);
                   LATCHKEY_CHECK(gone.exact);
                   old.Remove(gone.slot);
                   if (log_ == nullptr) return absl::OkStatus();
                   if (other) {
                     log_->LogImages(nullptr, space, {{&guard, &other}}, {});
                   } else {
                     log_->LogImages(nullptr, space, {{&guard}}, {});
                   }
                   return absl::OkStatus();
                 });
  LATCHKEY_RETURN_IF_ERROR(renamed);
  tree->Rename(std::move(name));
  return absl::OkStatus();
}

// The entry keeps its size, so it fits in its leaf.
absl::Status Catalog::NoteChains(TreeImpl& tree) {
  LogSpace space;
  if (log_ != nullptr) {
    LATCHKEY_RETURN_IF_ERROR(log_->Reserve(1, /*must_not_fail=*/false, &space));
  }
  MutexLock lock(mutex_);
  if (tree.btree.may_name_chains()) return absl::OkStatus();
  if (FindName(tree.name()) != &tree) return tree.Dropped();
  const std::string value = EntryOf(tree, /*may_name_chains=*/true);
  ExclusiveGuard guard;
  LATCHKEY_RETURN_IF_ERROR(btree_.FixLeaf(pool_.Here(), tree.name(), &guard));
  NodeEditor leaf(guard.Mutable(), pool_.page_size(), pool_.Here().scratch.get());
  const SlotPosition position = leaf.LowerBound(tree.name());
  LATCHKEY_CHECK(position.exact);
  // An entry without flags is of a tree that may name chains.
  LATCHKEY_CHECK(leaf.Value(position.slot).size() == value.size());
  LATCHKEY_CHECK(leaf.ReplaceValue(position.slot, value, 0));
  if (log_ != nullptr) log_->LogImages(nullptr, space, {{&guard}}, {});
  tree.btree.NoteChains();
  return absl::OkStatus();
}

TreeImpl* Catalog::FindTree(TreeId id) const {
  MutexLock lock(mutex_);
  const auto it =
      std::lower_bound(trees_.begin(), trees_.end(), id,
                       [](const auto& tree, TreeId wanted) { return Raw(tree->id) < Raw(wanted); });
  return it != trees_.end() && (*it)->id == id ? it->get() : nullptr;
}

std::vector<std::string> Catalog::Names() const {
  MutexLock lock(mutex_);
  std::vector<std::string> names;
  for (const auto& tree : trees_) names.emplace_back(tree->name());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<const BTree*> Catalog::AllTrees() const {
  MutexLock lock(mutex_);
  std::vector<const BTree*> all{&btree_};
  for (const auto& tree : trees_) all.push_back(&tree->btree);
  return all;
}

}  // namespace latchkey
