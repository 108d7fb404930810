#include "engine/txn/read_set.h"

#include <algorithm>
#include <utility>

namespace latchkey {

bool ReadSet::CoversWholeTree(TreeId tree) const {
  return std::binary_search(whole_trees_.begin(), whole_trees_.end(), tree);
}

void ReadSet::NoteTree(TreeId tree) {
  const auto found = std::find(trees_.begin(), trees_.end(), tree);
  if (found == trees_.end()) {
    trees_.push_back(tree);
  } else {
    std::iter_swap(found, trees_.end() - 1);
  }
}

void ReadSet::MakeRoomForKey() {
  constexpr size_t kFirstKeys = 32;
  // A transaction that reads the same keys again and again needs no more room.
  std::sort(keys_.begin(), keys_.end());
  keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
  if (keys_.size() > keys_.capacity() / 2 || keys_.empty()) {
    keys_.reserve(std::max(kFirstKeys, 2 * keys_.capacity()));
  }
}

ReadSet::RangeId ReadSet::AddRange(TreeId tree, std::string_view low,
                                   std::optional<std::string_view> high) {
  if (CoversWholeTree(tree) || (high && *high <= low)) return {};
  NoteTree(tree);
  Range range{.tree = tree,
              .has_high = high.has_value(),
              .low = std::string(low),
              .high = std::string(high.value_or(std::string_view()))};
  range_bytes_ += BytesOf(range);
  ranges_.push_back(std::move(range));
  return {.index = static_cast<uint32_t>(ranges_.size() - 1), .epoch = epoch_};
}

ReadSet::Range* ReadSet::Find(RangeId id) {
  return id.epoch == epoch_ ? &ranges_[id.index] : nullptr;
}

void ReadSet::ExtendDown(RangeId id, std::string_view low) {
  Range* range = Find(id);
  if (range == nullptr || range->low <= low) return;
  range_bytes_ -= range->low.size();
  range->low.assign(low);
  range_bytes_ += range->low.size();
}

void ReadSet::ExtendUp(RangeId id, std::optional<std::string_view> high) {
  Range* range = Find(id);
  if (range == nullptr || !range->has_high || (high && *high <= range->high)) return;
  range_bytes_ -= range->high.size();
  range->has_high = high.has_value();
  range->high.assign(high.value_or(std::string_view()));
  range_bytes_ += range->high.size();
}

void ReadSet::Coarsen() {
  whole_trees_.insert(whole_trees_.end(), trees_.begin(), trees_.end());
  std::sort(whole_trees_.begin(), whole_trees_.end());
  whole_trees_.erase(std::unique(whole_trees_.begin(), whole_trees_.end()), whole_trees_.end());
  trees_.clear();
  std::vector<uint64_t>().swap(keys_);
  std::vector<Range>().swap(ranges_);
  range_bytes_ = 0;
  ++epoch_;
}

void ReadSet::Clear() {
  if (keys_.capacity() > kMaxKeptKeys) std::vector<uint64_t>().swap(keys_);
  keys_.clear();
  ranges_.clear();
  trees_.clear();
  whole_trees_.clear();
  range_bytes_ = 0;
  ++epoch_;
}

void ReadSet::Prepare() {
  std::sort(keys_.begin(), keys_.end());
  ++epoch_;  // the ranges move
  std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) {
    return a.tree != b.tree ? a.tree < b.tree : a.low < b.low;
  });
  // Overlapping ranges are merged, so that one search finds the range that may cover a key.
  size_t last = 0;
  for (size_t i = 1; i < ranges_.size(); ++i) {
    Range& into = ranges_[last];
    Range& next = ranges_[i];
    if (next.tree != into.tree || (into.has_high && into.high < next.low)) {
      if (++last != i) ranges_[last] = std::move(next);
    } else if (into.has_high && (!next.has_high || into.high < next.high)) {
      into.has_high = next.has_high;
      into.high = std::move(next.high);
    }
  }
  if (!ranges_.empty()) ranges_.resize(last + 1);
}

bool ReadSet::Covers(TreeId tree, std::string_view key, uint64_t hash) const {
  if (CoversWholeTree(tree) || std::binary_search(keys_.begin(), keys_.end(), hash)) return true;
  const auto after = std::upper_bound(
      ranges_.begin(), ranges_.end(), std::pair(tree, key),
      [](const std::pair<TreeId, std::string_view>& wanted, const Range& range) {
        return wanted.first != range.tree ? wanted.first < range.tree : wanted.second < range.low;
      });
  if (after == ranges_.begin()) return false;
  const Range& range = *std::prev(after);
  return range.tree == tree && (!range.has_high || key < range.high);
}

}  // namespace latchkey
