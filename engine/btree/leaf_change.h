// One change of one leaf outside the writes of transactions: for the catalogue, rollback and tests. And
// splits ahead of the puts that would need them.
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

/// Splits the leaf of `key` if it is in a frame and has no room for another record with a key of this
/// length and a value of `value_size` bytes. A full leaf that left its frame would be read again: the
/// next put of such a record would have to split it. Leaves in a run (NodeView::IsInRun) stay full: the
/// put that splits such a leaf leaves it full, and continues in a new one. A hint: without memory, a free page or room in the log it does nothing. For a record
/// above an eighth of a page it asks only for room to grow to a quarter of a page. REQUIRES: the leaf
/// has `key` with such a value; no latches held; the tree is not dropped meanwhile.
void SplitAhead(BTree& tree, std::string_view key, size_t value_size);

}  // namespace latchkey
