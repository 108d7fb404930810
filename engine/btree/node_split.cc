// Splitting a page.
#include <algorithm>
#include <vector>

#include "engine/btree/node.h"
#include "engine/btree/node_builder.h"
#include "engine/btree/node_key.h"
#include "storage/base/canary.h"
#include "storage/base/check.h"

namespace latchkey {

using namespace node_format;  // NOLINT(build/namespaces): the field names of this page

namespace {

/// The most bytes that a longer prefix can cost a page: it is stored whole, while a suffix no
/// longer than a head saves nothing.
constexpr uint32_t kPrefixSlack = kHeadSize;

/// A half in which a run of inserts continues needs room for more than the next few records: a
/// tenth.
constexpr uint32_t RunLimit(uint32_t page_size) { return Capacity(page_size) / 10 * 9; }

}  // namespace

/// The halves keep records [0, left_end) and [right_begin, count). In a leaf the two numbers are
/// equal; in an inner page the separator between them moves up. `incoming_left`: the left half
/// covers the incoming key.
struct NodeEditor::SplitPoint {
  uint32_t left_end;
  uint32_t right_begin;
  bool incoming_left;
};

/// Decides where to split. A middle at which both halves fit always exists: no record takes more
/// than MaxInlineValue promises, so the larger half of the best split exceeds half of page and
/// incoming record by less than two records.
class NodeEditor::SplitSearch {
 public:
  SplitSearch(const NodeEditor& page, const Incoming& incoming);

  SplitPoint Choose() const;

 private:
  SplitPoint Isolate() const;
  SplitPoint AtRun(bool upwards) const;
  SplitPoint Middle() const;
  SplitPoint AtIncoming(bool incoming_left) const;
  uint32_t LeftBytes(const SplitPoint& split) const;
  uint32_t RightBytes(const SplitPoint& split) const;
  bool IsPossible(const SplitPoint& split) const;

  const NodeEditor& page_;
  uint32_t count_;
  SlotPosition position_;       ///< of the incoming key
  bool shares_prefix_;          ///< the incoming key has the page's prefix
  uint32_t incoming_bytes_;     ///< 0 if it replaces a record: that record then counts as grown
  std::vector<uint32_t> sums_;  ///< sums_[i] = bytes of records [0, i), slots included
};

NodeEditor::SplitSearch::SplitSearch(const NodeEditor& page, const Incoming& incoming)
    : page_(page),
      count_(page.count()),
      position_(page.LowerBound(incoming.key)),
      shares_prefix_(page.SharedPrefix(incoming.key) == page.prefix_length()),
      incoming_bytes_(0),
      sums_(count_ + 1, 0) {
  LATCHKEY_CHECK(count_ > 0 && incoming.key.size() <= kMaxNodeKeySize);
  const uint32_t footprint = page.FootprintOf(
      static_cast<uint32_t>(incoming.key.size() -
                            std::min<size_t>(page.prefix_length(), incoming.key.size())),
      incoming.value_size);
  for (uint32_t i = 0; i < count_; ++i) {
    const bool replaced = position_.exact && i == position_.slot;
    sums_[i + 1] = sums_[i] + (replaced ? footprint : kSlotSize + page.RecordSize(page.SlotAt(i)));
  }
  if (!position_.exact) incoming_bytes_ = footprint;
}

NodeEditor::SplitPoint NodeEditor::SplitSearch::Choose() const {
  if (!shares_prefix_) return Isolate();
  if (!position_.exact) {
    const auto last = page_.Field<uint16_t>(kLastInsertSlot);
    const auto run = page_.Field<int8_t>(kInsertRun);
    const bool upwards = run > 0 && position_.slot == last + 1u;
    const bool downwards = run < 0 && position_.slot == last;
    if (upwards || downwards) {
      const SplitPoint split = AtRun(upwards);
      if (IsPossible(split)) return split;
    }
  }
  return Middle();
}

/// A separator without the page's prefix lies below or above all others. In a half of its own it
/// does not cost the others their prefix.
NodeEditor::SplitPoint NodeEditor::SplitSearch::Isolate() const {
  LATCHKEY_CHECK(!page_.is_leaf() && (position_.slot == 0 || position_.slot == count_));
  return AtIncoming(position_.slot == 0);
}

/// If inserts run through the page, the records ahead of the run get a page of their own, and the
/// run fills the page behind it. If there is no room behind it, the run starts the other half.
NodeEditor::SplitPoint NodeEditor::SplitSearch::AtRun(bool upwards) const {
  const SplitPoint behind = AtIncoming(upwards);
  const bool something_ahead = upwards ? position_.slot < count_ : position_.slot > 0;
  const uint32_t bytes_behind = upwards ? LeftBytes(behind) : RightBytes(behind);
  if (something_ahead && bytes_behind <= RunLimit(page_.page_size())) return behind;
  return AtIncoming(!upwards);
}

/// Splits right beside the incoming key, which goes to the given half.
NodeEditor::SplitPoint NodeEditor::SplitSearch::AtIncoming(bool incoming_left) const {
  const uint32_t slot = position_.slot;
  if (page_.is_leaf()) return {slot, slot, incoming_left};
  return incoming_left ? SplitPoint{slot, slot + 1, true} : SplitPoint{slot - 1, slot, false};
}

uint32_t NodeEditor::SplitSearch::LeftBytes(const SplitPoint& split) const {
  return page_.prefix_length() + sums_[split.left_end] +
         (split.incoming_left ? incoming_bytes_ : 0);
}

uint32_t NodeEditor::SplitSearch::RightBytes(const SplitPoint& split) const {
  return page_.prefix_length() + sums_[count_] - sums_[split.right_begin] +
         (split.incoming_left ? 0 : incoming_bytes_);
}

bool NodeEditor::SplitSearch::IsPossible(const SplitPoint& split) const {
  const bool incoming_added = !position_.exact;
  if (page_.is_leaf()) {
    const bool left_empty = split.left_end == 0 && !(incoming_added && split.incoming_left);
    const bool right_empty =
        split.right_begin == count_ && (!incoming_added || split.incoming_left);
    if (left_empty || right_empty) return false;
  } else if (split.left_end >= count_) {
    return false;
  }
  const uint32_t capacity = Capacity(page_.page_size());
  const uint32_t with_incoming = split.incoming_left ? LeftBytes(split) : RightBytes(split);
  const uint32_t without = split.incoming_left ? RightBytes(split) : LeftBytes(split);
  return with_incoming + kPrefixSlack <= capacity && without <= capacity;
}

NodeEditor::SplitPoint NodeEditor::SplitSearch::Middle() const {
  SplitPoint best{};
  uint32_t best_bytes = UINT32_MAX;
  const auto consider = [&](const SplitPoint& split) {
    const uint32_t bytes = std::max(LeftBytes(split), RightBytes(split));
    if (bytes >= best_bytes || !IsPossible(split)) return;
    best = split;
    best_bytes = bytes;
  };
  for (uint32_t i = 0; i <= count_; ++i) {
    if (!page_.is_leaf()) {
      if (i < count_) consider({i, i + 1, position_.slot <= i});
      continue;
    }
    consider({i, i, position_.slot < i});
    if (position_.slot == i && !position_.exact) consider({i, i, true});
  }
  LATCHKEY_CHECK(best_bytes != UINT32_MAX);
  return best;
}

/// The prefix for a page of the records [begin, end): in a leaf the one that its fences imply, in
/// an inner page the one that its separators share.
std::string LatchedNodeView::PrefixOfRange(uint32_t begin, uint32_t end,
                                           const Fences& fences) const {
  if (is_leaf() || begin == end) {
    return std::string(fences.lower.substr(0, FencePrefixLength(fences.lower, fences.upper)));
  }
  std::string prefix = KeyAt(begin);
  if (end - begin > 1) prefix.resize(CommonPrefixLength(prefix, KeyAt(end - 1)));
  return prefix;
}

NodeEditor::Builder NodeEditor::MakeHalf(uint32_t begin, uint32_t end, const Fences& fences) const {
  std::string prefix = PrefixOfRange(begin, end, fences);
  // In a page that is full to the last byte even the slack matters: the old prefix then stays.
  const auto length = static_cast<uint32_t>(prefix.size());
  if (begin < end && RangeBytesWithPrefix(begin, end, length) > Capacity(page_size_)) {
    prefix.resize(prefix_length());
  }
  Builder half(*this, prefix, FencePrefixLength(fences.lower, fences.upper));
  half.AddRecords(*this, begin, end);
  if (!is_leaf()) half.SetRightmost(Child(end));
  return half;
}

std::string NodeEditor::SeparatorFor(const SplitPoint& split, const Incoming& incoming) const {
  if (!is_leaf()) return KeyAt(split.left_end);
  const SlotPosition position = LowerBound(incoming.key);
  const bool beside = position.slot == split.left_end && !position.exact;
  const std::string left(beside && split.incoming_left ? std::string(incoming.key)
                                                       : KeyAt(split.left_end - 1));
  const std::string right(beside && !split.incoming_left ? std::string(incoming.key)
                                                         : KeyAt(split.right_begin));
  if (LATCHKEY_CANARY("separator-off-by-one")) return left;
  return std::string(ShortestSeparator(left, right));
}

void NodeEditor::SplitInto(NodeEditor right, const Fences& fences, const Incoming& incoming,
                           std::string* separator) {
  LATCHKEY_CHECK(right.page_size() == page_size_);
  const SplitPoint split = SplitSearch(*this, incoming).Choose();
  *separator = SeparatorFor(split, incoming);
  const Builder left_half = MakeHalf(0, split.left_end, {fences.lower, *separator});
  const Builder right_half = MakeHalf(split.right_begin, count(), {*separator, fences.upper});
  right_half.Install(&right);
  left_half.Install(this);
}

bool NodeEditor::SplitAgain(std::string_view separator, uint32_t fence_prefix) {
  // Redo does not know the lower fence. All that counts is what the two fences share. An older copy of
  // the page may have had fences that share more.
  const std::string_view shared = separator.substr(0, fence_prefix);
  if (!shared.starts_with(Prefix().substr(0, fence_prefix_length()))) return false;
  const SlotPosition position = LowerBound(separator);
  if (!is_leaf() && !position.exact) return false;
  for (const uint32_t slot : {0u, position.slot - 1}) {
    if (position.slot > 0 && !KeyAt(slot).starts_with(shared)) return false;
  }
  MakeHalf(0, position.slot, {shared, separator}).Install(this);
  return true;
}

}  // namespace latchkey
