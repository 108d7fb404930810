// The multi-region cache (thesis 5.5): pages are hashed to n regions of fixed size; each has its
// own instance of the replacement algorithm, its own lock and its own free frames. With one region
// it is the plain scheme with a global lock.
//
// Invariants:
//  1. Frames 1..frames are divided into n contiguous ranges whose sizes differ by at most one. A
//     frame belongs to the region of its range, and so does the page in it: on a hit the frame
//     tells the region; the hash is computed on a miss only, to choose where to look for a frame.
//  2. A frame is in exactly one of three places: the free frames of its region, the region's
//     algorithm (then record.page is its page), or with a caller who got it from TakeFreeFrame or
//     Evict or has removed its page.
//  3. The algorithm and the pages of a region's frames are touched only under its lock. A hit may
//  be
//     reported after its page has left (visits need no pin): under the lock it is dropped unless
//     the frame still holds that page.
//
// Deviation from the thesis: when all frames of a region are pinned or in use by their callers, its
// pages borrow frames of the next regions. By invariant 1 such a page simply belongs to the other
// region while it stays; without this, a few pins in a small region could stop a pool with plenty
// of room.
#pragma once

#include <memory>
#include <vector>

#include "bufferpool/fix_policy.h"
#include "bufferpool/replacement/replacement_list.h"
#include "bufferpool/synchronization/free_frame_stack.h"
#include "bufferpool/synchronization/zeroed_array.h"
#include "storage/runtime/mutex.h"

namespace latchkey {

class RegionPolicy final : public FixPolicy {
 public:
  /// REQUIRES: 1 <= regions <= frames <= max_frames < 2^32 - 1.
  RegionPolicy(Runtime& runtime, const ReplacementChoice& replacement, size_t regions,
               size_t frames, size_t max_frames, uint64_t seed);

  FrameId TakeFreeFrame(PageId incoming, uint32_t actor) override;
  void ReturnFreeFrame(FrameId frame) override;
  void OnLoad(FrameId frame, PageId page, uint32_t actor) override;
  size_t Evict(PageId incoming, std::span<FrameId> victims, absl::FunctionRef<bool(FrameId)> claim,
               uint32_t actor) override;
  void OnRemove(FrameId frame, PageId page, uint32_t actor) override;
  /// Takes its share from every region in turn, beginning where the last call ended.
  size_t PeekColdest(std::span<FrameId> out) override;
  /// Costs a load per region.
  size_t free_frames() const override;
  /// One region: the algorithm keeps all it knows. Several: the ranges are drawn anew and every
  /// region starts again from the old order of eviction, without ghosts. Below `regions` frames,
  /// that many regions are in use.
  void Resize(size_t frames) override;
  FixPolicyStats stats() const override;

 protected:
  void OnHitSlow(FrameId frame, PageId page, uint32_t actor) override;

 private:
  struct FrameRecord {
    uint64_t page_plus_one;        // 0 = no page; guarded by the lock of the frame's region
    std::atomic<uint32_t> region;  // changes only in Resize
  };
  // On cache lines of its own: neighbours are locked by others.
  struct alignas(128) Region {
    Region(Runtime& runtime, std::atomic<uint32_t>* links) : mutex(runtime), free_frames(links) {}

    Mutex mutex;
    std::unique_ptr<ReplacementAlgorithm> algorithm;
    size_t frames = 0;
    std::atomic<uint64_t> lock_acquisitions{0};
    std::atomic<uint64_t> contentions{0};
    alignas(128) FreeFrameStack free_frames;
    // Set when an eviction found nothing here: misses then also try the free frames of others.
    std::atomic<bool> exhausted{false};
  };
  class RegionLock;
  class AllRegionsLock;
  struct Resident;
  struct Range {
    uint32_t first;
    uint32_t frames;
  };

  size_t RegionNumberOf(PageId page) const;
  Region& RegionOf(PageId page) { return *regions_[RegionNumberOf(page)]; }
  Region& RegionOf(FrameId frame) {
    return *regions_[records_[Raw(frame)].region.load(std::memory_order_relaxed)];
  }
  size_t EvictFrom(Region& region, PageId incoming, std::span<FrameId> victims,
                   absl::FunctionRef<bool(FrameId)> claim);
  FrameId BorrowFreeFrame(size_t own_region);

  Range RangeOf(size_t region, size_t frames) const;
  std::vector<std::unique_ptr<ReplacementAlgorithm>> MakeAlgorithms(size_t frames);
  void DrawRanges(size_t frames, std::vector<std::unique_ptr<ReplacementAlgorithm>> algorithms);
  std::vector<Resident> CollectResidents();
  void Reinsert(const std::vector<Resident>& residents);
  void DrainFreeFrames(size_t frames, std::vector<FrameId>& free);

  Runtime& runtime_;
  const ReplacementChoice replacement_;
  const uint64_t seed_;
  const size_t max_frames_;
  size_t frames_ = 0;
  size_t active_regions_ = 0;
  ZeroedArray<FrameRecord> records_;                   // indexed by frame id
  ZeroedArray<std::atomic<uint32_t>> free_links_;      // indexed by frame id
  ZeroedArray<std::atomic<uint8_t>> reference_bytes_;  // indexed by frame id
  std::vector<std::unique_ptr<Region>> regions_;
  std::atomic<size_t> peek_cursor_{0};
};

}  // namespace latchkey
