// An estimate of the records of a key range, from the inner pages of its tree and a few leaves.
//
// Inner pages are read level by level. On each level the children whose keys lie in the range, or
// cross one of its ends, are counted. Below a level with too many of them only some, spread evenly,
// are followed; they stand for the others. In the same way some leaves stand for all.
//
// Thread-safety: pure functions over a tree that other actors may change meanwhile.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>

#include "engine/btree/tree.h"
#include "engine/latchkey.h"

namespace latchkey {

struct RangeEstimate {
  uint64_t records = 0;
  uint64_t bytes = 0;  ///< of leaves and overflow chains, in whole pages, cut at the range's ends
};

/// Reads at most about 200 pages. DataLoss: a page names one that does not exist.
absl::StatusOr<RangeEstimate> EstimateRange(const BTree& tree, const KeyRange& range);

}  // namespace latchkey
