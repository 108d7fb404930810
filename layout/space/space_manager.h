// SpaceManager: sizes the file so that live / capacity is the wanted utilisation, hands out
// segments, and paces the segment cleaner by two watermarks on the number of free segments:
//   below the soft watermark the cleaner works in the background;
//   at the hard watermark only the cleaner and checkpoints take segments, and writers wait.
//   When a pass gains no segment, the writers stop waiting and write into holes or in place.
// So no writer waits here for a segment that never becomes free.
//
// A new file is young (SpaceSizing::kYoungSegments) and needs no cleaning: all pages are in one
// segment, from which placement opens at most one append log. A young file grows up, to the size of
// an ordinary one, when it gets more than SpaceSizing::YoungSlots() slots, or when a claim finds no
// segment after a segment's worth of page writes. If the device is full then, it stays young; pages
// then go in place or into holes.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>

#include "layout/map/page_directory.h"
#include "layout/space/finished_writes.h"
#include "layout/space/space_sizing.h"

namespace latchkey {

enum class Claim {
  kUser,     ///< waits at the hard watermark
  kSpare,    ///< takes only segments above the soft watermark; never waits
  kCleaner,  ///< may take the last segment; never waits
};

/// Which segments a checkpoint may take.
enum class MetaClaim {
  kSpare,  ///< those above kLeastHardWatermark, so checkpoints go on while users wait
  kLast,   ///< any, at once; without one the file grows
  kWaits,  ///< waits for one that kSpare may take; then as kLast
};

/// Thread-safe.
class SpaceManager final : public SpaceListener {
 public:
  SpaceManager(PageDirectory& directory, const SpaceSizing& sizing);

  /// Threads that wait for a segment complete finished writes of `writes`, because no other thread
  /// may be waiting for these. REQUIRES: called before the first change.
  void AttachWrites(FinishedWrites* writes) { writes_ = writes; }

  /// Hands out an id only if there is a slot for this page and for every page in use, written or
  /// not. So a write of an allocated page always finds room. ResourceExhausted: the device is full.
  absl::StatusOr<PageId> AllocatePage();
  /// As AllocatePage, for an id of the caller's choice, if that id is free.
  absl::Status AdoptPage(PageId id);
  void FreePage(PageId id);

  /// Takes a free segment. nullopt when there is none for this claim and cleaning gains none.
  std::optional<SegmentId> TakeSegment(Claim claim, SegmentKind kind);
  /// Takes a segment for a checkpoint. ResourceExhausted when there is none for this claim and
  /// cleaning gains none.
  absl::StatusOr<SegmentId> TakeMetaSegment(MetaClaim claim);

  /// Grows the file to its target size: when a store is created, and in the background.
  absl::Status GrowToTarget();
  /// Cuts off the free tail beyond the target size, but not the last hard_watermark() free segments.
  /// Returns the segment that prevents further shrinking, if any: the cleaner empties it.
  std::optional<SegmentId> ShrinkTowardsTarget();
  bool WantsShrink() const;
  /// Segments beyond the target size, if the file is to shrink; otherwise 0.
  uint32_t ExcessSegments() const;
  /// Cuts off the space by which the device was grown before the file needed it. REQUIRES: no
  /// thread grows the file meanwhile.
  void TrimDevice();

  /// Number of segments taken by Claim::kCleaner, also by a user as a last resort.
  uint64_t taken_by_cleaner() const { return taken_by_cleaner_.load(std::memory_order_relaxed); }
  /// Whether free segments are below the soft watermark, or a writer waits for a segment. `soon_free`
  /// further segments count as free.
  bool WantsCleaning(uint32_t soon_free = 0) const;
  /// The reserve without the open logs.
  uint32_t soft_watermark() const { return reserve_segments() - SpaceSizing::kOpenLogs; }
  /// Whether the file has the size of a new one, and few pages.
  bool IsYoung() const { return IsYoungWith(directory_.live_slots()); }
  /// Whether a free segment is left over when the next checkpoint has its segments. A write that has another
  /// place may then take it.
  bool HasSpareSegments() const;
  /// Free segments that users may not take; checkpoints take them down to kLeastHardWatermark. They are
  /// as many as the cleaner fills before the segments that it empties are free, unless these are short
  /// and full. With fewer the cleaner waits for a round in the middle of a batch. They hold no pages, so
  /// in a small file more of them would make the others noticeably fuller.
  uint32_t hard_watermark() const {
    const uint32_t of_reserve = reserve_segments() / kReservePerWatermark;
    const uint32_t of_file = directory_.segments().total() / kFilePerWatermark;
    return std::clamp(std::min(of_reserve, of_file), kLeastHardWatermark, kMostHardWatermark);
  }
  static constexpr uint32_t kLeastHardWatermark = 2, kMostHardWatermark = 16;

  /// The segment cleaner's signal. The cleaner notes the sequence and looks for work. If there is
  /// none, WaitForWork sleeps until a Signal after `seen`, or for `timeout` ns.
  void Signal();
  uint32_t work_sequence() const { return work_.load(std::memory_order_seq_cst); }
  void WaitForWork(uint32_t seen, Nanos timeout);
  /// Asks for a signal once that many pages have been accepted from above.
  void SignalAtPageWrites(uint64_t count) { signal_at_.store(count, std::memory_order_relaxed); }
  /// Called for every page accepted; `count` pages were accepted so far.
  void OnPageAccepted(uint64_t count) {
    if (count >= signal_at_.load(std::memory_order_relaxed)) Signal();
  }
  /// A writer found no hole. A round makes holes of the slots that wait for one: the cleaner runs it, if
  /// they are kSlotsForHoles or more and the journal has room for it.
  void AskForHoles();
  static constexpr size_t kSlotsForHoles = 256;
  /// For the cleaner: whether a writer has asked since the last call.
  bool TakeAskedForHoles() { return asked_for_holes_.exchange(false, std::memory_order_relaxed); }
  /// The cleaner reports whether its last pass gained space; waiting writers act on it.
  void ReportPass(bool gained);
  void NotifyFreed();
  void OnSegmentFreed() override { NotifyFreed(); }
  void OnRoundDue() override { Signal(); }

  uint64_t capacity_slots() const {
    return sizing_.CapacitySlots(
        directory_.segments().total() - directory_.segments().bad_segments(),
        directory_.map().checkpoint_bytes());
  }
  /// Of whole pages.
  uint64_t capacity_pages() const { return capacity_slots() / sizing_.geometry.slots_per_page; }
  /// Whether the pages take more than the file has room for, and the device is full: pages that
  /// were compressed have become larger.
  bool IsOverfull() const;
  double space_utilization() const;
  double min_utilization() const { return min_utilization_.load(std::memory_order_relaxed); }
  double max_utilization() const { return max_utilization_.load(std::memory_order_relaxed); }
  void ResetExtremes();
  const SpaceSizing& sizing() const { return sizing_; }

 private:
  // Counts a thread as waiting while it exists.
  class Waiter {
   public:
    explicit Waiter(std::atomic<uint32_t>& waiters) : waiters_(waiters) {
      waiters_.fetch_add(1, std::memory_order_seq_cst);
    }
    ~Waiter() { waiters_.fetch_sub(1, std::memory_order_seq_cst); }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

   private:
    std::atomic<uint32_t>& waiters_;
  };

  static constexpr uint32_t kReservePerWatermark = 8, kFilePerWatermark = 256;  // segments
  uint32_t reserve_segments() const {
    return sizing_.ReserveOf(directory_.segments().total(), directory_.map().checkpoint_bytes());
  }
  // Segments with bad slots do not count: the file grows by as many.
  uint32_t TargetSegments(uint64_t live, uint64_t map_bytes) const {
    if (IsYoungWith(live)) return SpaceSizing::kYoungSegments;
    return sizing_.TargetSegments(live, map_bytes) + directory_.segments().bad_segments();
  }
  bool IsYoungWith(uint64_t live) const {
    return directory_.segments().total() <= SpaceSizing::kYoungSegments &&
           directory_.segments().bad_segments() == 0 && live <= sizing_.YoungSlots();
  }
  std::optional<SegmentId> TakeYoungSegment(Claim claim, SegmentKind kind);
  bool GrowUp();
  absl::Status GrowTo(uint32_t target);
  absl::Status AdmitPage(uint64_t limit);
  absl::Status GrowFor(uint64_t live, uint64_t map_bytes, bool late, bool full);
  absl::Status ResizeTo(uint32_t segments);
  bool GrowByOne();
  uint64_t WriteAheadBytes(uint64_t needed) const;
  std::optional<SegmentId> WaitForSegment(absl::FunctionRef<std::optional<SegmentId>()> take);
  void NoteUtilization();

  PageDirectory& directory_;
  StoreCore& core_;
  const SpaceSizing sizing_;
  FinishedWrites* writes_ = nullptr;

  Mutex resize_mutex_;  // held across Resize of the device; no other thread waits for its holder
  std::atomic<Nanos> no_growth_before_{0};  // after a full device: time of the next try

  std::atomic<uint64_t> signal_at_{UINT64_MAX};
  std::atomic<uint32_t> work_{0};
  std::atomic<bool> worker_sleeps_{false};
  std::atomic<bool> asked_for_holes_{false};
  std::atomic<uint32_t> freed_{0};  // sequence of events that waiters look for
  std::atomic<uint32_t> waiters_{0};
  std::atomic<uint64_t> taken_by_cleaner_{0};
  std::atomic<uint32_t> passes_without_gain_{0};

  std::atomic<double> min_utilization_{1.0};
  std::atomic<double> max_utilization_{0.0};
};

}  // namespace latchkey
