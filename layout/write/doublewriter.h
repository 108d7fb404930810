// The doublewriter: protects in-place writes. A crash could tear a write over a page's present
// slot, so the page first goes to an area in the header of the file (RELIABILITY.md 4.3). Pages
// gather in a batch. When the batch is full, or a caller flushes, a caller without page latches
// writes the batch to the area with one request, syncs, and then writes its pages to their slots.
//
// Two areas take turns, and so do two batches in memory: one is filled while the other is written.
// The sync of a batch comes after the previous batch was written to its slots, and makes those
// writes durable too. So an area is reused only when its pages are durable in their slots, at the
// cost of one sync per batch.
//
// Each batch ends with a note of the log reach, written in the same request. So the note is durable
// before any page of the batch is in its slot. After a crash the restored map does not know that
// these pages are newer; the note tells the open how far the log must reach to cover them.
//
// A page in the area does not record its slot: it carries its id and write sequence, and the map
// names the slot of that id.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "layout/map/page_directory.h"
#include "storage/device/io_window.h"

namespace latchkey {

/// Thread-safe. The first write allocates memory and I/O queue.
class Doublewriter final : public WriteHelper {
 public:
  /// `batch_pages` below DoublewriteCapacity(page size).
  Doublewriter(PageDirectory& directory, uint32_t batch_pages);

  /// Accepts a write of `page` over its slot. False, with nothing done, when the page's word is not
  /// `current` any more or the store is poisoned.
  /// `unwritten` counts the page until it is written.
  /// Does not write the batch if the page fills it: see WriteFull.
  bool Write(PageId page, const std::byte* data, LocationWord current,
             std::atomic<size_t>* unwritten);
  /// Accepts `page` if the batch being filled holds a copy of it, and replaces that copy.
  bool Overtake(PageId page, const std::byte* data, std::atomic<size_t>* unwritten);
  /// Writes the batch being filled if it is full. The thread that filled it calls this once it
  /// holds no page latch. If it does not, the next Write that finds no room does.
  void WriteFull() {
    if (has_full_batch_.load(std::memory_order_acquire)) WriteIfStillFull();
  }
  /// Returns once every write accepted before the call is on the device.
  void WriteOut();
  /// Waits for the batch that is being written. Without one, writes the batch being filled.
  void Help() override;
  uint32_t batch_pages() const { return batch_pages_; }
  /// Pages of the area that a full batch takes, its note included.
  uint32_t area_pages() const { return batch_pages_ + 1; }

 private:
  struct Batch {
    FrameGroup* group = nullptr;
    uint32_t filled = 0;
    bool closed = false;  // being written; stays true after a failure: the batch serves its pages
  };

  Batch* OpenBatch() LATCHKEY_REQUIRES(mutex_);
  void WriteIfStillFull();
  // Makes the batches and the I/O queue. Clang does not check it: before there is a batch nothing
  // is written, so mutex_ guards members that io_mutex_ guards afterwards.
  bool Prepare() LATCHKEY_NO_THREAD_SAFETY_ANALYSIS;
  bool Put(Batch& batch, SlotId target, PageId page, const std::byte* data, LocationWord current,
           std::atomic<size_t>* unwritten) LATCHKEY_REQUIRES(mutex_);
  void WriteOpenBatch() LATCHKEY_REQUIRES(io_mutex_);
  Batch* CloseBatch() LATCHKEY_REQUIRES(io_mutex_);
  absl::Status Sync() LATCHKEY_REQUIRES(io_mutex_);
  absl::Status WriteToArea(const Batch& batch) LATCHKEY_REQUIRES(io_mutex_);
  void NoteLogReach(const Batch& batch) LATCHKEY_REQUIRES(io_mutex_);
  absl::Status WriteToPlaces(Batch& batch) LATCHKEY_REQUIRES(io_mutex_);
  void Reopen(Batch& batch) LATCHKEY_REQUIRES(io_mutex_);

  PageDirectory& directory_;
  StoreCore& core_;
  const uint32_t batch_pages_;

  Mutex io_mutex_;  // held while a batch is written; taken before mutex_
  std::unique_ptr<IoQueue> queue_ LATCHKEY_GUARDED_BY(io_mutex_);
  std::unique_ptr<IoWindow<FrameIndex>> window_ LATCHKEY_GUARDED_BY(io_mutex_);
  int next_area_ LATCHKEY_GUARDED_BY(io_mutex_) = 0;

  Mutex mutex_;  // guards all below; held for the copy of a page, never across I/O
  std::array<Batch, 2> batches_;
  int open_ LATCHKEY_GUARDED_BY(mutex_) = 0;
  std::atomic<bool> has_full_batch_{false};  // changes under mutex_
};

}  // namespace latchkey
