// FixPolicy: a synchronisation scheme around one or more instances of a replacement algorithm. It
// owns the free frames too, because a region of the multi-region cache (thesis 5.5) owns its
// frames.
//
// The pool reports every fix: OnHit for each visit of a resident page (optimistic or pinned),
// OnLoad for each miss, so that hits + misses = fixes. OnHit is the hot path: for algorithms that
// publish reference bytes it is inline and takes no lock; for all others it is a virtual call into
// the scheme.
//
// Thread-safety: everything but construction and Resize may be called from every actor at once.
#pragma once

#include <absl/functional/function_ref.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "bufferpool/replacement_algorithm.h"
#include "storage/base/ids.h"

namespace latchkey {

/// Figures of one scheme since its construction.
struct FixPolicyStats {
  uint64_t lock_acquisitions = 0;
  uint64_t contentions = 0;  ///< Lock() calls that slept (BP-Wrapper's definition)
};

class FixPolicy {
 public:
  virtual ~FixPolicy() = default;

  /// `frame`, holding `page`, was fixed by the actor with index `actor`.
  void OnHit(FrameId frame, PageId page, uint32_t actor) {
    if (reference_.bytes != nullptr) {
      std::atomic<uint8_t>& byte = reference_.bytes[Raw(frame)];
      const uint8_t value = byte.load(std::memory_order_relaxed);
      // A lost increment among racing hits is a lost hint, nothing more; not writing at the limit
      // keeps the line shared.
      if (value < reference_.limit) byte.store(value + 1, std::memory_order_relaxed);
    } else {
      OnHitSlow(frame, page, actor);
    }
  }

  /// A free frame for `incoming`, which is about to be loaded: from the free frames of its region,
  /// or kNoFrame when there are none (then the caller evicts a batch: see Evict). Takes no lock.
  virtual FrameId TakeFreeFrame(PageId incoming, uint32_t actor) = 0;
  /// Gives back a frame that holds nothing and that the algorithm has forgotten (or never knew).
  virtual void ReturnFreeFrame(FrameId frame) = 0;
  /// `page` is now in `frame` (got from TakeFreeFrame or Evict).
  virtual void OnLoad(FrameId frame, PageId page, uint32_t actor) = 0;

  /// Chooses up to victims.size() frames of the region of `incoming` and forgets them.
  /// `claim(frame)` runs under the scheme's lock: it only tries, never waits, does no I/O, does not
  /// call the policy. Returns how many; the caller owns those frames and either loads into them,
  /// returns them, or (a failed write-back) reinstates them. A scheme may return fewer than asked,
  /// so that a batch never empties a small region, but returns 0 only when `claim` refused every
  /// loaded frame of the pool. After 0, try TakeFreeFrame again, then wait for another actor to
  /// unfix or return a frame.
  virtual size_t Evict(PageId incoming, std::span<FrameId> victims,
                       absl::FunctionRef<bool(FrameId)> claim, uint32_t actor) = 0;
  /// The eviction of `frame` was given up: `page` is still in it.
  void Reinstate(FrameId frame, PageId page, uint32_t actor) { OnLoad(frame, page, actor); }
  /// The page in `frame` was freed: the algorithm forgets it without a ghost. The caller owns the
  /// frame.
  virtual void OnRemove(FrameId frame, PageId page, uint32_t actor) = 0;

  /// Next in line for eviction, coldest first, over all regions: what the page cleaners look at.
  virtual size_t PeekColdest(std::span<FrameId> out) = 0;
  /// Free frames now, over all regions (approximate while others run).
  virtual size_t free_frames() const = 0;

  /// The pool now has frames 1..`frames`. Growing adds the new ones as free; shrinking is called
  /// after the frames above have been emptied and takes them out of the free frames. Not concurrent
  /// with anything but OnHit. A frame above `frames` that a caller owns is no longer its to return.
  /// REQUIRES: 1 <= frames <= the maximum given at construction.
  virtual void Resize(size_t frames) = 0;

  virtual FixPolicyStats stats() const = 0;

 protected:
  virtual void OnHitSlow(FrameId frame, PageId page, uint32_t actor) = 0;

  ReplacementAlgorithm::ReferenceBytes reference_;
};

}  // namespace latchkey
