// TreeDrop: a tree that nobody uses any more goes, children before parents, overflow chains before
// their leaf. It remembers how far it has come, so that a drop that failed in between goes on
// there: the pages that it has freed may belong to others by then.
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

  /// Gives every page that is left of the tree to `free_page`, which frees it, and overflow chains
  /// to `free_overflow(reference)`. Both free wholly or, with an error or std::bad_alloc, not at
  /// all: then another call goes on with what they were given. Pages of which `is_free` says so,
  /// and all below them, are gone already. DataLoss: a page names one that does not exist.
  absl::Status Run(absl::FunctionRef<absl::Status(std::string_view)> free_overflow,
                   absl::FunctionRef<absl::Status(PageId)> free_page,
                   absl::FunctionRef<bool(PageId)> is_free);

 private:
  struct Level {
    PageId page;
    uint32_t next = 0;  // slot: what those before it name is gone
  };
  struct Part;

  absl::Status NextPart(Level& level, Part* part) const;

  BufferPool* pool_;
  PageId root_;                // kInvalidPageId: all is gone
  std::vector<Level> levels_;  // from the root to the page whose parts go; empty: not begun
};

}  // namespace latchkey
