// The catalogue: the trees of a database. It is a B+tree of its own (tree name ->
// engine/catalog_entry.h).
// The layout's superblock names its root page through the client root (engine/log/client_root.h).
//
// Thread-safety: every actor may call every member at once.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/log/client_root.h"
#include "engine/log/engine_log.h"
#include "engine/tree_impl.h"
#include "storage/runtime/mutex.h"

namespace latchkey {

/// A tree that a bulk load has made.
struct LoadedTree {
  PageId root = kInvalidPageId;
  bool names_chains = true;  ///< whether a leaf names an overflow chain
};

class Catalog {
 public:
  /// A new catalogue in an empty pool. `log` records the catalogue and its trees; nullptr = nothing
  /// is logged.
  static absl::StatusOr<std::unique_ptr<Catalog>> Create(BufferPool& pool,
                                                         EngineLog* log = nullptr);
  /// The catalogue that `root` describes, with all its trees. DataLoss if no catalogue can be
  /// there.
  static absl::StatusOr<std::unique_ptr<Catalog>> Load(BufferPool& pool, const ClientRoot& root,
                                                       EngineLog* log = nullptr);

  /// Writes the place of the catalogue into `root`.
  void Describe(ClientRoot* root) const;

  /// The tree of that name. Created if it is missing and `create` is true, else NotFound.
  absl::StatusOr<TreeImpl*> OpenTree(std::string_view name, bool create);
  /// Takes the tree out of the catalogue and returns it; the caller frees its pages. The catalogue
  /// keeps the TreeImpl, marked as dropped, for the handles that point at it.
  absl::StatusOr<TreeImpl*> RemoveTree(TreeId id);
  /// As Database::RenameTree, without making it durable.
  absl::Status RenameTree(std::string_view from, std::string_view to);
  /// Enters the tree of a bulk load. One log record enters the tree and ends the transaction `load`.
  /// REQUIRES: all pages of the tree are durable. After an error nothing has changed. AlreadyExists:
  /// the name is in use.
  absl::StatusOr<TreeImpl*> AddLoadedTree(std::string_view name, const LoadedTree& loaded,
                                          LogTxn& load);
  /// Notes that leaves of `tree` may name overflow chains. REQUIRES: returns OK before a leaf does.
  /// FailedPrecondition: the tree is dropped.
  absl::Status NoteChains(TreeImpl& tree);
  /// AlreadyExists: the name is in use. InvalidArgument: it is no name.
  absl::Status CheckFree(std::string_view name) const;
  /// nullptr = no such tree.
  TreeImpl* FindTree(TreeId id) const;
  std::vector<std::string> Names() const;
  /// Every tree, including that of the catalogue.
  std::vector<const BTree*> AllTrees() const;

 private:
  Catalog(BufferPool& pool, PageId root, EngineLog* log);
  absl::StatusOr<TreeImpl*> CreateTree(std::string_view name, LogSpace& space);
  absl::StatusOr<TreeImpl*> EnterTree(std::string_view name, PageId root_page, bool may_name_chains,
                                      absl::FunctionRef<void(ExclusiveGuard&)> log);
  // Both with mutex_ held. nullptr = no such tree.
  absl::Status CheckUnused(std::string_view name) const;
  TreeImpl* FindName(std::string_view name) const;
  absl::Status LoadTrees();

  BufferPool& pool_;
  EngineLog* const log_;
  mutable Mutex mutex_;
  BTree btree_;
  uint32_t next_tree_id_ = 1;
  std::vector<std::unique_ptr<TreeImpl>> trees_;  // guarded by mutex_; ascending by id
  std::vector<std::unique_ptr<TreeImpl>> dropped_trees_;  // guarded by mutex_
};

}  // namespace latchkey
