// One change of one leaf outside the writes of transactions: for the catalogue, rollback and tests.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

#include <cstddef>
#include <string_view>

#include "bufferpool/page_guard.h"
#include "engine/btree/node.h"
#include "engine/btree/tree.h"

namespace latchkey {

/// Splits until the record fits, then calls `change(leaf, position)` with the leaf latched and room
/// for `value_size` bytes. `must_not_fail`: as for TreeLog::Reserve.
absl::Status ChangeLeaf(
    BTree& tree, std::string_view key, size_t value_size, bool must_not_fail,
    absl::FunctionRef<absl::Status(ExclusiveGuard& leaf, SlotPosition position)> change);
/// As ChangeLeaf, with an editor of the leaf: for trees without a log.
absl::Status ChangeRecord(
    BTree& tree, std::string_view key, size_t value_size,
    absl::FunctionRef<absl::Status(NodeEditor& leaf, SlotPosition position)> change);

}  // namespace latchkey
