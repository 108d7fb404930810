// The buffer pool: frames, page translation, latches and the fix/unfix protocol.
//
// A page is *fixed* in one of three ways (thesis 3.2.2; guards in page_guard.h):
//  - optimistic: nothing is latched; what was read is acted upon only after Validate();
//  - shared: latched against modification, pinned in its frame;
//  - exclusive: latched for modification, pinned; unfixed with its modified flag.
// Every fix of a page, optimistic ones included, is reported to the fix policy exactly once: as a
// hit, or as the load that it caused. hits + misses = fixes.
//
// Frames are type-stable: one reserved range of memory that is never unmapped while the pool lives,
// so an optimistic reader that lost its page reads stale bytes, never a fault.
//
// Invariants:
//  1. A page is in at most one frame; its word in the page table says which (page_table.h).
//  2. frame_[f].page is the page in frame f, and changes only under that page's exclusive latch.
//  3. A dirty frame is never given to another page before the PageStore has accepted its content.
//  4. Nothing waits for a latch while holding the policy's lock; eviction only tries.
//  5. Whoever holds page latches may wait for frames (evictions only try), so a pool needs more
//     frames than its actors latch at once; past a bounded wait the fix fails with
//     ResourceExhausted.
//  6. With a write-ahead log: a page reaches the PageStore only when the log is durable up to the
//     page's LSN. Whoever waits for that may hold page latches, because flushing needs none.
//
// Thread-safety: everything may be called from every actor at once, except construction,
// destruction and the Set functions.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bufferpool/fix_policy.h"
#include "bufferpool/page_guard.h"
#include "bufferpool/page_table.h"
#include "storage/base/ids.h"
#include "storage/page_format.h"
#include "storage/page_store.h"
#include "storage/runtime/mutex.h"
#include "storage/runtime/runtime.h"
#include "storage/wal/log.h"

namespace latchkey {

/// Whether asking for pages ahead is worth its price: after a batch of which every page was there,
/// most of the following batches go unasked.
class PrefetchGauge {
 public:
  bool ShouldAsk() { return skip_ == 0 || --skip_ == 0; }
  void Note(bool pages_were_missing) { skip_ = pages_were_missing ? 0 : kSkip; }

 private:
  static constexpr uint32_t kSkip = 64;
  uint32_t skip_ = 0;
};

/// Counters of one actor: written by it alone (relaxed load and store), summed by readers.
struct alignas(64) PoolActor {
  uint32_t index = 0;
  std::atomic<uint64_t> hits{0};
  std::atomic<uint64_t> misses{0};
  std::atomic<uint64_t> sync_writes{0};
  PrefetchGauge prefetch_pays;
  /// Memory of one page, for the actor's own use between two calls: whoever is in the middle of a
  /// change cannot wait for memory.
  std::unique_ptr<uint64_t[]> scratch;
  std::unique_ptr<PageWriter> writer;  ///< for dirty victims; created at the first one

  static void Add(std::atomic<uint64_t>& counter, uint64_t n) {
    counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
};

struct BufferPoolStats {
  uint64_t hits = 0, misses = 0;
  uint64_t sync_page_writes = 0;   ///< dirty victims written by the actor that needed the frame
  uint64_t async_page_writes = 0;  ///< by page cleaners and checkpoints
  uint64_t frames = 0, free_frames = 0, dirty_frames = 0;  ///< now
  FixPolicyStats policy;
};

/// What is left over where nobody uses the pool any more: all zeros unless something leaks.
struct LeakedFrames {
  uint64_t latched = 0;  ///< pages with a latch that nobody gives back
  uint64_t lost = 0;     ///< frames that hold no page and that nobody can get
};

/// Wakes the page cleaners; implemented by them.
class CleanerSignal {
 public:
  virtual ~CleanerSignal() = default;
  /// `evicted` frames lost their pages; `dirty_victims` of them had to be written synchronously.
  /// Cheap: called on every miss that finds no free frame.
  virtual void OnEviction(size_t evicted, size_t dirty_victims) = 0;
};

/// Keeps the ids of freed pages until the log record of the free is durable: before that, the old
/// page must not be overwritten. Implemented by whoever writes the log.
class FreedPages {
 public:
  virtual ~FreedPages() = default;
  /// The frame of `page` is gone. Its id is to reach BufferPool::ReturnPageId once everything that
  /// has been logged so far is durable. Called with latches held: never calls back. False when
  /// there is no memory to remember it: then everything logged so far is durable already (or never
  /// will be, and the store is read-only), and the page goes to the store at once.
  virtual bool Defer(PageId page) = 0;
  /// The store is full: makes the log durable and returns the ids that wait. False when none did.
  /// The caller may hold latches.
  virtual bool ReturnAll() = 0;
};

class BufferPool {
 public:
  /// A pool of `frames` frames (at least kMinFrames) that can grow to `max_frames` later, over
  /// `store`. `policy` was made for the same two numbers.
  static absl::StatusOr<std::unique_ptr<BufferPool>> Create(Runtime& runtime, PageStore& store,
                                                            std::unique_ptr<FixPolicy> policy,
                                                            uint32_t frames, uint32_t max_frames);
  /// REQUIRES: no guard is alive. Dirty pages are dropped: WriteAllDirty first.
  ~BufferPool();

  static constexpr uint32_t kMinFrames = 16;
  /// Bytes of memory per frame besides the page itself.
  static constexpr size_t kFrameOverhead = 32;

  uint32_t page_size() const { return page_size_; }
  Runtime& runtime() { return runtime_; }
  PageStore& store() { return store_; }

  /// Log before page: from now on pages are handed to the store only when `log` is durable up to
  /// their LSN. Set before the first page is changed; nullptr: no log.
  void SetWriteAheadLog(WriteAheadLog* log) { log_ = log; }
  /// From now on freed ids go there instead of to the store. nullptr: at once to the store.
  void SetFreedPages(FreedPages* freed_pages) { freed_pages_ = freed_pages; }

  /// What a page has to be, beyond the store's proof, before anybody sees it: asked once for each
  /// page that is read. An error is the fix's. Set before the first fix; nullptr: anything.
  using PageCheck = absl::Status (*)(PageId page, std::span<const std::byte> bytes);
  void SetPageCheck(PageCheck check) { page_check_ = check; }
  /// From now on a page that was changed behind the durable end of the log, which no page on the
  /// device can be, is DataLoss when it is read. Not during redo, which replaces damaged pages.
  void RefusePagesBeyondLog() { refuses_pages_beyond_log_ = true; }

  /// The calling actor's part of the pool: valid while the actor lives; pass it to the fixes.
  PoolActor& Here();

  // ---- Fixing. NotFound: the page was never written. DataLoss: its proof failed.

  absl::Status FixOptimistic(PoolActor& actor, PageId page, OptimisticGuard* guard) {
    if (__builtin_expect(TryFixOptimistic(actor, page, guard), 1)) return absl::OkStatus();
    return FixOptimisticSlow(actor, page, table_.WordOf(page), guard);
  }
  /// FixOptimistic of a page that is resident and not being modified; false (and no fix) otherwise.
  bool TryFixOptimistic(PoolActor& actor, PageId page, OptimisticGuard* guard) {
    if (!TryPeek(page, guard)) return false;
    CountHit(actor, guard->state().frame(), page);
    return true;
  }
  absl::Status FixShared(PoolActor& actor, PageId page, SharedGuard* guard);
  absl::Status FixExclusive(PoolActor& actor, PageId page, ExclusiveGuard* guard);
  /// Turns a guard that was fixed optimistically (and counted then) into a latched one if the page
  /// has not changed since; false = it has, restart.
  bool TryUpgrade(const OptimisticGuard& guard, ExclusiveGuard* exclusive);
  bool TryUpgrade(const OptimisticGuard& guard, SharedGuard* shared);
  /// Fixes the page of `guard` once more, exclusively, if it has not changed since `guard` was
  /// made, however long ago; false (and no fix) otherwise.
  bool TryRefix(PoolActor& actor, const OptimisticGuard& guard, ExclusiveGuard* exclusive) {
    if (!guard || !TryUpgrade(guard, exclusive)) return false;
    CountHit(actor, exclusive->frame(), guard.page());
    return true;
  }
  /// The same, optimistically: true means that `guard` is good for another read.
  bool TryRefix(PoolActor& actor, const OptimisticGuard& guard) {
    if (!guard || !guard.Validate()) return false;
    CountHit(actor, guard.state().frame(), guard.page());
    return true;
  }
  /// Unfixes `guard` and returns an optimistic guard of the state it leaves behind.
  OptimisticGuard UnfixToOptimistic(ExclusiveGuard guard);

  /// A new page, zeroed, exclusively latched, dirty.
  absl::Status NewPage(PoolActor& actor, ExclusiveGuard* guard);
  /// Gives the page in `guard` back to the store (or to FreedPages, before the latch is released);
  /// the guard is empty afterwards.
  void FreePage(PoolActor& actor, ExclusiveGuard guard);
  /// As FreePage, for a page that is not fixed and that nobody else can reach.
  absl::Status FreePageById(PoolActor& actor, PageId page);
  /// Gives the id of a freed page back to the store: what FreedPages calls in the end.
  void ReturnPageId(PoolActor& actor, PageId page);

  /// As FixExclusive, for redo: a page that the store does not know is made known to it and comes
  /// zeroed, with LSN 0. With `is_replaced` (a full image follows) so does one that fails its
  /// proof.
  absl::Status FixForRedo(PoolActor& actor, PageId page, bool is_replaced, ExclusiveGuard* guard);

  /// Brings those of `pages` that are not resident in, all reads in flight at once. A hint.
  void Prefetch(PoolActor& actor, std::span<const PageId> pages);
  /// Asks the processor for the translation of `page`.
  void PrefetchTranslation(PageId page) { __builtin_prefetch(&table_.WordOf(page)); }
  /// A guard of `page` as it is now, if it is resident and not being modified: not a fix, which is
  /// what TryRefix makes of it once it turns out to be needed.
  bool TryPeek(PageId page, OptimisticGuard* guard) {
    PageWord& word = table_.WordOf(page);
    const PageState state(word.load(std::memory_order_acquire));
    if (!state.resident() || state.exclusive()) return false;
    *guard = OptimisticGuard(&word, state, DataOf(state.frame()), page);
    return true;
  }
  /// Whether `page` is in a frame now (not a fix).
  bool IsResident(PageId page) {
    return PageState(table_.WordOf(page).load(std::memory_order_relaxed)).resident();
  }

  // ---- Cleaning.

  /// Hands the page in `frame` to `writer` if it is dirty, can be latched without waiting, and the
  /// log is durable up to its LSN. Returns whether it was handed over.
  absl::StatusOr<bool> TryClean(FrameId frame, PageWriter& writer) {
    return TryCleanIf(frame, writer, LogWait::kNever);
  }
  /// Whether flushes of the log only for the sake of cleaning ahead should wait.
  bool SparesLog() const { return log_ != nullptr && log_->scarce(); }
  /// Makes the log durable up to the newest LSN of the dirty pages among `frames`, in one go.
  absl::Status MakeLogDurable(std::span<const FrameId> frames);
  /// Hands every page that is dirty now to the store. Fuzzy: others go on.
  absl::Status WriteAllDirty() { return WriteDirtyBefore(Lsn{UINT64_MAX}); }
  /// Hands every page to the store that holds an unwritten change with an LSN below `lsn`: when it
  /// returns, the store has accepted all of them. Pages that are latched exclusively now are waited
  /// for, their change may have its LSN already. Fuzzy: others go on.
  /// With `unlogged_too` so goes every page with an LSN below `lsn` that holds only changes that
  /// were not logged.
  absl::Status WriteDirtyBefore(Lsn lsn, bool unlogged_too = false);
  /// A clean copy of `page` if it is resident, clean and can be latched without waiting.
  bool CopyIfClean(PageId page, std::byte* out);
  bool IsDirty(FrameId frame) const {
    return meta_[Raw(frame)].dirty.load(std::memory_order_relaxed);
  }
  /// nullptr detaches. The signal outlives its attachment.
  void SetCleanerSignal(CleanerSignal* signal) {
    cleaner_signal_.store(signal, std::memory_order_release);
  }
  FixPolicy& policy() { return *policy_; }
  /// Frames now.
  uint32_t max_frames() const { return max_frames_; }
  uint32_t frames() const { return frames_.load(std::memory_order_relaxed); }

  /// Changes the number of frames while everybody goes on. InvalidArgument outside
  /// [kMinFrames, max_frames]; ResourceExhausted when the frames to give up stay latched; otherwise
  /// the error of writing the pages in them.
  absl::Status Resize(uint32_t frames);

  BufferPoolStats stats() const;
  /// REQUIRES: nobody uses the pool, and no guard is to be alive.
  LeakedFrames CountLeaks();
  /// Bytes of frames, their bookkeeping and the page table.
  uint64_t memory_bytes() const;

 private:
  friend class SharedGuard;
  friend class ExclusiveGuard;

  struct FrameMeta {
    std::atomic<uint64_t> page{Raw(kInvalidPageId)};
    // The LSN of the first logged change that the store does not have; or, with kNothingLogged, the
    // page's LSN when it was last clean. Written with the page latched exclusively.
    std::atomic<uint64_t> rec_lsn{kNothingLogged};
    std::atomic<bool> dirty{false};
  };
  static constexpr uint64_t kNothingLogged = uint64_t{1} << 63;
  enum class LogWait { kNever, kLatched };

  BufferPool(Runtime& runtime, PageStore& store, std::unique_ptr<FixPolicy> policy, uint32_t frames,
             uint32_t max_frames);

  std::byte* DataOf(FrameId frame) const { return frame_memory_ + size_t{Raw(frame)} * page_size_; }
  void CountHit(PoolActor& actor, FrameId frame, PageId page) {
    PoolActor::Add(actor.hits, 1);
    policy_->OnHit(frame, page, actor.index);
  }

  absl::Status FixOptimisticSlow(PoolActor& actor, PageId page, PageWord& word,
                                 OptimisticGuard* guard);
  /// Waits until `word` is resident and `acquire(state)` has made the state transition of the
  /// wanted latch; if the page is not resident, loads it and leaves `loaded_latch` on it instead.
  template <typename Acquire>
  absl::Status FixWith(PoolActor& actor, PageId page, PageWord& word, uint64_t loaded_latch,
                       Acquire acquire);
  /// Reads the page into a frame and leaves `latch` on it. REQUIRES: the caller holds the exclusive
  /// latch of the word, and keeps it when this fails; not resident.
  absl::Status Load(PoolActor& actor, PageId page, PageWord& word, uint64_t latch);
  void ReadInto(std::span<PageRead> reads);
  void ReadUnchecked(std::span<PageRead> reads);
  absl::Status CheckRead(const PageRead& read) const;
  /// Publishes `page` in `frame` with `latch`; the load that it was is reported to the policy.
  void Publish(PoolActor& actor, PageId page, PageWord& word, FrameId frame, uint64_t latch);

  /// A frame for `incoming`, evicting when none is free. Waits a bounded time when `patient`.
  absl::StatusOr<FrameId> ObtainFrame(PoolActor& actor, PageId incoming, bool patient);
  /// Empties up to freed.size() frames; `written` tells how writing dirty victims went.
  size_t EvictBatch(PoolActor& actor, PageId incoming, std::span<FrameId> freed,
                    absl::Status* written);
  /// Latches the page of `frame` for eviction; only tries.
  bool TryClaim(FrameId frame);
  /// Sorts claimed victims into clean ones and dirty ones that may be written, and gives the others
  /// back to the policy; waits for the log only if there would be no victim. Returns how many are
  /// left; *clean of them, at the front, are clean.
  size_t SortVictims(PoolActor& actor, std::span<FrameId> claimed, size_t* clean,
                     absl::Status* written);
  void ReinstateVictim(PoolActor& actor, FrameId frame);
  /// Empties some frame whose page needs no flush of the log, whatever the policy thinks of it;
  /// false: there is none.
  bool FreeDurableFrame(PoolActor& actor);
  absl::Status WriteVictims(PoolActor& actor, std::span<const FrameId> dirty);
  absl::Status WriteClaimed(PoolActor& actor, std::span<const FrameId> dirty);
  void ReleaseEvicted(FrameId frame);
  static constexpr uint32_t kWriterDepth = 64;  // writes outstanding of one actor
  absl::StatusOr<PageWriter*> WriterOf(PoolActor& actor);

  Lsn LsnOf(FrameId frame) const {
    return Lsn{RacyLoad<uint64_t>(DataOf(frame) + offsetof(PageHeader, lsn))};
  }
  /// Whether the log is durable up to the page's LSN.
  bool LogIsDurableFor(FrameId frame) const {
    if (log_ == nullptr) return true;
    const uint64_t lsn = Raw(LsnOf(frame));
    return lsn == 0 || lsn < Raw(log_->durable());
  }
  bool HoldsChangeBefore(FrameId frame, Lsn lsn, bool unlogged_too) const;
  absl::StatusOr<bool> TryCleanIf(FrameId frame, PageWriter& writer, LogWait wait);
  absl::Status CleanBefore(FrameId frame, Lsn lsn, bool unlogged_too, PageWriter& writer);

  absl::StatusOr<PageId> AllocatePage();
  /// Fixes `page`, which is not resident, zeroed and dirty, without asking the store for it.
  absl::Status FixZeroed(PoolActor& actor, PageId page, ExclusiveGuard* guard);
  /// Takes `page` out of its frame, if it is in one, and calls `release()` with it latched.
  void Discard(PoolActor& actor, PageId page, absl::FunctionRef<void()> release);
  /// To the freed pages, or to the store. REQUIRES: the page is latched and in no frame's use.
  void GiveUpId(PageId page);

  void MarkDirty(FrameId frame);
  void MarkClean(FrameId frame);
  void NoteLoggedChange(FrameId frame);
  void ReleaseShared(PageId page);
  /// Returns the state that it leaves behind.
  PageState ReleaseExclusive(PageId page, FrameId frame, bool modified);
  absl::Status ShrinkTo(uint32_t frames);
  /// Whether the frame holds no page any more; the error is of writing it.
  absl::StatusOr<bool> TryEmptyFrame(FrameId frame, PageWriter& writer);

  Runtime& runtime_;
  PageStore& store_;
  std::unique_ptr<FixPolicy> policy_;
  const uint32_t page_size_;
  const uint32_t max_frames_;
  std::atomic<uint32_t> frames_;
  PageTable table_;
  std::byte* frame_memory_ = nullptr;  // frames 0..max_frames; frame 0 is never used
  FrameMeta* meta_ = nullptr;
  std::atomic<uint64_t> dirty_frames_{0};
  std::atomic<uint64_t> async_writes_{0};
  std::atomic<CleanerSignal*> cleaner_signal_{nullptr};
  WriteAheadLog* log_ = nullptr;
  FreedPages* freed_pages_ = nullptr;
  PageCheck page_check_ = nullptr;
  bool refuses_pages_beyond_log_ = false;

  // Misses hold the gate shared, a resize holds it alone: bit 31 = closed, below it the misses
  // inside.
  class MissGate;
  class ClosedGate;
  static constexpr uint32_t kGateClosed = 1u << 31;
  std::atomic<uint32_t> miss_gate_{0};
  Mutex resize_mutex_;

  std::unique_ptr<std::atomic<PoolActor*>[]> actors_;
};

// ---- Guards, now that the pool is known.

inline void SharedGuard::Unfix() {
  if (pool_ != nullptr) std::exchange(pool_, nullptr)->ReleaseShared(page_);
}
inline const std::byte* ExclusiveGuard::data() const { return pool_->DataOf(frame_); }
inline std::byte* ExclusiveGuard::Mutable() {
  modified_ = true;
  return pool_->DataOf(frame_);
}
inline void ExclusiveGuard::Unfix() {
  if (pool_ != nullptr) std::exchange(pool_, nullptr)->ReleaseExclusive(page_, frame_, modified_);
}

}  // namespace latchkey
