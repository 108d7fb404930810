// Placement, as the segment cleaner sees it: takes the pages that the cleaner moves.
#pragma once

#include <cstdint>
#include <optional>

#include "layout/map/copy_frames.h"
#include "layout/map/location_word.h"
#include "layout/map/segment_table.h"

namespace latchkey {

/// How writes over a page's present slot are protected against tearing, now.
enum class InPlaceProtection : uint8_t { kNone, kDoublewrite, kImages };

/// One actor at a time moves pages. StartUserWrites and EndLogsFrom wait for no other thread.
class MoveSink {
 public:
  virtual ~MoveSink() = default;
  /// A frame for a page that the cleaner moves into a segment of `kind`; `word` names its present
  /// slot. The caller owns the frame's memory until FinishMove. nullopt: no segment.
  virtual std::optional<FrameIndex> BeginMove(SegmentKind kind, PageId page, LocationWord word) = 0;
  /// Ends a move. `valid`: the frame holds the page, sealed with the sequence of `word`. Otherwise
  /// the frame holds nothing, and the page stays where it is.
  virtual void FinishMove(FrameIndex frame, bool valid) = 0;
  virtual InPlaceProtection protection() const = 0;
  /// Completes the writes that the device has finished. Does not wait.
  virtual void CompleteWrites() = 0;
  /// Writes all moved pages to their slots. REQUIRES: no move between BeginMove and FinishMove.
  virtual void WriteOutMoves() = 0;

  /// Completes finished user writes, and starts the writes of partly filled segments: that releases
  /// superseded slots and needs no new segment.
  virtual void StartUserWrites() = 0;
  /// Ends open segments from `first` on early, so that the file can be cut there.
  virtual void EndLogsFrom(SegmentId first) = 0;
};

}  // namespace latchkey
