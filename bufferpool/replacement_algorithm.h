// Replacement algorithms: which page leaves when another needs its frame.
//
// An algorithm is single-threaded and pure: no locks, no I/O, no clock, no randomness but its seed.
// The trace simulator (latchkey cachesim) and the pool run the very same class; a synchronisation
// scheme (fix_policy.h) decides how threads reach it.
//
// Invariants, checked for every algorithm by replacement_conformance_test.cc:
//  1. OnLoad is called for a frame that holds nothing; OnHit and OnRemove only for a loaded one.
//  2. A victim is a loaded frame for which `evictable` returned true, and it is forgotten (ghost
//     entries excepted) when Victim returns. Victim fails only if no loaded frame is evictable.
//  3. Memory is O(frames + ghosts), ghosts O(frames) unless the algorithm's paper says otherwise.
#pragma once

#include <absl/functional/function_ref.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "storage/base/ids.h"

namespace latchkey {

/// What an instance needs to know when it is made. It owns the frames first_frame to
/// first_frame + frame_capacity - 1 and no others, so that regions can divide a pool's frames.
struct ReplacementConfig {
  uint32_t first_frame = 1;
  /// Frames that may be loaded at once, until Resize says otherwise.
  uint32_t frame_capacity = 0;
  /// One byte per frame of the pool, indexed by frame id and shared by all instances; used only by
  /// algorithms that publish it through reference_bytes(). Outlives the instance.
  std::atomic<uint8_t>* reference_bytes = nullptr;
  uint64_t seed = 42;
};

class ReplacementAlgorithm {
 public:
  virtual ~ReplacementAlgorithm() = default;

  /// The page in `frame` was fixed again.
  virtual void OnHit(FrameId frame) = 0;
  /// `page` was loaded into `frame`, which held nothing.
  virtual void OnLoad(FrameId frame, PageId page) = 0;
  /// Chooses a frame to empty for `incoming`. `evictable(frame)` is asked about candidates in the
  /// algorithm's order of preference until it says true: it may claim the frame as a side effect.
  /// Returns kNoFrame when nothing is evictable.
  virtual FrameId Victim(PageId incoming, absl::FunctionRef<bool(FrameId)> evictable) = 0;
  /// `frame` was emptied for another reason (its page was freed, the pool shrinks): no ghost.
  virtual void OnRemove(FrameId frame) = 0;
  /// Fills `out` with the loaded frames next in line for eviction, coldest first, without changing
  /// anything; returns how many, each once. An approximation is enough, except that an `out` with
  /// room for size() frames gets all of them.
  virtual size_t PeekColdest(std::span<FrameId> out) const = 0;
  /// The number of frames that may be loaded at once changes to `frames`, counted from the first
  /// frame of the configuration; loaded ones stay, also those above, until they leave. This and
  /// PeekColdest alone may throw std::bad_alloc; then nothing has changed.
  virtual void Resize(size_t frames) = 0;
  /// Frames loaded now.
  virtual size_t size() const = 0;

  /// Algorithms whose hit is a write into one byte per frame (CLOCK's reference bit, GCLOCK's
  /// counter) publish the bytes, indexed by frame id, so that a hit needs no lock: a hit raises the
  /// byte to at most `limit` (adds 1). nullptr for all others. The array outlives the algorithm's
  /// use and never moves, also not by Resize.
  struct ReferenceBytes {
    std::atomic<uint8_t>* bytes = nullptr;
    uint8_t limit = 0;
  };
  virtual ReferenceBytes reference_bytes() { return {}; }
};

}  // namespace latchkey
