// The adaptive half of ARC and CAR: the ghost lists B1 and B2 and the target size p of T1. A miss
// in B1 says that T1 is too small and raises p. A miss in B2 says that T2 is too small and lowers
// it. p is a real number, and so is the step |B2|/|B1|, as in the papers.
#pragma once

#include <algorithm>

#include "bufferpool/replacement/ghost_queue.h"

namespace latchkey {

/// Keeps |T1| + |B1| <= c and |T1| + |T2| + |B1| + |B2| <= 2c, where c is the number of frames.
class AdaptiveGhosts {
 public:
  enum class List : uint8_t { kNone, kB1, kB2 };
  /// Memory for each frame, at most.
  static constexpr size_t kBytesPerFrame = 2 * GhostQueue::kMostBytesEach;

  List Find(PageId page) const {
    if (b1_.Contains(page)) return List::kB1;
    return b2_.Contains(page) ? List::kB2 : List::kNone;
  }
  double target() const { return target_; }
  /// p as it becomes after a miss of a page in `list`.
  double TargetAfterMissIn(List list) const {
    const auto b1 = static_cast<double>(b1_.size());
    const auto b2 = static_cast<double>(b2_.size());
    if (list == List::kB1) return std::min(target_ + std::max(1.0, b2 / b1), frames_);
    if (list == List::kB2) return std::max(target_ - std::max(1.0, b1 / b2), 0.0);
    return target_;
  }
  /// Adapts p to a miss of `page`, which is in `list`, and forgets the ghost.
  void TakeMiss(PageId page, List list) {
    target_ = TargetAfterMissIn(list);
    Forget(page);
  }
  void Remember(PageId page, List list) { (list == List::kB1 ? b1_ : b2_).PushNewest(page); }
  void Forget(PageId page) {
    b1_.Remove(page);
    b2_.Remove(page);
  }
  /// Drops the oldest ghosts that exceed the bounds once T1 has one page more.
  void MakeRoomForNewPage(size_t t1, size_t t2) {
    const auto c = static_cast<size_t>(frames_);
    b1_.TrimTo(Difference(c, t1 + 1));
    b2_.TrimTo(Difference(2 * c, t1 + t2 + b1_.size() + 1));
  }
  /// Scales p with the number of frames. If memory is short, throws and changes nothing.
  void Resize(size_t frames) {
    // One more each: CAR evicts before it drops a ghost.
    GhostQueue b1 = b1_;
    b1.SetCapacity(frames + 1);
    GhostQueue b2 = b2_;
    b2.SetCapacity(frames + 1);
    b1_ = std::move(b1);
    b2_ = std::move(b2);
    const auto new_frames = static_cast<double>(frames);
    target_ = frames_ > 0 ? target_ * new_frames / frames_ : 0;
    frames_ = new_frames;
  }

 private:
  static size_t Difference(size_t a, size_t b) { return a > b ? a - b : 0; }

  GhostQueue b1_{0};
  GhostQueue b2_{0};
  double target_ = 0;
  double frames_ = 0;
};

}  // namespace latchkey
