// Placement, as the segment cleaner sees it: takes the pages that the cleaner moves.
#pragma once

#include <optional>

#include "layout/map/copy_frames.h"
#include "layout/map/location_word.h"
#include "layout/map/segment_table.h"

namespace latchkey {

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
  /// Whether all moves that have begun must be finished behind `frame` of BeginMove before another
  /// begins, because a segment buffer is needed again.
  virtual bool EndsBatch(FrameIndex frame) const = 0;
  /// Writes all moved pages to their slots. REQUIRES: no move between BeginMove and FinishMove.
  virtual void WriteOutMoves() = 0;

  /// Completes finished user writes, and starts the writes of partly filled segments: that releases
  /// superseded slots and needs no new segment.
  virtual void StartUserWrites() = 0;
  /// Ends open segments from `first` on early, so that the file can be cut there.
  virtual void EndLogsFrom(SegmentId first) = 0;
};

}  // namespace latchkey
