// The index of closed segments: by group, by number of live pages, and among equals by age. So the
// best victim and the fullest segment with a hole are found without a look at every segment.
//
// Each group has one treap per number of live pages, ordered by birth. All treaps share one array of
// nodes, one node per segment, so filing a segment takes no memory.
#pragma once

#include <absl/functional/function_ref.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "layout/geometry.h"
#include "layout/map/lazy_array.h"

namespace latchkey {

/// Not thread-safe. A segment is in at most one place of the index.
class SegmentIndex {
 public:
  /// `groups` independent indexes of segments with 1 to `slots` live pages.
  SegmentIndex(uint32_t groups, uint32_t slots);

  /// Makes room for segments below `total`. False when memory ran out.
  bool EnsureSize(uint32_t total) { return nodes_.EnsureSize(total); }
  /// Files the segment, wherever it was before. REQUIRES: live in [1, slots].
  void File(SegmentId segment, uint32_t group, uint32_t live, uint64_t birth);
  /// Takes the segment out, if it is in.
  void Remove(SegmentId segment);

  /// Visits, for each number of live pages below `slots` that a segment of the group has, the oldest
  /// such segment.
  void ForEachOldest(uint32_t group,
                     absl::FunctionRef<void(uint32_t live, uint64_t birth, SegmentId)> visit) const;
  /// A segment of the group with the most live pages below `slots`.
  std::optional<SegmentId> Fullest(uint32_t group) const;
  /// Segments filed in the group with a hole.
  uint64_t with_holes(uint32_t group) const { return with_holes_[group]; }

  size_t memory_bytes() const {
    return nodes_.memory_bytes() + roots_.capacity() * sizeof(uint32_t);
  }
  /// Nodes visited so far: what the index costs.
  uint64_t steps() const { return steps_; }

 private:
  // Segment numbers plus one; 0 is none.
  struct Node {
    uint64_t birth;
    uint32_t left, right;
    uint32_t place;  // 1 + index into roots_; 0: not filed
  };

  Node& At(uint32_t link) const { return nodes_[link - 1]; }
  bool IsBefore(uint32_t a, uint32_t b) const;
  static uint64_t Priority(uint32_t link);
  uint32_t Merge(uint32_t left, uint32_t right);
  void Split(uint32_t root, uint32_t at, uint32_t* before, uint32_t* after);
  uint32_t Without(uint32_t root, uint32_t link);
  void NoteRoot(uint32_t place, uint32_t root);
  uint32_t Oldest(uint32_t root) const;

  const uint32_t slots_;
  const uint32_t words_;                // of the bitmap of one group
  std::vector<uint32_t> roots_;         // by group and live pages
  std::vector<uint64_t> has_segments_;  // by group: bit per number of live pages
  std::vector<uint64_t> with_holes_;
  LazyArray<Node, (uint64_t{1} << 32)> nodes_;
  mutable uint64_t steps_ = 0;
};

}  // namespace latchkey
