#include "engine/btree/leaf_change.h"

#include <algorithm>

#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {

absl::Status ChangeLeaf(
    BTree& tree, std::string_view key, size_t value_size, bool must_not_fail,
    absl::FunctionRef<absl::Status(ExclusiveGuard& leaf, SlotPosition position)> change) {
  PoolActor& actor = tree.pool().Here();
  for (;;) {
    ExclusiveGuard guard;
    LATCHKEY_RETURN_IF_ERROR(tree.FixLeaf(actor, key, &guard));
    const LatchedNodeView view(guard.data(), tree.page_size());
    const SlotPosition position = view.LowerBound(key);
    if (view.HasRoomFor(position, key, value_size)) return change(guard, position);
    guard.Unfix();
    LATCHKEY_RETURN_IF_ERROR(
        tree.Split(actor, {.key = key, .value_size = value_size}, must_not_fail));
  }
}

absl::Status ChangeRecord(
    BTree& tree, std::string_view key, size_t value_size,
    absl::FunctionRef<absl::Status(NodeEditor& leaf, SlotPosition position)> change) {
  return ChangeLeaf(tree, key, value_size, /*must_not_fail=*/false,
                    [&](ExclusiveGuard& guard, SlotPosition position) {
                      NodeEditor leaf(guard.Mutable(), tree.page_size(),
                                      tree.pool().Here().scratch.get());
                      return change(leaf, position);
                    });
}

void SplitAhead(BTree& tree, std::string_view key, size_t value_size) {
  PoolActor& actor = tree.pool().Here();
  const uint32_t page_size = tree.page_size();
  CatchOutOfMemory([&] {
    DescentHint at;
    if (!tree.PeekLeaf(actor, key, &at) || !tree.pool().IsResident(at.leaf) || !tree.HasLogRoom()) {
      return absl::OkStatus();
    }
    {
      ExclusiveGuard guard;
      LATCHKEY_RETURN_IF_ERROR(tree.FixLeaf(actor, key, &guard, &at));
      const LatchedNodeView leaf(guard.data(), page_size);
      if (leaf.IsInRun() || leaf.HasRoomFor(key, value_size)) return absl::OkStatus();
    }
    // The split is asked for a record that grows by another of its size.
    const size_t grown = std::min(value_size + MostRecordBytes(key.size(), value_size),
                                  MaxInlineValue(page_size, key.size()));
    return tree.Split(actor, {.key = key, .value_size = grown});
  }).IgnoreError();
}

}  // namespace latchkey
