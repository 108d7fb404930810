// Repair after a crash, from the pages in the doublewrite areas (doublewriter.h).
//
// An area outlives the life of the store that wrote it. It may hold writes of a page whose
// allocation the crash took back. Such a write must not count as a later one when the page id is
// used again, so the sequence of the id goes on behind it.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <map>

#include "layout/store_core.h"
#include "storage/device/aligned_buffer.h"

namespace latchkey {

/// The pages of both areas. Used only while a store is opened after a crash. Not thread-safe.
class DoublewriteRepair {
 public:
  /// Reads `area_pages` pages of each area; 0: there is no area. Tells `core` the log reach noted
  /// in them. REQUIRES: `core` outlives this, and its map is restored.
  static absl::StatusOr<DoublewriteRepair> Read(StoreCore& core, uint32_t area_pages);

  /// For each page in the areas that has no slot: the next write of its id comes after the copy in
  /// the area. REQUIRES: called before PageMap::FinishRestore.
  absl::Status SkipLostWrites();
  /// Writes a page to its slot if it is a later write than the one in the slot, or if the slot is
  /// torn. Syncs, so that the areas may be reused. Reports each repair to the log sink.
  absl::Status RepairSlots();

 private:
  DoublewriteRepair(StoreCore& core, size_t bytes) : core_(core), areas_(bytes) {}
  bool ProvesItself(PageId id, const std::byte* page) const;
  bool IsLogReach(const std::byte* page) const;
  void Consider(const std::byte* page);
  absl::Status RepairSlot(PageId id, const std::byte* page, AlignedBuffer& slot_page, bool* wrote);

  StoreCore& core_;
  AlignedBuffer areas_;
  std::map<PageId, const std::byte*> newest_;  // no older than the map's write
};

}  // namespace latchkey
