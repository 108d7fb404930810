// The keys and the ranges that a serializable transaction has read. Its commit is refused when
// another commit has changed any of them since the snapshot.
//
// A key is kept as the hash of (tree, key), 8 bytes; a range as its two ends. The set may report as
// read what was not read (equal hashes, coarsening), but never the reverse: a wrong "read" costs an
// abort, a wrong "not read" would break serializability.
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
  /// A range that may still grow. If its set is coarsened or cleared, the id stays safe to use and
  /// has no effect.
  struct RangeId {
    uint32_t index = 0;
    uint64_t epoch = 0;  ///< 0 = of no range
  };

  /// Notes that the key with this VersionTable::HashOf was read or found missing.
  void AddKey(TreeId tree, uint64_t hash) {
    if (!whole_trees_.empty() && CoversWholeTree(tree)) return;
    if (trees_.empty() || trees_.back() != tree) NoteTree(tree);
    if (!keys_.empty() && keys_.back() == hash) return;
    if (keys_.size() == keys_.capacity()) MakeRoomForKey();
    keys_.push_back(hash);
  }

  /// Notes that everything in [low, high) was read; without `high`, everything from `low` on. An
  /// empty range notes nothing.
  RangeId AddRange(TreeId tree, std::string_view low, std::optional<std::string_view> high);
  /// Lowers the low end of a range to `low` if it is above `low`.
  void ExtendDown(RangeId id, std::string_view low);
  /// Raises the high end of a range to `high` (exclusive; nullopt = no end) if it is below `high`.
  void ExtendUp(RangeId id, std::optional<std::string_view> high);

  /// Memory in use, bytes, including the ends of ranges.
  size_t bytes() const { return keys_.capacity() * sizeof(uint64_t) + range_bytes_; }
  bool empty() const { return keys_.empty() && ranges_.empty() && whole_trees_.empty(); }
  /// Forgets keys and ranges. From then on every tree of theirs counts as read completely.
  void Coarsen();
  void Clear();

  /// Sorts. REQUIRES: called after the last read and before Covers.
  void Prepare();
  /// Whether the key was read or counts as read. REQUIRES: Prepare.
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
  std::vector<TreeId> trees_;        // trees of keys_ and ranges_; the last used one is at the back
  std::vector<TreeId> whole_trees_;  // sorted
  size_t range_bytes_ = 0;
  uint64_t epoch_ = 1;  // changes when the indexes of ranges change
};

/// The smallest key above `key`. As an exclusive end it includes `key`.
inline std::string KeyAfter(std::string_view key) { return std::string(key) + '\0'; }

}  // namespace latchkey
