// What a serializable transaction has read, so that its commit can be refused when somebody else
// has changed any of it since: keys, and the ranges that its cursors have walked.
//
// A key is kept as the hash of (tree, key), 8 bytes; a range as its two ends. The set may answer
// "read" for what was not read (equal hashes, coarsening), never the reverse: a wrong "read" costs
// an abort, a wrong "not read" would cost the promise.
//
// Source: Kung and Robinson, "On Optimistic Methods for Concurrency Control" (1981), backward
// validation; ranges instead of predicates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/ids.h"

namespace latchkey {

/// Not thread-safe: belongs to its transaction's actor.
class ReadSet {
 public:
  /// A range that may still grow; stays good, doing nothing, when its set is coarsened or cleared.
  struct RangeId {
    uint32_t index = 0;
    uint64_t epoch = 0;  ///< 0: of no range
  };

  /// Notes that the key of this VersionTable::HashOf was read, or found missing.
  void AddKey(TreeId tree, uint64_t hash) {
    if (!whole_trees_.empty() && CoversWholeTree(tree)) return;
    if (trees_.empty() || trees_.back() != tree) NoteTree(tree);
    if (!keys_.empty() && keys_.back() == hash) return;
    if (keys_.size() == keys_.capacity()) MakeRoomForKey();
    keys_.push_back(hash);
  }

  /// Notes that everything in [low, high) was read; no `high`: everything from `low` on. Nothing
  /// when the range is empty.
  RangeId AddRange(TreeId tree, std::string_view low, std::optional<std::string_view> high);
  /// Lowers the low end of a range to `low`, if it is above.
  void ExtendDown(RangeId id, std::string_view low);
  /// Raises the high end of a range to `high` (exclusive; none: without end), if it is below.
  void ExtendUp(RangeId id, std::optional<std::string_view> high);

  /// Memory in use, bytes, ends of ranges included.
  size_t bytes() const { return keys_.capacity() * sizeof(uint64_t) + range_bytes_; }
  bool empty() const { return keys_.empty() && ranges_.empty() && whole_trees_.empty(); }
  /// Forgets keys and ranges, and counts every tree that they were in as read completely.
  void Coarsen();
  void Clear();

  /// Sorts; to be called between the last reading and Covers.
  void Prepare();
  /// Whether the key was read, or counts as read. REQUIRES: Prepare.
  bool Covers(TreeId tree, std::string_view key, uint64_t hash) const;

 private:
  struct Range {
    TreeId tree{0};
    bool has_high = false;
    std::string low, high;
  };
  static constexpr size_t kMaxKeptKeys = 4096;

  static size_t BytesOf(const Range& range) {
    return sizeof(Range) + range.low.size() + range.high.size();
  }
  bool CoversWholeTree(TreeId tree) const;
  void NoteTree(TreeId tree);
  void MakeRoomForKey();
  Range* Find(RangeId id);

  std::vector<uint64_t> keys_;
  std::vector<Range> ranges_;
  std::vector<TreeId> trees_;        // of keys_ and ranges_; the one used last is at the back
  std::vector<TreeId> whole_trees_;  // sorted
  size_t range_bytes_ = 0;
  uint64_t epoch_ = 1;  // of the ranges' indexes
};

/// The smallest key above `key`: as an exclusive end it includes `key`.
inline std::string KeyAfter(std::string_view key) { return std::string(key) + '\0'; }

}  // namespace latchkey
