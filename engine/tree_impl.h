// What a Tree handle points at.
#pragma once

#include <string>
#include <utility>

#include "engine/btree/tree.h"
#include "storage/base/ids.h"

namespace latchkey {

class TreeImpl {
 public:
  TreeImpl(TreeId tree_id, std::string tree_name, BufferPool& pool, PageId root,
           TreeLog* log = nullptr)
      : id(tree_id), name(std::move(tree_name)), btree(pool, root, log) {}

  const TreeId id;
  const std::string name;
  BTree btree;
};

}  // namespace latchkey
