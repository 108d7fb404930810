// DoublewriteRepair: repairs torn pages after a crash, from the copies in the doublewrite areas
// (doublewriter.h).
//
// An area keeps its content after a crash. It may hold writes of a page whose allocation the crash
// has undone. If the page id is used again, recovery after a later crash must not take such an old
// copy for a newer write. So the next write of that id gets a sequence behind that of the copy.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <map>

#include "layout/map/page_directory.h"
#include "storage/device/aligned_buffer.h"

namespace latchkey {

/// The pages of both areas. Used only while a store is opened after a crash. Not thread-safe.
class DoublewriteRepair {
 public:
  /// Reads `area_pages` pages of each area; 0: there is no area. Raises the log reach of `core` to
  /// the values noted in the areas. REQUIRES: `core` outlives this, and its map is restored.
  static absl::StatusOr<DoublewriteRepair> Read(PageDirectory& directory, uint32_t area_pages);

  /// For each page in the areas that has no slot: sets the sequence of its id, so that the next
  /// write of the id counts as later than the copy in the area. REQUIRES: called before
  /// PageMap::FinishRestore.
  absl::Status SkipLostWrites();
  /// Writes each page in the areas to its slot if the slot is torn or holds an earlier write. Then
  /// syncs, so that the areas may be reused. Reports each repair to the log sink.
  absl::Status RepairSlots();

 private:
  DoublewriteRepair(PageDirectory& directory, size_t bytes)
      : directory_(directory), core_(directory.core()), areas_(bytes) {}
  bool ProvesItself(PageId id, const std::byte* page) const;
  bool IsLogReach(const std::byte* page) const;
  void Consider(const std::byte* page);
  absl::Status Erase(const std::byte* page, AlignedBuffer& zeros);
  absl::Status RepairSlot(PageId id, const std::byte* page, AlignedBuffer& slot_page, bool* wrote);

  PageDirectory& directory_;
  StoreCore& core_;
  AlignedBuffer areas_;
  std::map<PageId, const std::byte*> newest_;  // the newest copies, none older than the map's write
};

}  // namespace latchkey
