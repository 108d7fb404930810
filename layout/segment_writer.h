// The segment writer: appends pages to logs. A log fills one segment after the other through a
// segment buffer in memory, which is written with one request when it is full, or in parts when
// somebody cannot wait (Flush). Reads of pages in a buffer are served from it.
//
//   buffer:  free --Open--> filling --last slot taken--> sealed --all copied--> written --> free
//
// Appending takes the log's mutex for the choice of the slot only; copying and sealing happen
// outside of it, and whoever completes the last copy of a full buffer starts its write. Every
// buffer has an I/O queue of its own, so nobody waits behind another's request.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "layout/space_manager.h"
#include "layout/store_core.h"

namespace latchkey {

/// The logs of a store. Segments of the same kind differ in who fills them: what the segment
/// cleaner moves is kept apart from what users write (LAYOUT_REFERENCE 6.10).
enum class LogId : uint8_t { kHot, kHotSecond, kCold, kCleanedHot, kCleanedCold };
inline constexpr size_t kLogs = 5;
constexpr SegmentKind KindOfLog(LogId log) {
  return log == LogId::kCold || log == LogId::kCleanedCold ? SegmentKind::kCold : SegmentKind::kHot;
}

/// Thread-safe; the logs of the cleaner are used by one actor at a time.
class SegmentWriter {
 public:
  SegmentWriter(StoreCore& core, SpaceManager& space);
  ~SegmentWriter();

  /// Appends a user's page: on return it is accepted. False when the log has no segment and none is
  /// to be had (see SpaceManager), or the store is poisoned.
  bool Append(LogId log, Claim claim, PageId page, const std::byte* data);

  /// A frame of the log for a page that the cleaner moves from where `word` says it is; its memory
  /// is the caller's until FinishMove. nullopt: no segment.
  std::optional<FrameIndex> BeginMove(LogId log, PageId page, PageWord word);
  /// The frame now holds the page, sealed as `word` has it; or nothing (`valid` false), then the
  /// page stays where it is.
  void FinishMove(FrameIndex frame, bool valid);

  /// Starts the writes of what the logs hold, and waits until all that were started are done.
  /// REQUIRES, for the cleaner's logs: no move between BeginMove and FinishMove.
  void FlushUserLogs();
  void FlushCleanerLogs();
  /// As FlushUserLogs, but skips a log that somebody is busy with: for the cleaner, for which that
  /// somebody may be waiting.
  void TryFlushUserLogs();
  /// Ends the segments of logs from `first` on early, so that the file can be cut there; what is
  /// left of them becomes holes. Skips a log that somebody is busy with.
  void EndLogsFrom(SegmentId first);
  /// Completes what the device has finished; never waits, but for pages that have to be written
  /// again.
  void Reap();

 private:
  static constexpr size_t kMaxBuffers = kLogs + 4;
  static constexpr size_t kMaxRequests = 4;  // parts of one buffer in flight

  struct Buffer {
    explicit Buffer(Runtime& runtime) : io_mutex(runtime) {}
    FrameGroup* group = nullptr;
    SegmentId segment{};
    std::atomic<LogId> log{LogId::kHot};
    std::atomic<bool> in_use{false};
    std::atomic<uint32_t> filled{0};  // frames given out; changed under the log's mutex
    std::atomic<uint32_t> ready{0};   // frames copied into
    Mutex io_mutex;                   // guards all below
    std::unique_ptr<IoQueue> queue;
    std::array<IoRequest, kMaxRequests> requests;
    std::vector<IoRequest*> idle_requests;
    std::vector<IoRequest*> done;  // both with room for all requests
    uint32_t issued = 0;
    uint32_t completed = 0;
    bool failed = false;  // never reused: its pages are served from it
  };
  struct OpenLog {
    explicit OpenLog(Runtime& runtime) : mutex(runtime) {}
    Mutex mutex;
    Buffer* buffer = nullptr;  // the one being filled
  };
  struct Place {
    Buffer* buffer;
    uint32_t index;
  };

  std::optional<Place> TakePlace(LogId log, Claim claim, PageId page);
  void NoteSegment(SegmentId segment, SegmentKind kind);
  Buffer* AcquireBuffer();
  Buffer* FindFreeBuffer();
  Buffer* NewBuffer();
  void MarkReady(Buffer& buffer);
  void FlushLog(LogId log);
  void FlushLocked(OpenLog& log);              // REQUIRES: its mutex
  Place NextPlace(OpenLog& log, PageId page);  // REQUIRES: its mutex, a buffer
  void Drain(LogId log);
  void Issue(Buffer& buffer, uint32_t end);              // REQUIRES: io_mutex
  void WaitAndComplete(Buffer& buffer, size_t minimum);  // REQUIRES: io_mutex
  void CompleteRange(Buffer& buffer, const IoRequest& request);
  void RecycleIfDone(Buffer& buffer);  // REQUIRES: io_mutex
  bool ReapOne(bool wait);
  Buffer& BufferOfFrame(FrameIndex frame);

  StoreCore& core_;
  SpaceManager& space_;
  std::array<std::unique_ptr<OpenLog>, kLogs> logs_;
  Mutex buffers_mutex_;  // guards creation
  std::array<std::unique_ptr<Buffer>, kMaxBuffers> buffers_;
  std::atomic<size_t> buffer_count_{0};
};

}  // namespace latchkey
