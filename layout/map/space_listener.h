// What page map and segment table tell the parts that look after space.
#pragma once

#include "layout/geometry.h"

namespace latchkey {

/// Called from any thread, without the caller's locks held. Must not wait.
class SpaceListener {
 public:
  virtual ~SpaceListener() = default;
  /// A segment became free.
  virtual void OnSegmentFreed() = 0;
  /// A round of the map journal or a checkpoint of the map is due.
  virtual void OnRoundDue() = 0;
};

/// Called from any thread, without the segment table's lock held. Must not wait.
class EmptySegments {
 public:
  virtual ~EmptySegments() = default;
  /// The segment lost its last page and is kMeta. Must end with ReleaseMeta, which makes it free.
  virtual void OnSegmentEmptied(SegmentId segment) = 0;
};

}  // namespace latchkey
