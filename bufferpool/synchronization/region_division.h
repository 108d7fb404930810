// How regions divide frames and pages (thesis 5.5): shared by the pool's policy and the trace
// replay, so that both miss at the same requests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "storage/base/hash.h"
#include "storage/base/ids.h"

namespace latchkey {

/// The division of the frames 1 to `frames` into `regions` contiguous ranges whose sizes differ by
/// at most one, and of the pages by a hash. Immutable.
class RegionDivision {
 public:
  /// In a region of one or two frames the pages of one path from the root to a leaf evict each
  /// other. With many actors no descent then reaches its leaf.
  static constexpr size_t kFewestFrames = 4;

  struct Range {
    uint32_t first;
    uint32_t frames;
  };

  /// `fewest` is the fewest frames with which the replacement algorithm works as published. `seed`
  /// chooses the hash of the pages; the pool uses 0. REQUIRES: regions >= 1.
  RegionDivision(size_t frames, size_t regions, size_t fewest, uint64_t seed = 0)
      : frames_(frames),
        active_(std::clamp<size_t>(frames / std::max(kFewestFrames, fewest), 1, regions)),
        seed_(seed == 0 ? 0 : MixHash(seed)) {}

  /// Regions in use: fewer than asked for if they would have fewer frames than kFewestFrames or
  /// `fewest`.
  size_t active() const { return active_; }
  /// Empty for a region that is not in use.
  Range RangeOf(size_t region) const {
    if (region >= active_) return {.first = 1, .frames = 0};
    return {.first = FirstOf(region), .frames = FirstOf(region + 1) - FirstOf(region)};
  }
  size_t RegionOf(PageId page) const {
    if (active_ == 1) return 0;
    return ((MixHash(Raw(page) ^ seed_) >> 32) * active_) >> 32;
  }

 private:
  uint32_t FirstOf(size_t region) const {
    return static_cast<uint32_t>(1 + region * frames_ / active_);
  }

  size_t frames_;
  size_t active_;
  uint64_t seed_;
};

}  // namespace latchkey
