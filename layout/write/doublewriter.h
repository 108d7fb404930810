// The doublewriter: protects in-place writes. A crash could tear a write over a page's present
// slot, so the page first goes to an area in the header of the file (RELIABILITY.md 4.3). Pages
// gather in a batch. An actor of the doublewriter writes batches, one after the other:
//
//   filling --full, or wanted--> closed --> in its area --sync--> durable --> in its slots --> filling
//                                                 \_ while the batch before goes to its slots _/
//
// A batch goes out when it is full. A batch that is not full goes out only if it is wanted: by a
// flush, by a thread that needs one of its pages written, or by a page cleaner that has waited for
// as long as a batch takes. Other threads wait only if every batch is full: for room.
//
// Two areas take turns. The sync of a batch comes after the previous batch was written to its
// slots, and makes those writes durable too. So an area is reused only when its pages are durable
// in their slots, at the cost of one sync per batch.
//
// Each batch ends with a note of the log reach, written in the same request. So the note is durable
// before any page of the batch is in its slot. After a crash the restored map does not know that
// these pages are newer; the note tells the open how far the log must reach to cover them.
//
// A page in the area does not record its slot: it carries its id and write sequence, and the map
// names the slot of that id.
#pragma once

#include <absl/status/status.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "layout/map/page_directory.h"
#include "layout/write/store_buffers.h"
#include "storage/device/io_window.h"

namespace latchkey {

/// The place of one writer in the line for room. Used by one thread at a time.
struct DoublewriteTurn {
  uint64_t pages = 1;          ///< that the writer has at hand; they get places in line together
  uint64_t next = 0, end = 0;  ///< numbers of the places that its next pages have in line
  bool passes_line = false;    ///< the next page waits for room only, and needs no place in line
};

/// Thread-safe. The first write allocates memory and I/O queue, and starts the actor.
class Doublewriter final : public WriteHelper {
 public:
  /// `batch_pages` below DoublewriteCapacity(page size).
  Doublewriter(PageDirectory& directory, uint32_t batch_pages);
  /// Ends the actor. Batches that were not written out stay unwritten.
  ~Doublewriter() override;

  /// Accepts a write of `page` over its slot. Waits in line for room in a batch, but never for the
  /// write. False, with nothing done, when the page's word is not `current` any more or the store is
  /// poisoned. `unwritten` counts the page until it is written. After the last page of a submission
  /// the caller calls GiveBack.
  bool Write(PageId page, const std::byte* data, LocationWord current,
             std::atomic<size_t>* unwritten, DoublewriteTurn& turn);
  /// Accepts `page` if a batch holds its newest copy and the batch being filled has room. Batches
  /// are written in their order, so the newer copy reaches the slot after the older one.
  bool Overtake(PageId page, const std::byte* data, std::atomic<size_t>* unwritten);
  /// Waits until a batch has room, and passes over the line with the next page. For page cleaners:
  /// each page that they write in time is one that no thread in line must write. Another thread may
  /// take that room before the caller does; then the caller's write waits for the next batch only.
  void AwaitRoom(DoublewriteTurn& turn);
  /// Ends the places in line that the caller has not used. Other threads may wait for them.
  void GiveBack(DoublewriteTurn& turn);
  /// Returns once every write accepted before the call is on the device.
  void WriteOut();
  /// Waits until a batch is done. If that takes longer than the last batch took, the batch being
  /// filled goes out as it is. False if no page is in a batch.
  bool AwaitBatch();
  /// Waits until a batch is done. If none is on its way, the batch being filled goes out as it is.
  void Help() override;
  uint32_t batch_pages() const { return batch_pages_; }
  /// Pages of the area that a full batch takes, its note included.
  uint32_t area_pages() const { return batch_pages_ + 1; }

 private:
  static constexpr uint64_t kBatches = StoreBuffers::kDoublewriteBatches;
  struct Batch {
    FrameGroup* group = nullptr;
    uint32_t filled = 0;  // changes under mutex_, and only while the batch is being filled
    Nanos taken_at = 0;   // used by the actor alone
  };

  // ---- Any thread
  Batch* OpenBatch() LATCHKEY_REQUIRES(mutex_);
  // Pages that the batches take before another batch is done.
  uint64_t Room() LATCHKEY_REQUIRES(mutex_);
  // Gives the next page of the turn's owner a place in line, unless it has one. Returns whether
  // there is room for the page now.
  bool HasRoomFor(DoublewriteTurn& turn) LATCHKEY_REQUIRES(mutex_);
  void EndPlace(DoublewriteTurn& turn) LATCHKEY_REQUIRES(mutex_);
  void WakeWaiters();
  bool Prepare() LATCHKEY_REQUIRES(mutex_);
  bool Put(Batch& batch, SlotId target, PageId page, const std::byte* data, LocationWord current,
           std::atomic<size_t>* unwritten) LATCHKEY_REQUIRES(mutex_);
  // Wants the batch being filled. Returns the number below which all batches hold what was accepted.
  uint64_t WantAll() LATCHKEY_REQUIRES(mutex_);
  void SignalActor();
  void AwaitDone(uint64_t number);

  // ---- The actor
  static constexpr FrameIndex kAreaWrite{UINT32_MAX};  // tag of the write to an area
  void Run();
  Batch* Take();
  std::span<std::byte> FillArea(const Batch& batch);
  uint64_t NextAreaOffset();
  absl::Status WriteToArea(const Batch& batch);
  void NoteLogReach(const Batch& batch);
  absl::Status Sync();
  absl::Status WriteToSlots(Batch& batch, Batch*& following);
  Batch* TakeIntoArea(TaggedRequest<FrameIndex>& request);
  bool NextSlotWrite(Batch& batch, uint32_t& next, TaggedRequest<FrameIndex>& request);
  absl::Status EndWrite(const IoRequest& request, FrameIndex index);
  void End(Batch& batch);

  PageDirectory& directory_;
  StoreCore& core_;
  const uint32_t batch_pages_;

  // Used by the actor alone, once it runs.
  std::unique_ptr<IoQueue> queue_;
  std::unique_ptr<IoWindow<FrameIndex>> window_;
  int next_area_ = 0;
  uint64_t taken_ = 0;  // batches below are on their way, or done

  // Batches are numbered in the order in which they are filled and written; batch n is in
  // batches_[n % kBatches]. done_ <= taken_ <= filling_ <= done_ + kBatches.
  Mutex mutex_;  // held for the copy of a page, never across I/O
  std::array<Batch, kBatches> batches_;
  uint64_t filling_ LATCHKEY_GUARDED_BY(mutex_) = 0;  // this one takes pages, if it has room
  uint64_t wanted_ LATCHKEY_GUARDED_BY(mutex_) = 0;   // batches below go out, full or not
  // The line for room: pages, numbered as their writers came. A page gets room once its number is
  // below served_ plus the room, so only those after it wait longer.
  uint64_t line_ LATCHKEY_GUARDED_BY(mutex_) = 0;    // places ever taken
  uint64_t served_ LATCHKEY_GUARDED_BY(mutex_) = 0;  // of these, ended
  std::atomic<uint64_t> done_{0};                    // batches below are done; changes under mutex_
  std::atomic<Nanos> batch_time_{0};                 // of the last batch, from taken to done

  std::atomic<uint32_t> work_{0};      // the actor sleeps on it
  std::atomic<uint32_t> progress_{0};  // other threads sleep on it: changes when a batch is done
  std::atomic<bool> stop_{false};
  std::unique_ptr<Actor> actor_;
};

}  // namespace latchkey
