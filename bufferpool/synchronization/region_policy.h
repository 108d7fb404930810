// The multi-region cache (thesis 5.5): pages are hashed to n regions of fixed size. Each region has
// its own instance of the replacement algorithm, its own lock and its own free frames. With one
// region this is the scheme with a global lock.
//
// Invariants:
//  1. Frames 1..frames are divided into n contiguous ranges whose sizes differ by at most one. A
//     frame belongs to the region of its range, and so does the page in it. On a hit the frame
//     determines the region. The hash is computed on a miss only, to choose the region in which to
//     look for a frame.
//  2. A frame is in exactly one of three places: the free frames of its region, the region's
//     algorithm (then record.page is its page), or with one caller, which got it from TakeFreeFrame
//     or Evict or has removed its page.
//  3. The algorithm and the page records of a region's frames are accessed only under its lock. A
//     hit may be reported after its page was evicted, because optimistic visits do not pin. Under
//     the lock the hit is dropped unless the frame still holds that page.
//
// Deviation from the thesis: when all frames of a region are pinned or owned by callers, its pages
// borrow frames of the next regions. By invariant 1 such a page belongs to the other region while
// it is resident. Without this, a few pins in a small region could block a pool with many free
// frames.
#pragma once

#include <memory>
#include <vector>

#include "bufferpool/fix_policy.h"
#include "bufferpool/replacement/replacement_list.h"
#include "bufferpool/synchronization/free_frame_stack.h"
#include "bufferpool/synchronization/region_division.h"
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
  void OnLoad(FrameId frame, PageId page, LoadKind kind, uint32_t actor) override;
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
  FixPolicyStats stats() const override;
  size_t bytes_per_frame() const override {
    return kBytesPerFrame + replacement_.entry().bytes_per_frame(replacement_.values());
  }
  /// Bytes of the scheme for each frame.
  static const size_t kBytesPerFrame;

 protected:
  void OnHitSlow(FrameId frame, PageId page, uint32_t actor) override;

 private:
  struct FrameRecord {
    uint64_t page_plus_one;        // 0 = no page; guarded by the lock of the frame's region
    std::atomic<uint32_t> region;  // changes only in Resize
  };
  // On its own cache lines, because other threads lock the neighbouring regions.
  struct alignas(128) Region {
    Region(Runtime& runtime, std::atomic<uint32_t>* links) : mutex(runtime), free_frames(links) {}

    Mutex mutex;
    std::unique_ptr<ReplacementAlgorithm> algorithm LATCHKEY_GUARDED_BY(mutex)
        LATCHKEY_PT_GUARDED_BY(mutex);
    size_t frames = 0;
    std::atomic<uint64_t> lock_acquisitions{0};
    std::atomic<uint64_t> contentions{0};
    alignas(128) FreeFrameStack free_frames;
    // Set when an eviction found no victim here: misses then also try free frames of other regions.
    std::atomic<bool> exhausted{false};
  };
  class RegionLock;
  class AllRegionsLock;
  struct Resident;
  Region& RegionOf(FrameId frame) {
    return *regions_[records_[Raw(frame)].region.load(std::memory_order_relaxed)];
  }
  // Notes that `page` is in `frame`. REQUIRES: the lock of the frame's region.
  void Record(FrameId frame, PageId page);
  size_t EvictFrom(Region& region, PageId incoming, std::span<FrameId> victims,
                   absl::FunctionRef<bool(FrameId)> claim);
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
  const uint64_t seed_;
  const size_t max_frames_;
  size_t frames_ = 0;
  RegionDivision division_{1, 1, 1};
  ZeroedArray<FrameRecord> records_;                   // indexed by frame id
  ZeroedArray<std::atomic<uint32_t>> free_links_;      // indexed by frame id
  ZeroedArray<std::atomic<uint8_t>> reference_bytes_;  // indexed by frame id
  std::vector<std::unique_ptr<Region>> regions_;
  std::atomic<size_t> peek_cursor_{0};
};

inline constexpr size_t RegionPolicy::kBytesPerFrame =
    sizeof(FrameRecord) + sizeof(std::atomic<uint32_t>) + sizeof(std::atomic<uint8_t>);

}  // namespace latchkey
