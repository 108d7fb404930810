#include "layout/map/segment_index.h"

#include <bit>
#include <utility>

#include "storage/base/hash.h"

namespace latchkey {

SegmentIndex::SegmentIndex(uint32_t groups, uint32_t slots)
    : slots_(slots),
      words_(slots / 64 + 1),
      roots_(size_t{groups} * (slots + 1), 0),
      has_segments_(size_t{groups} * words_, 0),
      with_holes_(groups, 0) {}

bool SegmentIndex::IsBefore(uint32_t a, uint32_t b) const {
  return std::pair(At(a).birth, a) < std::pair(At(b).birth, b);
}

uint64_t SegmentIndex::Priority(uint32_t link) { return MixHash(link); }

uint32_t SegmentIndex::Merge(uint32_t left, uint32_t right) {
  ++steps_;
  if (left == 0 || right == 0) return left == 0 ? right : left;
  if (Priority(left) > Priority(right)) {
    At(left).right = Merge(At(left).right, right);
    return left;
  }
  At(right).left = Merge(left, At(right).left);
  return right;
}

void SegmentIndex::Split(uint32_t root, uint32_t at, uint32_t* before, uint32_t* after) {
  ++steps_;
  if (root == 0) {
    *before = *after = 0;
  } else if (IsBefore(root, at)) {
    Split(At(root).right, at, &At(root).right, after);
    *before = root;
  } else {
    Split(At(root).left, at, before, &At(root).left);
    *after = root;
  }
}

uint32_t SegmentIndex::Without(uint32_t root, uint32_t link) {
  ++steps_;
  if (root == link) return Merge(At(root).left, At(root).right);
  if (IsBefore(link, root)) {
    At(root).left = Without(At(root).left, link);
  } else {
    At(root).right = Without(At(root).right, link);
  }
  return root;
}

void SegmentIndex::NoteRoot(uint32_t place, uint32_t root) {
  const uint32_t group = place / (slots_ + 1), live = place % (slots_ + 1);
  roots_[place] = root;
  uint64_t& word = has_segments_[group * words_ + live / 64];
  const uint64_t bit = uint64_t{1} << live % 64;
  word = root == 0 ? word & ~bit : word | bit;
}

void SegmentIndex::File(SegmentId segment, uint32_t group, uint32_t live, uint64_t birth) {
  const uint32_t link = Raw(segment) + 1, place = group * (slots_ + 1) + live;
  if (At(link).place == place + 1 && At(link).birth == birth) return;
  Remove(segment);
  At(link) = {.birth = birth, .left = 0, .right = 0, .place = place + 1};
  uint32_t before = 0, after = 0;
  Split(roots_[place], link, &before, &after);
  NoteRoot(place, Merge(Merge(before, link), after));
  with_holes_[group] += live < slots_;
}

void SegmentIndex::Remove(SegmentId segment) {
  const uint32_t link = Raw(segment) + 1;
  if (At(link).place == 0) return;
  const uint32_t place = std::exchange(At(link).place, 0) - 1;
  NoteRoot(place, Without(roots_[place], link));
  with_holes_[place / (slots_ + 1)] -= place % (slots_ + 1) < slots_;
}

uint32_t SegmentIndex::Oldest(uint32_t root) const {
  while (At(root).left != 0) {
    ++steps_;
    root = At(root).left;
  }
  return root;
}

void SegmentIndex::ForEachOldest(
    uint32_t group, absl::FunctionRef<void(uint32_t live, uint64_t birth, SegmentId)> visit) const {
  for (uint32_t w = 0; w < words_; ++w) {
    for (uint64_t bits = has_segments_[group * words_ + w]; bits != 0; bits &= bits - 1) {
      ++steps_;
      const uint32_t live = w * 64 + static_cast<uint32_t>(std::countr_zero(bits));
      if (live >= slots_) return;
      const uint32_t oldest = Oldest(roots_[group * (slots_ + 1) + live]);
      visit(live, At(oldest).birth, SegmentId{oldest - 1});
    }
  }
}

std::optional<SegmentId> SegmentIndex::Fullest(uint32_t group) const {
  for (uint32_t w = words_; w-- > 0;) {
    uint64_t bits = has_segments_[group * words_ + w];
    if (w == slots_ / 64) bits &= (uint64_t{1} << slots_ % 64) - 1;  // without the full ones
    if (bits == 0) continue;
    const uint32_t live = w * 64 + 63 - static_cast<uint32_t>(std::countl_zero(bits));
    return SegmentId{roots_[group * (slots_ + 1) + live] - 1};
  }
  return std::nullopt;
}

}  // namespace latchkey
