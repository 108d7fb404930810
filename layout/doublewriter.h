// The doublewriter: writes over a page's present slot, which a crash could tear, go to an area in
// the header of the file first (RELIABILITY.md 4.3). Pages gather in a batch, whoever waits; a full
// batch, or one that somebody cannot wait for, is written to the area with one request, synced, and
// then written to the pages' places.
//
// There are two areas, taken in turns, and two batches in memory, one filled while the other is
// written. The sync of a batch comes after the writes to place of the batch before, and makes these
// durable as well: so the area of a batch is used again only when its pages are safe in place, at
// one sync a batch.
//
// Behind the pages of a batch, in the same request, goes a note of how far the log above reached:
// so it is durable before any of them is in its place, where only the log tells that they are newer
// than what the map knows.
//
// A page in the area needs no record of where it belongs: it names its id and its write, and the
// map tells where the newest durable copy of that id has to be.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "layout/store_core.h"

namespace latchkey {

/// Thread-safe. Memory and I/O queue are taken at the first write.
class Doublewriter final : public WriteHelper {
 public:
  /// `batch_pages` below DoublewriteCapacity(page size).
  Doublewriter(StoreCore& core, uint32_t batch_pages);

  /// Accepts `page`, whose word is `current`, to be written over its slot. False: nothing was done,
  /// because the word has changed or the store is poisoned.
  bool Write(PageId page, const std::byte* data, PageWord current);
  /// Accepts `page` if a copy of it waits in the batch that is being filled: takes its place.
  bool Overtake(PageId page, const std::byte* data);
  /// Returns once all that was accepted before is on the device.
  void Flush();
  /// Waits for the batch that is being written; when there is none, writes the one being filled.
  void Help() override;
  uint32_t batch_pages() const { return batch_pages_; }
  /// Pages of an area that a full batch takes.
  uint32_t area_pages() const { return batch_pages_ + 1; }

 private:
  struct Batch {
    FrameGroup* group = nullptr;
    uint32_t filled = 0;
    bool closed = false;  // being written; or for good, after a failure: pages are served from it
  };

  Batch* OpenBatch();  // REQUIRES: mutex_
  bool Prepare();      // REQUIRES: mutex_
  bool Put(Batch& batch, SlotId target, PageId page, const std::byte* data,
           PageWord current);                    // REQUIRES: mutex_
  void WriteOpenBatch();                         // REQUIRES: io_mutex_
  Batch* CloseBatch();                           // REQUIRES: io_mutex_
  absl::Status WriteToArea(const Batch& batch);  // REQUIRES: io_mutex_
  void NoteLogReach(const Batch& batch);         // REQUIRES: io_mutex_
  absl::Status WriteToPlaces(Batch& batch);      // REQUIRES: io_mutex_
  void Reopen(Batch& batch);                     // REQUIRES: io_mutex_

  StoreCore& core_;
  const uint32_t batch_pages_;

  Mutex io_mutex_;  // held while a batch is written; taken before mutex_
  std::unique_ptr<IoQueue> queue_;
  std::vector<IoRequest> requests_;
  std::vector<IoRequest*> start_, done_;  // with room for all
  int next_area_ = 0;

  Mutex mutex_;  // guards what follows; held for the copy of a page, never across I/O
  std::array<Batch, 2> batches_;
  int open_ = 0;
};

/// Used only while a store is opened after a crash, when the map is restored: reads `area_pages`
/// pages of each area, and where one is a later write than the map's, or than what is in its slot,
/// or the slot is torn, puts it there. Syncs, so that the areas may be used again. Every repair is
/// reported to the log sink. How far the log above reached when they were written goes to the core.
absl::Status RepairFromDoublewriteAreas(StoreCore& core, uint32_t area_pages);

}  // namespace latchkey
