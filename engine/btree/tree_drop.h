// TreeDrop: frees a tree that is not used any more, children before parents, overflow chains before
// their leaf. It remembers its position, so that a drop that failed continues there: the pages that
// it has freed may belong to other trees by then.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "bufferpool/buffer_pool.h"

namespace latchkey {

/// Not thread-safe.
class TreeDrop {
 public:
  /// Takes no memory.
  TreeDrop(BufferPool& pool, PageId root) : pool_(&pool), root_(root) {}

  /// Calls `free_page` for every remaining page of the tree, and `free_overflow(reference)` for its
  /// overflow chains. Each call frees all of it, or nothing and returns an error or throws
  /// std::bad_alloc; another Run then continues with the same page or chain. Pages for which
  /// `is_free` returns true, and all below them, are gone already. DataLoss: a page names one that
  /// does not exist.
  absl::Status Run(absl::FunctionRef<absl::Status(std::string_view)> free_overflow,
                   absl::FunctionRef<absl::Status(PageId)> free_page,
                   absl::FunctionRef<bool(PageId)> is_free);

 private:
  struct Level {
    PageId page;
    uint32_t next = 0;  // slot; all that earlier slots name is gone
  };
  struct Part;

  absl::Status NextPart(Level& level, Part* part) const;

  BufferPool* pool_;
  PageId root_;                // kInvalidPageId = all is gone
  std::vector<Level> levels_;  // path from the root; empty = not begun
};

}  // namespace latchkey
