// One region of a fix policy: some frames of the pool, an instance of the replacement algorithm over
// them, the lock of that instance, and their free frames.
//
// Invariants:
//  1. A frame of the region is in exactly one of four places: a free list; the algorithm (then its
//     record has its page); a queued load (see AccessQueues); or with one caller, which got it from
//     Evict or a free list, or has removed its page.
//  2. The algorithm, and the pages in the records of the region's frames, are accessed only under
//     the lock. A hit may be reported after its page was evicted, because optimistic visits do not
//     pin. Under the lock the hit is dropped unless the frame still holds that page.
//  3. At most one load of a frame is queued. An eviction does not see that frame. A removal, a
//     resize, and an eviction that finds no victim first take all entries out of the queues.
#pragma once

#include <absl/functional/function_ref.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bufferpool/fix_policy.h"
#include "bufferpool/replacement_algorithm.h"
#include "bufferpool/synchronization/access_queues.h"
#include "bufferpool/synchronization/free_frame_stack.h"
#include "bufferpool/synchronization/scheme_lock.h"
#include "storage/base/zeroed_array.h"

namespace latchkey {

/// What a policy knows about a frame. All zeros: empty, of region 0.
struct FrameRecord {
  uint64_t page_plus_one;           ///< 0 = no page; guarded by the lock of the frame's region
  std::atomic<uint32_t> region;     ///< changes only in Resize
  std::atomic<uint32_t> free_list;  ///< the list that it joins when it is empty
};

/// The tables that all regions of a policy share, indexed by frame id.
struct FrameRecords {
  explicit FrameRecords(size_t max_frames) : records(max_frames + 1), free_links(max_frames + 1) {}

  FrameRecord& Of(FrameId frame) { return records[Raw(frame)]; }

  ZeroedArray<FrameRecord> records;
  ZeroedArray<std::atomic<uint32_t>> free_links;
};

/// When the entries of an actor's queue are reported (BP-Wrapper's S and T, in accesses since the last
/// report), and where misses find free frames.
struct BatchingRules {
  AccessQueues* queues = nullptr;  ///< nullptr: every access is reported at once
  size_t threshold = 1;            ///< accesses from which on the actor tries to take the lock
  bool prefetch = false;           ///< before it tries for the first time
  size_t free_lists = 1;           ///< per region
};

/// On its own cache lines, because other threads lock the neighbouring regions. Thread-safe, except
/// for SetFrames and what needs the lock.
class alignas(128) Region {
 public:
  Region(Runtime& runtime, LockKind lock_kind, uint32_t number, FrameRecords& frames,
         const BatchingRules& rules);

  // The calls of FixPolicy, for frames of this region.
  void OnHit(FrameId frame, PageId page, uint32_t actor) {
    Note({.page = page, .frame = frame, .kind = Access::Kind::kHit}, actor);
  }
  /// The actor has hit a frame whose hits need no report. If the actor has queued accesses, this hit
  /// counts as one more access (BP-Wrapper, Figure 7). REQUIRES: there are queues.
  void CountFreeHit(uint32_t actor) {
    if (const size_t accesses = rules_.queues->CountFreeHit(number_, actor)) {
      ReportIfDue(accesses, actor);
    }
  }
  void OnFirstUse(FrameId frame, PageId page, uint32_t actor) {
    Note({.page = page, .frame = frame, .kind = Access::Kind::kFirstUse}, actor);
  }
  void OnLoad(FrameId frame, PageId page, LoadKind kind, uint32_t actor);
  void Reinstate(FrameId frame, PageId page);
  void OnRemove(FrameId frame, PageId page);
  size_t Evict(PageId incoming, std::span<FrameId> victims, absl::FunctionRef<bool(FrameId)> claim,
               uint32_t actor);
  size_t PeekColdest(std::span<FrameId> out);
  void AddTo(FixPolicyStats* stats) const;

  /// Takes a frame from the free list that serves `incoming`. kNoFrame: that list is empty.
  FrameId PopFree(PageId incoming) { return free_lists_[FreeListOf(incoming)]->stack.Pop(); }
  /// Takes a frame from any free list of the region.
  FrameId PopAnyFree();
  void PushFree(FrameId frame);
  size_t free_frames() const;
  /// Whether the last eviction for this region found no victim in it. Misses then also try the other
  /// free lists.
  bool exhausted() const { return exhausted_.load(std::memory_order_relaxed); }
  void SetExhausted(bool exhausted) {
    if (this->exhausted() != exhausted) exhausted_.store(exhausted, std::memory_order_relaxed);
  }

  // ---- Resize. All but lock() REQUIRE: the caller holds lock(), and only hits are reported.

  SchemeLock& lock() LATCHKEY_RETURN_CAPABILITY(lock_) { return lock_; }
  ReplacementAlgorithm& algorithm() LATCHKEY_REQUIRES(lock_) { return *algorithm_; }
  /// Reports what the actors have queued.
  void DrainQueues() LATCHKEY_REQUIRES(lock_);
  void SetFrames(size_t frames, std::unique_ptr<ReplacementAlgorithm> algorithm)
      LATCHKEY_REQUIRES(lock_);
  void SetFrames(size_t frames) LATCHKEY_REQUIRES(lock_) { frames_ = frames; }

 private:
  class Locked;
  // On lines of their own: each list has one hot word.
  struct alignas(128) FreeList {
    FreeList(Runtime& runtime, std::atomic<uint32_t>* links) : stack(runtime, links) {}
    FreeFrameStack stack;
  };

  uint32_t FreeListOf(PageId page) const;
  void CountLock(bool slept);
  // Queues the access or reports it at once.
  void Note(const Access& access, uint32_t actor);
  // Reports the actor's queue if it has made enough accesses since the last report.
  void ReportIfDue(size_t accesses, uint32_t actor);
  void PrefetchQueued(uint32_t actor) LATCHKEY_NO_THREAD_SAFETY_ANALYSIS;
  void Report(const Access& access) LATCHKEY_REQUIRES(lock_);
  void ReportQueue(uint32_t actor) LATCHKEY_REQUIRES(lock_);
  // Notes that `page` is in `frame`.
  void Record(FrameId frame, PageId page) LATCHKEY_REQUIRES(lock_);
  size_t ChooseVictims(PageId incoming, std::span<FrameId> victims,
                       absl::FunctionRef<bool(FrameId)> claim) LATCHKEY_REQUIRES(lock_);

  const uint32_t number_;
  FrameRecords& all_;
  const BatchingRules rules_;
  SchemeLock lock_;
  std::unique_ptr<ReplacementAlgorithm> algorithm_ LATCHKEY_GUARDED_BY(lock_)
      LATCHKEY_PT_GUARDED_BY(lock_);
  size_t frames_ LATCHKEY_GUARDED_BY(lock_) = 0;
  std::atomic<uint64_t> lock_acquisitions_{0};
  std::atomic<uint64_t> contentions_{0};
  std::vector<std::unique_ptr<FreeList>> free_lists_;
  alignas(128) std::atomic<bool> exhausted_{false};
};

}  // namespace latchkey
