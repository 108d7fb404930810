// The segment writer: appends pages to append logs (in this file: logs). A log fills one segment
// after the other through a segment buffer in memory. The buffer is written with one request when
// it is full, or in parts when a caller flushes or waits for its pages. A part that a caller waits for
// is so large that it costs little more than its share of the segment. Reads of pages in a buffer are
// served from the buffer.
//
//   buffer:  free --Open--> filling --last slot taken--> sealed --all copied--> written --> free
//
// An append holds the log's mutex only while it takes its slots; it copies and seals the page
// without it. Slots that no page takes, because none fits or the buffer is written early, are given
// up. The thread that completes the last copy of a full buffer starts the write. Every buffer has
// its own I/O queue, so no thread waits behind the request of another buffer.
//
// The thread that finds a log without a segment opens the next one, without the mutex, because it
// may wait for the segment cleaner. Meanwhile other threads form a line. The opener hands out slots
// to the line in the order in which the threads came; if there are too few, the next in line opens.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "layout/map/page_directory.h"
#include "layout/separate/write_cost_model.h"
#include "layout/space/space_manager.h"
#include "layout/write/append_logs.h"
#include "layout/write/slot_packer.h"
#include "layout/write/store_buffers.h"
#include "layout/write/stream_choice.h"
#include "storage/device/io_window.h"

namespace latchkey {

/// A page to be appended: as it is, or as an image that takes fewer slots (page_image.h).
struct PageToAppend {
  PageId page;
  const std::byte* data;
  std::span<const std::byte> image;  ///< empty: the page is written as it is
  uint32_t slots;
};

/// Segments are written whole, or in parts of so many slots for a page cleaner that waits: a part costs
/// at most a fifth more than its share of a whole segment. From one page on flash to the whole segment
/// on a disk. A part divides the segment, or is all of it. `costs`: of the device
/// (docs/decisions/0024-parts-of-segments-by-their-cost.md).
uint32_t PartSlots(const PageCosts& costs, const StoreGeometry& geometry);

/// Thread-safe. One actor at a time uses the logs of the cleaner.
class SegmentWriter {
 public:
  /// At most `most_buffers` segments are in memory, 1 to kMostBuffers. REQUIRES: not fewer than the
  /// logs in use, because an open log keeps its buffer. `part_slots`: PartSlots.
  SegmentWriter(PageDirectory& directory, SpaceManager& space, uint32_t most_buffers,
                uint32_t part_slots);
  ~SegmentWriter();
  static constexpr uint32_t kMostBuffers =
      StoreBuffers::kFullSegmentBuffers + StreamChoice::kFurtherLogs;

  /// Appends a user's page: on return it is accepted. False when the log has no segment and cannot
  /// get one (see SpaceManager; without a claim it gets none), or the store is poisoned.
  /// `pages` counts the page until it is written; nullptr: nothing does.
  bool Append(LogId log, std::optional<Claim> claim, const PageToAppend& page,
              PagesOfWriter* pages);

  /// A frame of the log for a page that the cleaner moves; `word` names the page's present slots.
  /// The caller owns the frame's memory, of as many slots, until FinishMove. nullopt: no segment
  /// (as Append).
  std::optional<FrameIndex> BeginMove(LogId log, std::optional<Claim> claim, PageId page,
                                      LocationWord word);
  /// Ends a move. `valid`: the frame holds the page, sealed with the sequence of `word`. Otherwise
  /// the frame holds nothing, and the page stays where it is.
  void FinishMove(FrameIndex frame, bool valid);
  /// Starts the writes of all pages in the logs, and waits until all started writes are done.
  /// REQUIRES, for the cleaner's logs: no move between BeginMove and FinishMove.
  void WriteOutUserLogs() { WriteOut(kUserLogs, BegunPart::kWritten); }
  void WriteOutMoves() { WriteOut(kCleanerLogs, BegunPart::kWritten); }
  /// As WriteOutUserLogs, but does not wait until the writes are done. It waits for copies into slots
  /// that are handed out. It waits for one write of a buffer that has kMaxRequests of them in flight.
  /// It skips a log if another thread holds the log's mutex.
  void StartUserLogs() { StartUserLogs(BegunPart::kWritten); }
  /// As WriteOutUserLogs and StartUserLogs, without the parts that further pages will fill.
  void WriteOutUserParts() { WriteOut(kUserLogs, BegunPart::kKept); }
  void StartUserParts() { StartUserLogs(BegunPart::kKept); }
  /// Ends open segments from `first` on early, so that the file can be cut there. Their unused
  /// slots become holes. Skips a log whose mutex another thread holds.
  void EndLogsFrom(SegmentId first);
  /// Completes the writes that the device has finished. Does not wait, except to write a page again
  /// whose write failed.
  void Reap();

 private:
  /// What becomes of a part that is not full: it is written, and the rest of its last block is given
  /// up, or it stays in memory until further pages fill it.
  enum class BegunPart { kWritten, kKept };
  static constexpr size_t kMaxRequests = 4;  // parts of one buffer in flight

  struct Buffer {
    Buffer(Runtime& runtime, const StoreGeometry& geometry) : packer(geometry), io_mutex(runtime) {}
    FrameGroup* group = nullptr;
    SegmentId segment{};
    std::atomic<LogId> log{LogId{}};
    std::atomic<bool> in_use{false};
    SlotPacker packer;                // used under the log's mutex
    std::atomic<uint32_t> filled{0};  // slots given out or given up; changed under the log's mutex
    std::atomic<uint32_t> ready{0};   // slots copied into or given up
    Mutex io_mutex;                   // guards all below
    std::unique_ptr<IoQueue> queue LATCHKEY_GUARDED_BY(io_mutex);
    std::array<TaggedRequest<uint32_t>, kMaxRequests> requests LATCHKEY_GUARDED_BY(io_mutex);
    std::vector<TaggedRequest<uint32_t>*> idle_requests LATCHKEY_GUARDED_BY(io_mutex);
    // Done, while one of an earlier part is in flight.
    std::vector<TaggedRequest<uint32_t>*> early_requests LATCHKEY_GUARDED_BY(io_mutex);
    std::vector<IoRequest*> done LATCHKEY_GUARDED_BY(io_mutex);  // all with room for all requests
    uint32_t issued LATCHKEY_GUARDED_BY(io_mutex) = 0;
    uint32_t completed LATCHKEY_GUARDED_BY(io_mutex) = 0;  // slots at the beginning
    absl::Status last_part LATCHKEY_GUARDED_BY(io_mutex);  // that was completed
    bool failed LATCHKEY_GUARDED_BY(io_mutex) =
        false;  // never reused: its pages are served from it
  };
  struct Place {
    Buffer* buffer;
    uint32_t index;
  };
  enum Turn : uint32_t {
    kWaits,     // in line
    kIsServed,  // has a place
    kOpens,     // opens the log's next segment
  };
  /// A thread that wants slots for a page. It owns the request again once `turn` is not kWaits.
  struct PlaceRequest {
    PageId page;
    uint32_t slots;
    PagesOfWriter* pages;
    std::optional<Place> place{};
    std::atomic<uint32_t> turn{kWaits};
    PlaceRequest* next = nullptr;  // in line
  };
  struct OpenLog {
    /// `most_gathering`: pages that gather at once.
    OpenLog(Runtime& runtime, uint32_t most_gathering) : mutex(runtime) {
      gathering.reserve(most_gathering);
    }
    Mutex mutex;
    Buffer* buffer LATCHKEY_GUARDED_BY(mutex) = nullptr;  // the one being filled
    // The writers of the pages that end in the part that is not full, once for each page, and the
    // first slot of that part.
    std::vector<PagesOfWriter*> gathering LATCHKEY_GUARDED_BY(mutex);
    uint32_t begun_part LATCHKEY_GUARDED_BY(mutex) = 0;
    // A thread opens the next segment; `buffer` is nullptr.
    bool is_opening LATCHKEY_GUARDED_BY(mutex) = false;
    PlaceRequest* first LATCHKEY_GUARDED_BY(mutex) = nullptr;  // in line, while is_opening
    PlaceRequest* last LATCHKEY_GUARDED_BY(mutex) = nullptr;
  };

  std::optional<Place> TakePlace(LogId log, std::optional<Claim> claim, PageId page, uint32_t slots,
                                 PagesOfWriter* pages);
  Turn AskForPlace(LogId log, PlaceRequest& request);
  // Opens a segment for the log, and serves the request and the line.
  void OpenFor(LogId log, std::optional<Claim> claim, PlaceRequest& request);
  void EndOpening(LogId log, Buffer* buffer, PlaceRequest& request);
  // Takes slots of the log's buffer for the request. False: they do not fit. Then the
  // segment is ended, and the log has no buffer.
  bool Serve(LogId id, OpenLog& log, PlaceRequest& request) LATCHKEY_REQUIRES(log.mutex);
  // A buffer with a free segment; nullptr: there is none for this claim.
  Buffer* OpenSegment(LogId log, Claim claim);
  Buffer* AcquireBuffer();
  Buffer* FindFreeBuffer();
  Buffer* NewBuffer() LATCHKEY_NO_THREAD_SAFETY_ANALYSIS;  // no other thread has it yet
  void MarkReady(Buffer& buffer, uint32_t slots);
  void GiveUp(OpenLog& log, uint32_t slots) LATCHKEY_REQUIRES(log.mutex);
  // The slots of the buffer's parts that are full.
  uint32_t FullPartsEnd(const Buffer& buffer) const;
  void FillTo(OpenLog& log, uint32_t filled) LATCHKEY_REQUIRES(log.mutex);
  void EndGathering(OpenLog& log) LATCHKEY_REQUIRES(log.mutex);
  void EndSegment(OpenLog& log) LATCHKEY_REQUIRES(log.mutex);
  void WriteOut(std::span<const LogId> logs, BegunPart begun);
  void StartUserLogs(BegunPart begun);
  void StartLocked(OpenLog& log, BegunPart begun) LATCHKEY_REQUIRES(log.mutex);
  std::optional<Place> NextPlace(OpenLog& log, const PlaceRequest& request)
      LATCHKEY_REQUIRES(log.mutex);  // REQUIRES: a buffer
  void Drain(LogId log);
  void Issue(Buffer& buffer, uint32_t end) LATCHKEY_REQUIRES(buffer.io_mutex);
  void WaitAndComplete(Buffer& buffer, size_t minimum) LATCHKEY_REQUIRES(buffer.io_mutex);
  void CompletePart(Buffer& buffer, const TaggedRequest<uint32_t>& request)
      LATCHKEY_REQUIRES(buffer.io_mutex);
  void RecycleIfDone(Buffer& buffer) LATCHKEY_REQUIRES(buffer.io_mutex);
  bool ReapOne(bool wait);
  Buffer& BufferOfFrame(FrameIndex frame);

  PageDirectory& directory_;
  StoreCore& core_;
  SpaceManager& space_;
  const uint32_t most_buffers_, part_slots_;
  std::array<std::unique_ptr<OpenLog>, kLogs> logs_;
  Mutex buffers_mutex_;  // guards creation
  std::array<std::unique_ptr<Buffer>, kMostBuffers> buffers_;
  std::atomic<size_t> buffer_count_{0};
};

}  // namespace latchkey
