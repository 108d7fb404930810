// Free space: sizes the file so that live / capacity is the wanted utilisation, hands out segments,
// and paces the segment cleaner by two watermarks on the number of free segments:
//   below soft: the cleaner works in the background;
//   at hard: only the cleaner may take segments, writers wait for it (and for nothing else: when it
//   cannot gain anything they are told so and write into holes or in place instead).
// Nobody ever waits here for a segment that may never come.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>

#include "layout/space_sizing.h"
#include "layout/store_core.h"

namespace latchkey {

enum class Claim {
  kUser,     ///< waits at the hard watermark
  kSpare,    ///< takes only what is above the soft watermark; never waits
  kCleaner,  ///< may take the last one; never waits
};

/// Which segments a checkpoint may have.
enum class MetaClaim {
  kSpare,  ///< above the hard watermark
  kLast,   ///< any, at once; without one the file grows
  kWaits,  ///< as kLast, those above the watermark first, which it waits for
};

/// Thread-safe.
class SpaceManager {
 public:
  SpaceManager(StoreCore& core, const SpaceSizing& sizing);

  /// Called by writers that wait, to complete writes that nobody else may be looking after.
  void set_reap(std::function<void()> reap) { reap_ = std::move(reap); }

  /// Page ids are the unit of admission: an id is handed out only while every page in use, written
  /// or not yet, has a slot. ResourceExhausted: the device is full.
  absl::StatusOr<PageId> AllocatePage();
  /// The same for an id of the caller's choice, if it is free.
  absl::Status AdoptPage(PageId id);
  void FreePage(PageId id);

  /// A free segment; nullopt when there is none for this claim and none can be expected.
  std::optional<SegmentId> TakeSegment(Claim claim, SegmentKind kind);
  /// A segment for a checkpoint; ResourceExhausted when there is none for this claim, and cleaning
  /// cannot make one.
  absl::StatusOr<SegmentId> TakeMetaSegment(MetaClaim claim);

  /// Makes the file larger if it is below its target: when a store is created, and in the
  /// background.
  absl::Status GrowToTarget();
  /// Retires and cuts off the free tail beyond the target; returns the first segment that is in the
  /// way of the target, if any: the cleaner empties it.
  std::optional<SegmentId> ShrinkTowardsTarget();
  bool WantsShrink() const;
  /// Gives back what was written ahead of growth. REQUIRES: nobody grows the file meanwhile.
  void TrimDevice();

  /// Below the soft watermark, or somebody waits for more.
  bool WantsCleaning() const;
  uint32_t soft_watermark() const { return soft_; }
  static constexpr uint32_t kHardWatermark = 2;

  /// The background actor's signal: it notes the sequence, looks for work, and if there is none
  /// sleeps until somebody has signalled since.
  void Signal();
  uint32_t work_sequence() const { return work_.load(std::memory_order_seq_cst); }
  void WaitForWork(uint32_t seen, Nanos timeout);
  /// The cleaner says whether its last pass gained anything; waiters act on it.
  void ReportPass(bool gained);
  void NotifyFreed();

  uint64_t capacity_pages() const {
    return sizing_.CapacityPages(core_.segments.total() - core_.segments.bad_segments(),
                                 core_.map.limit());
  }
  double space_utilization() const;
  double min_utilization() const { return min_utilization_.load(std::memory_order_relaxed); }
  double max_utilization() const { return max_utilization_.load(std::memory_order_relaxed); }
  void ResetExtremes();
  const SpaceSizing& sizing() const { return sizing_; }

 private:
  // Those with bad slots count for nothing: the file grows by as many.
  uint32_t TargetSegments(uint64_t live, uint64_t limit) const {
    return sizing_.TargetSegments(live, limit) + core_.segments.bad_segments();
  }
  absl::Status AdmitPage(uint64_t limit);
  absl::Status GrowFor(uint64_t live, bool late, bool full);
  absl::Status ResizeTo(uint32_t segments);
  bool GrowByOne();
  uint64_t WriteAheadBytes(uint64_t needed) const;
  std::optional<SegmentId> WaitForSegment(absl::FunctionRef<std::optional<SegmentId>()> take);
  void NoteUtilization();

  StoreCore& core_;
  const SpaceSizing sizing_;
  const uint32_t soft_;
  std::function<void()> reap_;

  Mutex resize_mutex_;  // held across Resize of the device; taken by nobody who could be waited for
  std::atomic<Nanos> no_growth_before_{0};  // after a full device: when to try again

  std::atomic<uint32_t> work_{0};
  std::atomic<bool> worker_sleeps_{false};
  std::atomic<uint32_t> freed_{0};  // sequence of events that waiters look for
  std::atomic<uint32_t> waiters_{0};
  std::atomic<uint32_t> passes_without_gain_{0};

  std::atomic<double> min_utilization_{1.0};
  std::atomic<double> max_utilization_{0.0};
};

}  // namespace latchkey
