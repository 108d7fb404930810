#include "engine/btree/tree_drop.h"

#include <algorithm>
#include <array>
#include <optional>

#include "engine/btree/node.h"
#include "engine/btree/node_format.h"
#include "storage/base/status_macros.h"

namespace latchkey {

// What a page names next: a child, a chain, or nothing more.
struct TreeDrop::Part {
  std::optional<PageId> child;
  std::array<char, kOverflowReferenceSize> chain;
  bool has_chain = false;
};

// The first part of the page from `level.next` on. Moves `level.next` there.
absl::Status TreeDrop::NextPart(Level& level, Part* part) const {
  SharedGuard guard;
  LATCHKEY_RETURN_IF_ERROR(pool_->FixShared(pool_->Here(), level.page, &guard));
  const LatchedNodeView node(guard.data(), pool_->page_size());
  if (!node.is_leaf()) {
    if (level.next > node.count()) return absl::OkStatus();
    part->child = node.Child(level.next);
    return absl::OkStatus();
  }
  while (level.next < node.count() && !(node.flags(level.next) & kOverflow)) ++level.next;
  if (level.next >= node.count()) return absl::OkStatus();
  const std::string_view reference = node.Value(level.next);
  if (reference.size() != part->chain.size()) {
    return MakeStatus(absl::StatusCode::kDataLoss, "page {} has an overflow reference of {} bytes",
                      Raw(level.page), reference.size());
  }
  std::ranges::copy(reference, part->chain.begin());
  part->has_chain = true;
  return absl::OkStatus();
}

absl::Status TreeDrop::Run(absl::FunctionRef<absl::Status(std::string_view)> free_overflow,
                           absl::FunctionRef<absl::Status(PageId)> free_page,
                           absl::FunctionRef<bool(PageId)> is_free) {
  if (root_ != kInvalidPageId && levels_.empty() && !is_free(root_)) {
    levels_.push_back({.page = root_});
  }
  while (!levels_.empty()) {
    Level& level = levels_.back();
    Part part;
    LATCHKEY_RETURN_IF_ERROR(NextPart(level, &part));
    // After a crash the store may not know the id of a child that is gone.
    if (part.child && !is_free(*part.child)) {
      if (Raw(*part.child) >= pool_->store().page_id_limit()) {
        return MakeStatus(absl::StatusCode::kDataLoss,
                          "page {} names child {}, which does not exist", Raw(level.page),
                          Raw(*part.child));
      }
      levels_.push_back({.page = *part.child});
      continue;
    }
    if (part.has_chain) {
      LATCHKEY_RETURN_IF_ERROR(free_overflow({part.chain.data(), part.chain.size()}));
    }
    if (part.child || part.has_chain) {
      ++level.next;
      continue;
    }
    LATCHKEY_RETURN_IF_ERROR(free_page(level.page));
    levels_.pop_back();
    if (!levels_.empty()) ++levels_.back().next;
  }
  root_ = kInvalidPageId;
  return absl::OkStatus();
}

}  // namespace latchkey
