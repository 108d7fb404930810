// Places that a probe may write to. A slot without an owner is needed by no page and no recovery, and no
// other actor gets it while it is lent.
#pragma once

#include <cstdint>
#include <vector>

#include "layout/map/page_directory.h"
#include "storage/base/rng.h"

namespace latchkey {

/// Up to `most` holes anywhere in the file, each of a page, until it is destroyed.
class BorrowedHoles {
 public:
  BorrowedHoles(PageDirectory& directory, uint32_t most, Rng& rng);
  ~BorrowedHoles();
  BorrowedHoles(const BorrowedHoles&) = delete;
  BorrowedHoles& operator=(const BorrowedHoles&) = delete;
  /// Where the holes begin on the device.
  std::vector<uint64_t> Offsets() const;

 private:
  PageDirectory& directory_;
  std::vector<SlotId> taken_;
};

/// Up to `most` free segments, held as if for a checkpoint until it is destroyed. They may be of those
/// that only the cleaner takes, because under full load no others are free. Two free segments are left,
/// or one if there would be none to lend otherwise.
class BorrowedSegments {
 public:
  BorrowedSegments(PageDirectory& directory, uint32_t most);
  ~BorrowedSegments();
  BorrowedSegments(const BorrowedSegments&) = delete;
  BorrowedSegments& operator=(const BorrowedSegments&) = delete;
  const std::vector<SegmentId>& ids() const { return taken_; }

 private:
  PageDirectory& directory_;
  std::vector<SegmentId> taken_;
};

}  // namespace latchkey
