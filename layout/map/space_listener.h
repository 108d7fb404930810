// What page map and segment table tell the part that looks after space.
#pragma once

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

}  // namespace latchkey
