// Check: a walk over the whole tree that proves it sound.
#include "engine/btree/tree.h"
#include "storage/base/status_macros.h"

namespace latchkey {

absl::Status CheckPageShape(PageId id, std::span<const std::byte> page) {
  const LatchedNodeView node(page.data(), static_cast<uint32_t>(page.size()));
  if (node.type() != PageType::kTreeLeaf && node.type() != PageType::kTreeInner) {
    return absl::OkStatus();
  }
  const absl::Status shape = node.CheckShape();
  if (shape.ok()) return shape;
  return MakeStatus(absl::StatusCode::kDataLoss, "page {}: {}", Raw(id),
                    std::string(shape.message()));
}

absl::Status BTree::CheckSubtree(PageId page, uint32_t level, bool is_root,
                                 const OwnedFences& fences,
                                 absl::FunctionRef<absl::Status(PageId)> visit,
                                 absl::FunctionRef<absl::Status(std::string_view)> visit_overflow,
                                 TreeCounts* counts) const {
  LATCHKEY_RETURN_IF_ERROR(visit(page));
  std::vector<std::pair<PageId, OwnedFences>> children;
  uint32_t child_level = 0;
  {
    SharedGuard guard;
    LATCHKEY_RETURN_IF_ERROR(pool_.FixShared(pool_.Here(), page, &guard));
    const LatchedNodeView node(guard.data(), page_size_);
    LATCHKEY_RETURN_IF_ERROR(node.Check(fences.view()));
    if (!is_root && node.level() != level) {
      return MakeStatus(absl::StatusCode::kDataLoss, "page {} has level {}, its place wants {}",
                        Raw(page), node.level(), level);
    }
    if (node.is_leaf()) {
      ++counts->leaves;
      for (uint32_t slot = 0; slot < node.count(); ++slot) {
        counts->records += !node.is_ghost(slot);
        if (node.flags(slot) & kOverflow) {
          LATCHKEY_RETURN_IF_ERROR(visit_overflow(node.Value(slot)));
        }
      }
      return absl::OkStatus();
    }
    ++counts->inner;
    child_level = node.level() - 1;
    for (uint32_t slot = 0; slot <= node.count(); ++slot) {
      OwnedFences part = fences;
      if (slot > 0) {
        part.lower.clear();
        node.AppendKey(slot - 1, &part.lower);
        part.has_lower = true;
      }
      if (slot < node.count()) {
        part.upper.clear();
        node.AppendKey(slot, &part.upper);
        part.has_upper = true;
      }
      if (Raw(node.Child(slot)) >= pool_.store().page_id_limit()) {
        return MakeStatus(absl::StatusCode::kDataLoss,
                          "page {} names child {}, which does not exist", Raw(page),
                          Raw(node.Child(slot)));
      }
      children.emplace_back(node.Child(slot), std::move(part));
    }
  }
  for (const auto& [child, part] : children) {
    LATCHKEY_RETURN_IF_ERROR(
        CheckSubtree(child, child_level, false, part, visit, visit_overflow, counts));
  }
  return absl::OkStatus();
}

absl::Status BTree::Check(absl::FunctionRef<absl::Status(PageId)> visit,
                          absl::FunctionRef<absl::Status(std::string_view)> visit_overflow,
                          TreeCounts* counts) const {
  TreeCounts ignored;
  return CheckSubtree(root_, 0, /*is_root=*/true, OwnedFences{}, visit, visit_overflow,
                      counts != nullptr ? counts : &ignored);
}

}  // namespace latchkey
