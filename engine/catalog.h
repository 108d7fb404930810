// The catalogue: which trees a database has. A B+tree of its own (tree name -> id, root page),
// whose root page the layout's superblock names through the client root
// (engine/log/client_root.h).
//
//   CATALOGUE VALUE    0    4  tree id
//                      4    8  root page
//
// Thread-safety: all members from every actor at once.
#pragma once

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

class Catalog {
 public:
  /// A new catalogue in an empty pool. `log`: where it and its trees are logged; nullptr: nowhere.
  static absl::StatusOr<std::unique_ptr<Catalog>> Create(BufferPool& pool,
                                                         EngineLog* log = nullptr);
  /// The catalogue that `root` describes, with all its trees. DataLoss if it cannot be one.
  static absl::StatusOr<std::unique_ptr<Catalog>> Load(BufferPool& pool, const ClientRoot& root,
                                                       EngineLog* log = nullptr);

  /// Enters into `root` where the catalogue is.
  void Describe(ClientRoot* root) const;

  /// The tree of that name; created when missing if `create`, else NotFound.
  absl::StatusOr<TreeImpl*> OpenTree(std::string_view name, bool create);
  /// Takes the tree out of the catalogue and returns it, to be freed by the caller.
  absl::StatusOr<std::unique_ptr<TreeImpl>> RemoveTree(std::string_view name);
  /// nullptr when there is no such tree.
  TreeImpl* FindTree(TreeId id) const;
  std::vector<std::string> Names() const;
  /// Every tree, the catalogue's own included.
  std::vector<const BTree*> AllTrees() const;

 private:
  Catalog(BufferPool& pool, PageId root, EngineLog* log);
  absl::StatusOr<TreeImpl*> CreateTree(std::string_view name, LogSpace& space);
  absl::Status LoadTrees();

  BufferPool& pool_;
  EngineLog* const log_;
  mutable Mutex mutex_;
  BTree btree_;
  uint32_t next_tree_id_ = 1;
  std::vector<std::unique_ptr<TreeImpl>> trees_;  // guarded by mutex_; ascending by id
};

}  // namespace latchkey
