// FixPolicy: a synchronisation scheme around one or more instances of a replacement algorithm. It
// also owns the free frames, because each region of the multi-region cache (thesis 5.5) owns its
// frames.
//
// The pool reports every fix: OnFix for each visit of a resident page (optimistic or pinned), OnLoad
// for each page that a fix brings into a frame. Reading a page ahead and the first fix that uses it
// are one miss and no hit: OnLoad marks the frame's reference byte, and the first OnFix removes the
// mark. A page may be used while it is in no frame (BufferPool::BringIn): then the pool reports two
// hits after its load.
//
// OnFix is the hot path: if a hit needs only the reference byte, or nothing because the byte is
// marked, it is inline and takes no lock; otherwise it is a virtual call into the scheme.
//
// Thread-safety: all actors may call every function at once, except construction, TakeFreeFramesAbove
// and Resize.
#pragma once

#include <absl/functional/function_ref.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "bufferpool/private_copies.h"
#include "bufferpool/replacement_algorithm.h"
#include "storage/base/ids.h"

namespace latchkey {

/// Statistics of one scheme since its construction.
struct FixPolicyStats {
  uint64_t lock_acquisitions = 0;
  uint64_t contentions = 0;  ///< Lock() calls that slept (BP-Wrapper's definition)
};

class FixPolicy {
 public:
  virtual ~FixPolicy() = default;

  /// What a fix of a resident page is.
  enum class Fix : uint8_t {
    kHit,
    kFirstUse,  ///< the first fix of a page that was read ahead; it counts as the miss
  };
  /// Reports that the actor with index `actor` fixed `page`, resident in `frame`.
  Fix OnFix(FrameId frame, PageId page, uint32_t actor) {
    ReferenceByte& byte = reference_bytes_[Raw(frame)];
    if (__builtin_expect(byte.unused(), 0) && byte.TakeUnused()) {
      ReportFirstUse(frame, page, actor);
      return Fix::kFirstUse;
    }
    if (hits_need_no_call_) {
      byte.AddHit(most_counted_hits_);
    } else if (byte.hits() < least_mark_) {
      ReportHit(frame, page, actor);
    } else if (counts_free_hits_) {
      CountFreeHit(frame, actor);
    }
    return Fix::kHit;
  }

  /// Whether the page in `frame` was read ahead, and no fix has used it. REQUIRES: the caller owns
  /// the frame and has not loaded another page into it.
  bool IsUnused(FrameId frame) const { return reference_bytes_[Raw(frame)].unused(); }

  /// Takes a free frame of the region of `incoming`, which is about to be loaded. kNoFrame when
  /// there is none: the caller then evicts a batch (see Evict). Takes no lock.
  virtual FrameId TakeFreeFrame(PageId incoming, uint32_t actor) = 0;
  /// Gives back an empty frame. REQUIRES: the caller owns it.
  virtual void ReturnFreeFrame(FrameId frame) = 0;
  /// Reports that `page` was loaded into `frame`, which came from TakeFreeFrame or Evict.
  void OnLoad(FrameId frame, PageId page, LoadKind kind, uint32_t actor) {
    reference_bytes_[Raw(frame)].Reset(/*unused=*/kind == LoadKind::kAhead);
    ReportLoad(frame, page, kind, actor);
  }

  /// Chooses up to victims.size() frames of the region of `incoming`, makes the algorithm forget
  /// them, and returns their number. The first is for `incoming`, the others are for no page in
  /// particular. The caller then owns those frames: it loads into them, returns them, or reinstates them after a failed write-back.
  /// `claim(frame)` latches the page of a candidate, or returns false. It runs under the scheme's
  /// lock: it only tries, does not wait, does no I/O and does not call the policy. A scheme may
  /// return fewer frames than asked for, so that a batch does not empty a small region. It returns
  /// 0 only when `claim` refused every loaded frame of the pool. The caller then tries
  /// TakeFreeFrame again, and waits for another actor to unfix or return a frame.
  virtual size_t Evict(PageId incoming, std::span<FrameId> victims,
                       absl::FunctionRef<bool(FrameId)> claim, uint32_t actor) = 0;
  /// The most victims that the scheme wants from one eviction, 1 to kMostVictims.
  virtual size_t most_victims() const = 0;
  static constexpr size_t kMostVictims = 64;
  /// The choice of the schemes that have no setting for it: a small part of the pool. Few, because
  /// one actor writes all of them while it waits for one frame (docs/decisions/0019).
  static size_t UsualVictims(size_t frames) { return std::clamp<size_t>(frames / 128, 1, 4); }
  /// The most victims of one eviction from so many frames, whatever was asked for. Evicting more
  /// ahead would lower the hit ratio of small regions.
  static size_t LargestBatch(size_t frames) { return std::max<size_t>(1, frames / 8); }
  /// Reports that the eviction of `frame` was given up: `page` is still in it.
  virtual void Reinstate(FrameId frame, PageId page, uint32_t actor) = 0;
  /// Reports that the page in `frame` was freed: the algorithm forgets it without a ghost, and the
  /// caller owns the frame.
  virtual void OnRemove(FrameId frame, PageId page, uint32_t actor) = 0;

  /// Fills `out` with the frames next in line for eviction over all regions, coldest first, and
  /// returns their number. The page cleaners clean these.
  virtual size_t PeekColdest(std::span<FrameId> out) = 0;
  /// Number of free frames over all regions; approximate while other actors run.
  virtual size_t free_frames() const = 0;

  /// Appends all free frames above `last` to `taken`: the caller then owns them. What may run at the
  /// same time: see Resize. May throw std::bad_alloc; then nothing has changed.
  /// REQUIRES: `taken` has room for them.
  virtual void TakeFreeFramesAbove(FrameId last, std::vector<FrameId>* taken) = 0;
  /// Changes the pool's frames to 1..`frames`. Growing adds the new frames as free. Shrinking takes
  /// the frames above out of the free frames; the pool has emptied them before. Only OnFix,
  /// PeekColdest, free_frames and stats may run at the same time. A caller that owns a frame above
  /// `frames` must not return it any more. May throw std::bad_alloc; then nothing has changed.
  /// REQUIRES: 1 <= frames <= the maximum given at construction.
  virtual void Resize(size_t frames) = 0;

  virtual FixPolicyStats stats() const = 0;
  /// The private frames that the scheme wants beside the pool's, and the algorithm of each actor's.
  virtual PrivateCopiesPlan private_copies() const { return {}; }
  virtual const ReplacementChoice* private_replacement() const { return nullptr; }
  /// Bytes of memory that the policy takes for each frame: the scheme's and the algorithm's.
  virtual size_t bytes_per_frame() const = 0;

 protected:
  /// `bytes`: one for each frame, indexed by frame id. `most_counted_hits`: see
  /// ReplacementAlgorithm; nullopt: every hit is reported by ReportHit.
  void SetReferenceBytes(ReferenceByte* bytes, std::optional<uint8_t> most_counted_hits) {
    reference_bytes_ = bytes;
    hits_need_no_call_ = most_counted_hits.has_value();
    most_counted_hits_ = most_counted_hits.value_or(0);
  }
  /// From now on OnFix reports no hit of a frame whose reference byte is marked (see
  /// ReplacementAlgorithm::marks_free_hits). `counted`: it calls CountFreeHit instead.
  void LeaveOutMarkedHits(bool counted) {
    least_mark_ = 1;
    counts_free_hits_ = counted;
  }
  virtual void ReportHit(FrameId frame, PageId page, uint32_t actor) = 0;
  virtual void CountFreeHit(FrameId /*frame*/, uint32_t /*actor*/) {}
  virtual void ReportFirstUse(FrameId frame, PageId page, uint32_t actor) = 0;
  virtual void ReportLoad(FrameId frame, PageId page, LoadKind kind, uint32_t actor) = 0;

 private:
  ReferenceByte* reference_bytes_ = nullptr;
  bool hits_need_no_call_ = false;
  uint8_t most_counted_hits_ = 0;
  uint8_t least_mark_ = UINT8_MAX;  // a byte with as many hits is marked; no byte has UINT8_MAX
  bool counts_free_hits_ = false;
};

}  // namespace latchkey
