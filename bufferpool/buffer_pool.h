// The buffer pool: the fix/unfix protocol, and the interface of everything in this folder. Its parts
// (README.md) know one another as far as their constructors say, and none of them knows the pool.
//
// A page is *fixed* in one of three ways (thesis 3.2.2; guards in page_guard.h):
//  - optimistic: nothing is latched; the reader acts on the bytes it read only after Validate();
//  - shared: latched against modification, pinned in its frame;
//  - exclusive: latched for modification, pinned; unfixed with its modified flag.
// Every fix of a page, optimistic ones included, is counted once and reported to the fix policy once.
// It is a miss if a read of the page was made for it: by the fix itself, or ahead of its first use.
// It is neither hit nor miss if the page is new. Otherwise it is a hit.
//
// Frames are type-stable (buffer_frames.h). After an eviction an optimistic reader of the page may
// read bytes of another page. It never reads unmapped memory, and Validate() tells it that the bytes
// do not count.
//
// Invariants:
//  1. A page is in at most one frame; its word names the frame (page_word.h). Private copies are not
//     in frames of the pool (private_copies.h).
//  2. BufferFrames::PageOf(f) is the page in frame f, and changes only under that page's exclusive
//     latch.
//  3. A dirty frame gets another page only after the PageStore has accepted its content.
//  4. No thread waits for a latch while it holds the policy's lock (evictor.h).
//  5. A thread may wait for a frame while it holds page latches, because an eviction skips latched
//     pages. So a pool needs more frames than its actors latch at once. After a bounded wait the
//     fix fails with ResourceExhausted.
//  6. With a write-ahead log: a page reaches the PageStore only when the log is durable up to the
//     page's LSN. A thread may wait for that while it holds page latches, because flushing the log
//     needs none.
//
// Thread-safety: every function may be called from all actors at once, except construction,
// destruction and the Set functions.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "bufferpool/absent_pages.h"
#include "bufferpool/buffer_frames.h"
#include "bufferpool/evictor.h"
#include "bufferpool/fix_choices.h"
#include "bufferpool/fix_policy.h"
#include "bufferpool/fix_recorder.h"
#include "bufferpool/log_before_page.h"
#include "bufferpool/miss_gate.h"
#include "bufferpool/page_guard.h"
#include "bufferpool/page_ids.h"
#include "bufferpool/page_loader.h"
#include "bufferpool/page_table.h"
#include "bufferpool/pool_actor.h"
#include "bufferpool/pool_resizer.h"
#include "bufferpool/private_copies.h"
#include "bufferpool/write_back.h"
#include "storage/base/ids.h"
#include "storage/base/latency_recorder.h"
#include "storage/page_store.h"
#include "storage/runtime/runtime.h"
#include "storage/wal/log.h"

namespace latchkey {

struct BufferPoolStats {
  uint64_t fixes = 0, hits = 0, misses = 0;  ///< fixes = hits + misses + new pages
  uint64_t leaf_fixes = 0, inner_fixes = 0;  ///< of these fixes, those of tree pages
  uint64_t scouting_fixes = 0;  ///< of these fixes, those made only to find what to read ahead
  uint64_t demand_reads = 0;    ///< pages read from the store because a fix asked for them
  uint64_t ahead_reads = 0;     ///< pages read from the store before a fix asked for them
  uint64_t wasted_reads = 0;    ///< of these, pages that were evicted before a fix used them
  uint64_t redo_reads = 0;      ///< pages read from the store for redo
  uint64_t change_reads = 0;    ///< pages read from the store because changes waited for them
  uint64_t new_pages = 0;       ///< pages that came into a frame without a read
  /// Pages read from the store in vain, because another actor had changed the page's word meanwhile.
  /// Not part of the reads above.
  uint64_t failed_page_ins = 0;
  /// Pages read from the store.
  uint64_t reads() const { return demand_reads + ahead_reads + redo_reads + change_reads; }
  uint64_t sync_page_writes = 0;   ///< dirty victims written by the actor that needed the frame
  uint64_t async_page_writes = 0;  ///< by page cleaners and checkpoints
  uint64_t frames = 0, free_frames = 0, dirty_frames = 0;  ///< now
  FixPolicyStats policy;
};

/// Leaks found in a pool that no thread uses: zeros unless there is a bug.
struct LeakedFrames {
  uint64_t latched = 0;  ///< pages that are still latched
  uint64_t lost = 0;     ///< frames that hold no page and are not free
};

class BufferPool {
 public:
  /// A pool over `store` with `frames` frames (at least kMinFrames), which can grow to
  /// `max_frames`. REQUIRES: `policy` was made for the same two numbers.
  static absl::StatusOr<std::unique_ptr<BufferPool>> Create(Runtime& runtime, PageStore& store,
                                                            std::unique_ptr<FixPolicy> policy,
                                                            uint32_t frames, uint32_t max_frames);
  /// Drops dirty pages: call WriteAllDirty before. REQUIRES: no guard is alive.
  ~BufferPool();

  static constexpr uint32_t kMinFrames = 16;
  /// Bytes of memory per frame besides the page itself and FixPolicy::bytes_per_frame.
  static constexpr size_t kFrameOverhead = BufferFrames::kBytesPerFrame;

  uint32_t page_size() const { return frames_.page_size(); }
  Runtime& runtime() { return runtime_; }
  PageStore& store() { return store_; }

  /// Log before page: from now on the pool hands a page to the store only when `log` is durable up
  /// to the page's LSN. Set before the first page is changed; nullptr: no log.
  void SetWriteAheadLog(WriteAheadLog* log) { log_.SetLog(log); }
  /// From now on freed ids go to `freed_pages`. nullptr: at once to the store.
  void SetFreedPages(FreedPages* freed_pages) { ids_.SetFreedPages(freed_pages); }

  /// Checks each page read from the store, in addition to the store's own proof of the page. The
  /// fix returns its error. Set before the first fix; nullptr: no check.
  using PageCheck = PageLoader::PageCheck;
  void SetPageCheck(PageCheck check) { loader_.SetPageCheck(check); }
  /// From now on reading a page is DataLoss if its LSN is at or behind the durable end of the log.
  /// By the write-ahead rule there is no such page unless the log has lost its end. Do not call it
  /// before redo has ended, because redo replaces damaged pages.
  void RefusePagesBeyondLog() { loader_.RefusePagesBeyondLog(); }

  /// Where the pool and its cleaners note how long page reads, writes and waits for frames take;
  /// nullptr: nowhere. Reads are those that an actor waits for. A write lasts from the store's
  /// acceptance to the device; cleaners of a fixed number of writes time none.
  struct Latencies {
    LatencyRecorder* reads = nullptr;
    LatencyRecorder* writes = nullptr;
    WaitWatch waits = {};
  };
  /// Set before the first fix and before there are cleaners.
  void SetLatencies(const Latencies& latencies) {
    loader_.SetLatencies(runtime_, latencies.reads, latencies.waits.ledger);
    evictor_.SetWaits(latencies.waits);
    write_latencies_ = latencies.writes;
  }
  LatencyRecorder* write_latencies() const { return write_latencies_; }

  /// How the layers above fix what they read. Set before they are made on top of the pool.
  void SetFixMode(FixMode mode) { fix_mode_ = mode; }
  FixMode fix_mode() const { return fix_mode_; }
  /// How pages are read from the store. Set before the first fix.
  void SetPageIn(PageIn page_in) { loader_.SetPageIn(page_in); }

  /// The calling actor's part of the pool, valid while the actor lives. Pass it to the fixes.
  PoolActor& Here() { return actors_.Here(); }

  // ---- Fixing. NotFound: the page was never written. DataLoss: its proof failed.

  absl::Status FixOptimistic(PoolActor& actor, PageId page, OptimisticGuard* guard) {
    if (__builtin_expect(TryFixOptimistic(actor, page, guard), 1)) return absl::OkStatus();
    return FixOptimisticSlow(actor, page, table_.WordOf(page), guard);
  }
  /// FixOptimistic of a page that is resident and not exclusively latched; otherwise false and no
  /// fix.
  bool TryFixOptimistic(PoolActor& actor, PageId page, OptimisticGuard* guard) {
    if (!TryPeek(page, guard)) return false;
    CountFix(actor, guard->state().frame(), page, FixKind::kShared);
    return true;
  }
  absl::Status FixShared(PoolActor& actor, PageId page, SharedGuard* guard);
  absl::Status FixExclusive(PoolActor& actor, PageId page, ExclusiveGuard* guard) {
    return FixExclusive(actor, page, LoadCause::kDemand, guard);
  }
  /// Latches the page of an optimistic guard if the page has not changed since the guard was made.
  /// A page of which the guard saw a private copy comes into a shared frame. The fix is not counted
  /// again. False: the page has changed, and the caller restarts.
  bool TryUpgrade(const OptimisticGuard& guard, ExclusiveGuard* exclusive) {
    if (!TryLatch(guard, exclusive)) return false;
    TraceHere(exclusive->frame(), guard.page(), FixKind::kUpgrade);
    return true;
  }
  bool TryUpgrade(const OptimisticGuard& guard, SharedGuard* shared);
  /// Fixes the page of `guard` again, exclusively, if the page has not changed since `guard` was
  /// made; otherwise false and no fix. The guard may be arbitrarily old.
  bool TryRefix(PoolActor& actor, const OptimisticGuard& guard, ExclusiveGuard* exclusive) {
    if (!guard || !TryLatch(guard, exclusive)) return false;
    CountFix(actor, exclusive->frame(), guard.page(), FixKind::kExclusive);
    return true;
  }
  /// The same, latched shared.
  bool TryRefix(PoolActor& actor, const OptimisticGuard& guard, SharedGuard* shared) {
    if (!guard || !TryUpgrade(guard, shared)) return false;
    CountFix(actor, Observe(*shared).state().frame(), guard.page(), FixKind::kShared);
    return true;
  }
  /// The same, optimistically. True: `guard` may be used for another read. Always false for a guard
  /// of a private copy, whose frame may hold another page by now.
  bool TryRefix(PoolActor& actor, const OptimisticGuard& guard) {
    if (!guard || !guard.Validate() || !guard.state().resident()) return false;
    CountFix(actor, guard.state().frame(), guard.page(), FixKind::kShared);
    return true;
  }
  /// An optimistic guard of the page of `guard`. No fix. It validates while `guard` lives, and until
  /// the page changes.
  OptimisticGuard Observe(const SharedGuard& guard) {
    PageWord& word = table_.WordOf(guard.page());
    return OptimisticGuard(&word, word.Read(), guard.data(), guard.page());
  }
  /// Unfixes `guard` and returns an optimistic guard of the page as it then is.
  OptimisticGuard UnfixToOptimistic(ExclusiveGuard guard);

  /// A new page, zeroed, exclusively latched, dirty.
  absl::Status NewPage(PoolActor& actor, ExclusiveGuard* guard);
  /// Gives the page in `guard` back to the store, or to FreedPages, before the latch is released.
  /// The guard is empty afterwards.
  void FreePage(PoolActor& actor, ExclusiveGuard guard);
  /// As ExclusiveGuard::Invalidate, for a page that is not fixed. It is not read. Waits for those that
  /// have it latched.
  void Invalidate(PageId page);
  /// As FreePage, for a page that is not fixed. REQUIRES: no other thread can reach the page.
  absl::Status FreePageById(PoolActor& actor, PageId page);
  /// Gives the id of a freed page back to the store. Called by FreedPages.
  void ReturnPageId(PoolActor& actor, PageId page);

  /// As FixExclusive, for redo. A page that is not allocated in the store is allocated, and comes
  /// zeroed, with LSN 0. With `is_replaced` (a full image follows) a page that fails its proof
  /// comes zeroed too.
  absl::Status FixForRedo(PoolActor& actor, PageId page, bool is_replaced, ExclusiveGuard* guard);

  /// Loads those of `pages` that are not resident, with all reads in flight at once. A hint.
  void Prefetch(PoolActor& actor, std::span<const PageId> pages) {
    loader_.LoadAhead(actor, pages);
  }
  /// Prefetches the page table's word of `page` into the processor's cache.
  void PrefetchTranslation(PageId page) { __builtin_prefetch(&table_.WordOf(page)); }
  /// Where the bytes of `page` are now, to prefetch them (not a fix); nullptr: in no frame.
  const std::byte* BytesOf(PageId page) {
    const PageState state = table_.WordOf(page).ReadRelaxed();
    return state.resident() ? frames_.DataOf(state.frame()) : nullptr;
  }
  /// Whether `page` is in a frame now (not a fix).
  bool IsResident(PageId page) { return table_.WordOf(page).ReadRelaxed().resident(); }

  // ---- Pages in no frame.

  /// From now on the pool calls `absent` for each page that enters or leaves a frame. nullptr: it calls
  /// nothing.
  /// REQUIRES: no actor uses the pool now; PageIn::kBlocking; no private copies.
  void SetAbsentPages(AbsentPages* absent) {
    absent_ = absent;
    loader_.SetAbsentPages(absent);
    evictor_.SetAbsentPages(absent);
  }
  /// Latches `page` if it is in no frame, and no actor loads or latches it now. If not, the guard is
  /// empty.
  AbsentGuard TryLatchAbsent(PageId page);
  /// Loads pages that changes wait for, with all reads in flight at once. A hint. `is_in_use`: they
  /// have been changed many times and will be again, so the policy learns of two hits of each.
  void BringIn(PoolActor& actor, std::span<const PageId> pages, bool is_in_use = false) {
    loader_.LoadForChanges(actor, pages, is_in_use);
  }

  // ---- Cleaning.

  /// Hands the page in `frame` to `writer` if it is dirty, can be latched without waiting, and the
  /// log is durable up to its LSN. Returns whether it did.
  absl::StatusOr<bool> TryClean(FrameId frame, PageWriter& writer) {
    return write_back_.TryClean(frame, writer);
  }
  /// Whether page cleaners should not flush the log now, because its space is scarce.
  bool SparesLog() const { return log_.scarce(); }
  /// Makes the log durable up to the newest LSN of the dirty pages among `frames`, with one flush.
  absl::Status MakeLogDurable(std::span<const FrameId> frames) {
    return log_.MakeDurableFor(frames);
  }
  /// Hands every page that is dirty now to the store. Fuzzy: other actors go on.
  absl::Status WriteAllDirty() { return WriteDirtyBefore(Lsn{UINT64_MAX}); }
  /// Hands every page to the store that holds an unwritten change with an LSN below `lsn`; on
  /// return the store has accepted all of them. Waits for pages that are latched exclusively now,
  /// because their change may already have its LSN. Fuzzy: other actors go on.
  /// With `unlogged_too` it also hands over pages whose unwritten changes were not logged, if their
  /// page LSN is below `lsn`.
  absl::Status WriteDirtyBefore(Lsn lsn, bool unlogged_too = false);
  /// Copies `page` to `out` if it is resident, clean and can be latched without waiting.
  bool CopyIfClean(PageId page, std::byte* out);
  bool IsDirty(FrameId frame) const { return frames_.IsDirty(frame); }
  /// Attaches `signal`; nullptr detaches. REQUIRES: the signal lives until it is detached.
  void SetCleanerSignal(CleanerSignal* signal) { evictor_.SetSignal(signal); }
  /// Set before the first fix.
  void SetEviction(const EvictionOptions& options) { evictor_.SetOptions(options); }
  /// The longest time that a miss waited for a frame, of the waits that ended since the last call,
  /// in nanoseconds; 0: no miss evicted.
  Nanos TakeLongestFrameWait() { return evictor_.TakeLongestWait(); }
  FixPolicy& policy() { return *policy_; }
  /// The most frames that Resize allows, and their present number.
  uint32_t max_frames() const { return frames_.max_count(); }
  uint32_t frames() const { return frames_.count(); }

  /// Changes the number of frames while all actors go on. InvalidArgument outside
  /// [kMinFrames, max_frames]; ResourceExhausted when one of the frames to give up stays latched
  /// for some seconds; otherwise the error of writing the pages in them.
  absl::Status Resize(uint32_t frames);

  /// From now on each fix is reported to `recorder`; nullptr: to none. A fix that has begun before
  /// may still be reported to the former one. REQUIRES: every recorder outlives the pool.
  void SetFixRecorder(FixRecorder* recorder) { actors_.SetRecorder(recorder); }

  BufferPoolStats stats() const;
  /// REQUIRES: no thread uses the pool, and no guard is alive.
  LeakedFrames CountLeaks();
  /// Bytes of frames, their bookkeeping and the page table.
  uint64_t memory_bytes() const;

 private:
  friend class SharedGuard;
  friend class ExclusiveGuard;

  BufferPool(Runtime& runtime, PageStore& store, std::unique_ptr<FixPolicy> policy, uint32_t frames,
             uint32_t max_frames);

  /// A guard of `page` as it is now, if the page is resident and not exclusively latched. No fix.
  bool TryPeek(PageId page, OptimisticGuard* guard) {
    PageWord& word = table_.WordOf(page);
    const PageState state = word.Read();
    if (!state.resident() || state.exclusive()) return false;
    *guard = OptimisticGuard(&word, state, frames_.DataOf(state.frame()), page);
    return true;
  }
  /// Counts a fix of the page in `frame`, of the type that the page now says it has. To an optimistic
  /// reader it may be another page's by then.
  void CountFixOfType(PoolActor& actor, FrameId frame) {
    CountFixOfType(actor, frames_.DataOf(frame));
  }
  static void CountFixOfType(PoolActor& actor, const std::byte* bytes) {
    const size_t type = RacyLoad<uint8_t>(bytes + offsetof(PageHeader, page_type));
    PoolActor::Add(actor.fixes_of_type[type < PoolActor::kCountedTypes ? type : 0], 1);
  }
  /// Counts and reports a fix of a page that was resident.
  void CountFix(PoolActor& actor, FrameId frame, PageId page, FixKind kind) {
    CountFixOfType(actor, frame);
    if (policy_->OnFix(frame, page, actor.index) == FixPolicy::Fix::kFirstUse) {
      PoolActor::Add(actor.first_uses, 1);
      return Trace(actor, frames_.DataOf(frame), page, kind, true);
    }
    Trace(actor, frames_.DataOf(frame), page, kind, false);
  }
  /// Counts and reports a fix for which the page came into `frame`.
  void CountLoad(PoolActor& actor, FrameId frame, PageId page, FixKind kind) {
    CountFixOfType(actor, frame);
    Trace(actor, frames_.DataOf(frame), page, kind, kind != FixKind::kNew);
  }
  /// Reports a fix of `page`, whose bytes are at `bytes`, if there is a recorder.
  void Trace(PoolActor& actor, const std::byte* bytes, PageId page, FixKind kind, bool missed) {
    FixRecorder* const recorder = actor.recorder.load(std::memory_order_acquire);
    if (__builtin_expect(recorder != nullptr, 0)) {
      Record(*recorder, actor, bytes, page, kind, missed);
    }
  }
  [[gnu::cold, gnu::noinline]] void Record(FixRecorder& recorder, PoolActor& actor,
                                           const std::byte* bytes, PageId page, FixKind kind,
                                           bool missed);
  /// As Trace, for callers without their actor at hand.
  void TraceHere(FrameId frame, PageId page, FixKind kind) {
    if (__builtin_expect(actors_.recorder() != nullptr, 0)) {
      Trace(Here(), frames_.DataOf(frame), page, kind, false);
    }
  }
  /// TryUpgrade to an exclusive latch, which is not reported.
  bool TryLatch(const OptimisticGuard& guard, ExclusiveGuard* exclusive);

  absl::Status FixOptimisticSlow(PoolActor& actor, PageId page, PageWord& word,
                                 OptimisticGuard* guard);
  /// FixOptimistic by an actor with private copies: a page in no shared frame is read there.
  absl::Status FixCopy(PoolActor& actor, ActorCopies& copies, PageId page, PageWord& word,
                       OptimisticGuard* guard);
  /// TryUpgrade of a guard of a private copy: brings the page into a shared frame, and leaves `latch`
  /// on it. kNoFrame: the page has changed, or there is no frame for it.
  FrameId TryPromote(const OptimisticGuard& guard, uint64_t latch);
  /// Waits until `word` is resident and `acquire(state)` has latched it. If the page is not
  /// resident, loads it and leaves `loaded_latch` on it instead.
  template <typename Acquire>
  absl::Status FixWith(PoolActor& actor, PageId page, PageWord& word, FixKind kind, LoadCause cause,
                       uint64_t loaded_latch, Acquire acquire);
  absl::Status FixExclusive(PoolActor& actor, PageId page, LoadCause cause, ExclusiveGuard* guard);
  /// Waits for the exclusive latch of a page that may be resident or not. Returns its state before.
  PageState LatchAny(PageWord& word);
  /// Fixes `page` zeroed and dirty, without reading it from the store. REQUIRES: not resident.
  absl::Status FixZeroed(PoolActor& actor, PageId page, ExclusiveGuard* guard);
  /// Takes the page, latched exclusively, out of `frame`, and calls `release()` before the latch ends.
  void Remove(PoolActor& actor, FrameId frame, absl::FunctionRef<void()> release);
  absl::Status BringInChangedBefore(Lsn lsn);
  /// Takes `page` out of its frame, if it is resident, and calls `release()` with the page latched.
  void Discard(PoolActor& actor, PageId page, absl::FunctionRef<void()> release);

  void ReleaseShared(PageId page);
  /// Returns the state of the page's word after the release.
  PageState ReleaseExclusive(PageId page, FrameId frame, bool modified, bool invalidated);

  Runtime& runtime_;
  PageStore& store_;
  std::unique_ptr<FixPolicy> policy_;
  PageTable table_;
  BufferFrames frames_;
  LogBeforePage log_;
  PoolActors actors_;
  WriteBack write_back_;
  Evictor evictor_;
  MissGate gate_;
  PageLoader loader_;
  PageIds ids_;
  PoolResizer resizer_;
  std::unique_ptr<PrivateCopies> copies_;  // nullptr: the scheme has none
  AbsentPages* absent_ = nullptr;
  FixMode fix_mode_ = FixMode::kOptimistic;
  LatencyRecorder* write_latencies_ = nullptr;
};

// ---- Functions of the guards that need the pool.

inline void SharedGuard::Unfix() {
  if (pool_ != nullptr) std::exchange(pool_, nullptr)->ReleaseShared(page_);
}
inline const std::byte* ExclusiveGuard::data() const { return pool_->frames_.DataOf(frame_); }
inline std::byte* ExclusiveGuard::Mutable() {
  modified_ = true;
  return pool_->frames_.DataOf(frame_);
}
inline void ExclusiveGuard::Unfix() {
  if (pool_ == nullptr) return;
  std::exchange(pool_, nullptr)->ReleaseExclusive(page_, frame_, modified_, invalidated_);
}

}  // namespace latchkey
