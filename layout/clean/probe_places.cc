#include "layout/clean/probe_places.h"

#include <optional>

#include "layout/space/space_manager.h"

namespace latchkey {

BorrowedHoles::BorrowedHoles(PageDirectory& directory, uint32_t most, Rng& rng)
    : directory_(directory) {
  constexpr uint32_t kTriesEach = 8;  // a segment may be full, open or free
  taken_.reserve(most);
  const StoreSegmentTable& table = directory.segments();
  const uint32_t slots = directory.core().geometry.slots_per_segment;
  for (uint32_t i = 0; i < kTriesEach * most && taken_.size() < most; ++i) {
    const SegmentId segment{static_cast<uint32_t>(rng.Below(table.total()))};
    const auto from = static_cast<uint32_t>(rng.Below(slots));
    if (const auto hole = directory.segments().BorrowHole(segment, from)) taken_.push_back(*hole);
  }
}

BorrowedHoles::~BorrowedHoles() {
  for (const SlotId hole : taken_) directory_.ReleaseUnnamed(hole);
}

std::vector<uint64_t> BorrowedHoles::Offsets() const {
  std::vector<uint64_t> offsets;
  offsets.reserve(taken_.size());
  for (const SlotId hole : taken_) offsets.push_back(directory_.core().geometry.OffsetOf(hole));
  return offsets;
}

BorrowedSegments::BorrowedSegments(PageDirectory& directory, uint32_t most)
    : directory_(directory) {
  taken_.reserve(most);
  while (taken_.size() < most) {
    const uint32_t keep = taken_.empty() ? 1 : SpaceManager::kLeastHardWatermark;
    const std::optional<SegmentId> segment = directory_.segments().TakeMeta(keep);
    if (!segment) break;
    taken_.push_back(*segment);
  }
}

BorrowedSegments::~BorrowedSegments() {
  for (const SegmentId segment : taken_) directory_.ReleaseMeta(segment);
}

}  // namespace latchkey
