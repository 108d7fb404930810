// Pages that were in a ghost list when a frame was sought for them, and that are not loaded yet.
// Their ghosts are gone already, as the papers of ARC and S3-FIFO have it, so that the page evicted
// for them finds room. If the eviction is given up, the next one for the page finds it here.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "storage/base/ids.h"

namespace latchkey {

/// The latest pages only, as many as threads that usually wait for a load of one region at a time.
/// A page that is pushed out counts as a page that is in no ghost list.
class ReturningPages {
 public:
  static constexpr size_t kMost = 16;

  ReturningPages() { pages_.fill(kInvalidPageId); }

  /// Adds `page` with a `mark` of the algorithm, in place of the page that was added longest ago.
  void Add(PageId page, uint8_t mark) {
    pages_[next_] = page;
    marks_[next_] = mark;
    next_ = (next_ + 1) % kMost;
  }
  /// The mark of `page`, if it is here.
  std::optional<uint8_t> Find(PageId page) const {
    const size_t place = PlaceOf(page);
    return place < kMost ? std::optional(marks_[place]) : std::nullopt;
  }
  /// Removes `page`; false if it is not here.
  bool Take(PageId page) {
    const size_t place = PlaceOf(page);
    if (place < kMost) pages_[place] = kInvalidPageId;
    return place < kMost;
  }

 private:
  size_t PlaceOf(PageId page) const {
    if (page == kInvalidPageId) return kMost;
    size_t place = 0;
    while (place < kMost && pages_[place] != page) ++place;
    return place;
  }

  std::array<PageId, kMost> pages_;
  std::array<uint8_t, kMost> marks_{};
  size_t next_ = 0;
};

}  // namespace latchkey
