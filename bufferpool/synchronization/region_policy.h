// The multi-region cache (thesis 5.5): pages are hashed to n regions of fixed size. With one region
// this is the scheme with a global lock. With queues it is BP-Wrapper (TPDS 2016), of one region or
// of several (its "distributed locks").
//
// Invariants, besides those of region.h:
//  1. Frames 1..frames are divided into n contiguous ranges whose sizes differ by at most one. A
//     frame belongs to the region of its range, and so does the page in it. On a hit the frame
//     determines the region. The hash is computed on a miss only, to choose the region in which to
//     look for a frame.
//
// Deviation from the thesis: when all frames of a region are pinned or owned by callers, its pages
// borrow frames of the next regions. By invariant 1 such a page belongs to the other region while
// it is resident. Without this, a few pins in a small region could block a pool with many free
// frames.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "bufferpool/fix_policy.h"
#include "bufferpool/replacement/replacement_list.h"
#include "bufferpool/synchronization/access_queues.h"
#include "bufferpool/synchronization/region.h"
#include "bufferpool/synchronization/region_division.h"
#include "storage/base/zeroed_array.h"

namespace latchkey {

/// The settings of a RegionPolicy. The defaults are those of the scheme `global`.
struct RegionSettings {
  size_t regions = 1;
  LockKind lock = LockKind::kSleep;
  /// Every hit takes the lock, even if the algorithm needs only its reference byte.
  bool locks_every_hit = false;
  size_t queue = 0;         ///< entries of an actor's queue; 0: no queues
  size_t threshold = 0;     ///< 1 to queue: entries from which on an actor tries to take the lock
  bool prefetch = false;    ///< before it tries
  size_t free_lists = 1;    ///< per region, 1 or more
  size_t most_victims = 0;  ///< of one eviction, 1 to kMostVictims; 0: as usual
  PrivateCopiesPlan private_copies = {};  ///< each actor's with an instance of its own
};

class RegionPolicy final : public FixPolicy {
 public:
  /// REQUIRES: 1 <= regions <= frames <= max_frames < 2^32 - 1.
  RegionPolicy(Runtime& runtime, const ReplacementChoice& replacement,
               const RegionSettings& settings, size_t frames, size_t max_frames, uint64_t seed);

  FrameId TakeFreeFrame(PageId incoming, uint32_t actor) override;
  void ReturnFreeFrame(FrameId frame) override;
  size_t Evict(PageId incoming, std::span<FrameId> victims, absl::FunctionRef<bool(FrameId)> claim,
               uint32_t actor) override;
  void Reinstate(FrameId frame, PageId page, uint32_t actor) override;
  void OnRemove(FrameId frame, PageId page, uint32_t actor) override;
  /// Takes an equal share from every region, beginning where the last call ended.
  size_t PeekColdest(std::span<FrameId> out) override;
  /// Costs one atomic load per region.
  size_t free_frames() const override;
  void TakeFreeFramesAbove(FrameId last, std::vector<FrameId>* taken) override;
  /// With one region the algorithm keeps its state. With several, the frames are divided anew, and
  /// every region starts from the old order of eviction, without ghosts. A region has at least four
  /// frames, and as many as the algorithm needs; with fewer frames, fewer regions are in use.
  void Resize(size_t frames) override LATCHKEY_NO_THREAD_SAFETY_ANALYSIS;  // locks all regions
  size_t most_victims() const override {
    return settings_.most_victims != 0 ? settings_.most_victims : UsualVictims(frames_);
  }
  FixPolicyStats stats() const override;
  PrivateCopiesPlan private_copies() const override { return settings_.private_copies; }
  const ReplacementChoice* private_replacement() const override { return &replacement_; }
  size_t bytes_per_frame() const override {
    return kBytesPerFrame + replacement_.entry().bytes_per_frame(replacement_.values());
  }
  /// Bytes of the scheme for each frame.
  static const size_t kBytesPerFrame;

 protected:
  void ReportHit(FrameId frame, PageId page, uint32_t actor) override;
  void CountFreeHit(FrameId frame, uint32_t actor) override;
  void ReportFirstUse(FrameId frame, PageId page, uint32_t actor) override;
  void ReportLoad(FrameId frame, PageId page, LoadKind kind, uint32_t actor) override;

 private:
  class AllRegionsLock;
  class PrefetchStop;
  struct Resident;
  Region& RegionOf(FrameId frame) {
    return *regions_[records_.Of(frame).region.load(std::memory_order_relaxed)];
  }
  FrameId BorrowFreeFrame(size_t own_region);

  RegionDivision Divide(size_t frames) const {
    return {frames, regions_.size(), replacement_.entry().fewest_frames};
  }
  std::vector<std::unique_ptr<ReplacementAlgorithm>> MakeAlgorithms(size_t frames);
  // REQUIRE: an AllRegionsLock, which clang cannot follow.
  void DrawRanges(size_t frames, std::vector<std::unique_ptr<ReplacementAlgorithm>> algorithms)
      LATCHKEY_NO_THREAD_SAFETY_ANALYSIS;
  std::vector<Resident> CollectResidents() LATCHKEY_NO_THREAD_SAFETY_ANALYSIS;
  void Reinsert(const std::vector<Resident>& residents) LATCHKEY_NO_THREAD_SAFETY_ANALYSIS;
  void DrainFreeFrames(size_t frames, std::vector<FrameId>& free);

  Runtime& runtime_;
  const ReplacementChoice replacement_;
  const RegionSettings settings_;
  const uint64_t seed_;
  const size_t max_frames_;
  bool notes_first_use_ = false;  // the algorithm does
  size_t frames_ = 0;
  RegionDivision division_{1, 1, 1};
  std::atomic<size_t> active_regions_{1};  // division_.active(), for PeekColdest during a resize
  FrameRecords records_;
  ZeroedArray<ReferenceByte> reference_bytes_;  // indexed by frame id
  std::optional<AccessQueues> queues_;
  std::vector<std::unique_ptr<Region>> regions_;
  std::atomic<size_t> peek_cursor_{0};
};

inline constexpr size_t RegionPolicy::kBytesPerFrame =
    sizeof(FrameRecord) + sizeof(std::atomic<uint32_t>) + sizeof(ReferenceByte);

}  // namespace latchkey
