#include "bufferpool/buffer_pool.h"

#include <utility>

#include "storage/base/canary.h"
#include "storage/base/check.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {

absl::StatusOr<std::unique_ptr<BufferPool>> BufferPool::Create(Runtime& runtime, PageStore& store,
                                                               std::unique_ptr<FixPolicy> policy,
                                                               uint32_t frames,
                                                               uint32_t max_frames) {
  if (frames < kMinFrames || max_frames > PageState::kMaxFrames || frames > max_frames) {
    return InvalidArgument(
        "a pool of {} frames (at most {}) is outside {}..{}: change the cache size", frames,
        max_frames, kMinFrames, PageState::kMaxFrames);
  }
  std::unique_ptr<BufferPool> pool(
      new BufferPool(runtime, store, std::move(policy), frames, max_frames));
  if (!pool->frames_.reserved()) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "the system refused to reserve {} bytes of address space for the cache",
                      size_t{max_frames} * store.page_size());
  }
  if (pool->copies_ != nullptr && !pool->copies_->reserved()) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "the system refused to reserve address space for the private copies of up to "
                      "{} frames of {} bytes",
                      max_frames, store.page_size());
  }
  return pool;
}

BufferPool::BufferPool(Runtime& runtime, PageStore& store, std::unique_ptr<FixPolicy> policy,
                       uint32_t frames, uint32_t max_frames)
    : runtime_(runtime),
      store_(store),
      policy_(std::move(policy)),
      frames_(store.page_size(), frames, max_frames),
      log_(frames_),
      actors_(runtime, store.page_size()),
      write_back_(runtime, store, table_, frames_, log_),
      evictor_(runtime, *policy_, table_, frames_, log_, write_back_),
      gate_(runtime),
      loader_(store, *policy_, table_, frames_, log_, evictor_, gate_),
      ids_(store),
      resizer_(runtime, store, *policy_, frames_, log_, write_back_, evictor_, gate_) {
  const PrivateCopiesPlan plan = policy_->private_copies();
  if (plan.actors == 0) return;
  copies_ = std::make_unique<PrivateCopies>(plan, *policy_->private_replacement(),
                                            store.page_size(), frames, max_frames);
}

BufferPool::~BufferPool() {
  if (!frames_.reserved()) return;
  for (uint32_t f = 1; f <= frames_.count(); ++f) {
    const PageId page = frames_.PageOf(FrameId{f});
    // A latch that is still held here is a leaked guard.
    LATCHKEY_CHECK(page == kInvalidPageId || table_.WordOf(page).ReadRelaxed().free());
  }
}

void BufferPool::Record(FixRecorder& recorder, PoolActor& actor, const std::byte* bytes,
                        PageId page, FixKind kind, bool missed) {
  const auto type = RacyLoad<uint8_t>(bytes + offsetof(PageHeader, page_type));
  recorder.Record(actor.index, {page, actor.tree, type, kind, missed});
}

// ---- Fixing

template <typename Acquire>
absl::Status BufferPool::FixWith(PoolActor& actor, PageId page, PageWord& word, FixKind kind,
                                 LoadCause cause, uint64_t loaded_latch, Acquire acquire) {
  Backoff backoff(runtime_);
  for (;;) {
    runtime_.SchedulePoint();
    const PageState state = word.Read();
    if (state.resident()) {
      if (acquire(state)) {
        CountFix(actor, state.frame(), page, kind);
        return absl::OkStatus();
      }
    } else if (state.free()) {
      LATCHKEY_ASSIGN_OR_RETURN(const FrameId frame,
                                loader_.Load(actor, page, word, state, cause, loaded_latch));
      if (frame != kNoFrame) {
        CountLoad(actor, frame, page, kind);
        return absl::OkStatus();
      }
    }
    backoff.Pause();
  }
}

absl::Status BufferPool::FixOptimisticSlow(PoolActor& actor, PageId page, PageWord& word,
                                           OptimisticGuard* guard) {
  if (copies_ != nullptr) {
    ActorCopies* mine = nullptr;
    LATCHKEY_RETURN_IF_ERROR(CatchOutOfMemory([&] {
      mine = copies_->Of(actor.index);
      return absl::OkStatus();
    }));
    if (mine != nullptr && !mine->TakeKeptOut(page)) {
      return FixCopy(actor, *mine, page, word, guard);
    }
  }
  for (;;) {
    guard->word_ = nullptr;
    LATCHKEY_RETURN_IF_ERROR(FixWith(actor, page, word, FixKind::kShared, LoadCause::kDemand,
                                     PageState::kFree, [&](PageState state) {
                                       if (state.exclusive()) return false;
                                       *guard = OptimisticGuard(
                                           &word, state, frames_.DataOf(state.frame()), page);
                                       return true;
                                     }));
    if (guard->word_ != nullptr) return absl::OkStatus();
    // The page was loaded and unlatched, so another thread may have latched or evicted it already.
    runtime_.SchedulePoint();
    if (TryPeek(page, guard)) return absl::OkStatus();
  }
}

absl::Status BufferPool::FixCopy(PoolActor& actor, ActorCopies& copies, PageId page, PageWord& word,
                                 OptimisticGuard* guard) {
  Backoff backoff(runtime_);
  for (bool is_hit = true;;) {
    runtime_.SchedulePoint();
    const PageState state = word.Read();
    if (state.exclusive()) {
      backoff.Pause();
    } else if (state.resident()) {
      *guard = OptimisticGuard(&word, state, frames_.DataOf(state.frame()), page);
      CountFix(actor, state.frame(), page, FixKind::kShared);
      return absl::OkStatus();
    } else if (const std::byte* copy = copies.Find(page, state.version(), is_hit)) {
      *guard = OptimisticGuard(&word, state, copy, page);
      CountFixOfType(actor, copy);
      Trace(actor, copy, page, FixKind::kShared, !is_hit);
      return absl::OkStatus();
    } else {
      LATCHKEY_ASSIGN_OR_RETURN(const bool read, CatchOutOfMemory([&] {
                                  return loader_.ReadCopy(actor, page, word, state, copies,
                                                          copies_->frames_of_actor());
                                }));
      if (read) is_hit = false;
    }
  }
}

FrameId BufferPool::TryPromote(const OptimisticGuard& guard, uint64_t latch) {
  PageWord& word = *guard.word_;
  const PageState now = word.Read();
  if (now != guard.state()) return kNoFrame;  // a page that came into a frame is found there now
  PoolActor& actor = Here();
  ActorCopies* mine = copies_->Of(actor.index);
  if (mine == nullptr) return kNoFrame;  // another actor's guard
  const std::byte* copy = mine->Find(guard.page(), now.version(), /*is_hit=*/false);
  if (copy == nullptr) {  // another page has its private frame by now
    mine->KeepOut(guard.page());
    return kNoFrame;
  }
  const absl::StatusOr<FrameId> frame =
      loader_.LoadCopied(actor, guard.page(), word, now, copy, latch);
  if (frame.ok()) return *frame;
  mine->KeepOut(guard.page());
  return kNoFrame;
}

absl::Status BufferPool::FixShared(PoolActor& actor, PageId page, SharedGuard* guard) {
  PageWord& word = table_.WordOf(page);
  bool latched = false;
  const auto latch = [&](PageState state) {
    if (state.latch() >= PageState::kMaxShared) return false;
    latched = word.TryLatchShared(state);
    if (latched) *guard = SharedGuard(this, page, frames_.DataOf(state.frame()));
    return latched;
  };
  LATCHKEY_RETURN_IF_ERROR(
      FixWith(actor, page, word, FixKind::kShared, LoadCause::kDemand, 1, latch));
  if (!latched) {
    *guard = SharedGuard(this, page, frames_.DataOf(word.ReadRelaxed().frame()));
  }
  return absl::OkStatus();
}

absl::Status BufferPool::FixExclusive(PoolActor& actor, PageId page, LoadCause cause,
                                      ExclusiveGuard* guard) {
  PageWord& word = table_.WordOf(page);
  LATCHKEY_RETURN_IF_ERROR(
      FixWith(actor, page, word, FixKind::kExclusive, cause, PageState::kExclusive,
              [&](PageState state) { return state.free() && word.TryLatchExclusive(state); }));
  *guard = ExclusiveGuard(this, page, word.ReadRelaxed().frame());
  return absl::OkStatus();
}

bool BufferPool::TryLatch(const OptimisticGuard& guard, ExclusiveGuard* exclusive) {
  runtime_.SchedulePoint();
  const PageState seen = guard.state();
  if (__builtin_expect(!seen.resident(), 0)) {
    const FrameId frame = TryPromote(guard, PageState::kExclusive);
    if (frame == kNoFrame) return false;
    *exclusive = ExclusiveGuard(this, guard.page(), frame);
    return true;
  }
  frames_.PrefetchForChange(seen.frame());  // for the release
  PageState now = seen;
  Backoff backoff(runtime_);
  while (!guard.word_->TryUpgrade(seen, &now)) {
    // Shared holders only delay the upgrade; any other difference means that the page has changed.
    if (!seen.ValidatedBy(now)) return false;
    backoff.Pause();
  }
  *exclusive = ExclusiveGuard(this, guard.page(), seen.frame());
  return true;
}

bool BufferPool::TryUpgrade(const OptimisticGuard& guard, SharedGuard* shared) {
  runtime_.SchedulePoint();
  if (!guard.state().resident()) {
    const FrameId frame = TryPromote(guard, 1);
    if (frame == kNoFrame) return false;
    *shared = SharedGuard(this, guard.page(), frames_.DataOf(frame));
    return true;
  }
  if (!guard.word_->TryUpgradeShared(guard.state())) return false;
  *shared = SharedGuard(this, guard.page(), guard.data());
  return true;
}

void BufferPool::ReleaseShared(PageId page) {
  table_.WordOf(page).ReleaseShared();
  runtime_.SchedulePoint();
}

PageState BufferPool::ReleaseExclusive(PageId page, FrameId frame, bool modified,
                                       bool invalidated) {
  PageWord& word = table_.WordOf(page);
  if (modified) {
    TraceHere(frame, page, FixKind::kModified);
    if (!LATCHKEY_CANARY("dirty-bit-lost") || Raw(page) % 8 != 7) frames_.MarkDirty(frame);
    if (log_.has_log()) frames_.NoteLoggedChange(frame);
  }
  const PageState left =
      modified || invalidated ? word.ReleaseModified() : word.ReleaseUnmodified();
  runtime_.SchedulePoint();
  return left;
}

OptimisticGuard BufferPool::UnfixToOptimistic(ExclusiveGuard guard) {
  guard.pool_ = nullptr;
  const PageState left =
      ReleaseExclusive(guard.page_, guard.frame_, guard.modified_, guard.invalidated_);
  return OptimisticGuard(&table_.WordOf(guard.page_), left, frames_.DataOf(guard.frame_),
                         guard.page_);
}

// ---- New, freed and redone pages

absl::Status BufferPool::NewPage(PoolActor& actor, ExclusiveGuard* guard) {
  LATCHKEY_ASSIGN_OR_RETURN(const PageId page, ids_.Allocate());
  absl::Status fixed = CatchOutOfMemory([&] { return FixZeroed(actor, page, guard); });
  if (!fixed.ok()) ids_.Return(page);
  return fixed;
}

PageState BufferPool::LatchAny(PageWord& word) {
  Backoff backoff(runtime_);
  PageState seen = word.Read();
  for (; !seen.free() || !word.TryLatchExclusive(seen); seen = word.Read()) backoff.Pause();
  return seen;
}

absl::Status BufferPool::FixZeroed(PoolActor& actor, PageId page, ExclusiveGuard* guard) {
  PageWord& word = table_.WordOf(page);
  // No other thread knows the id. Only a cleaner with a stale frame number can latch the word
  // briefly.
  const PageState before = LatchAny(word);
  LATCHKEY_CHECK(!before.resident());
  LATCHKEY_ASSIGN_OR_RETURN(const FrameId frame, loader_.LoadZeroed(actor, page, word));
  CountLoad(actor, frame, page, FixKind::kNew);
  *guard = ExclusiveGuard(this, page, frame);
  guard->Mutable();
  return absl::OkStatus();
}

absl::Status BufferPool::FixForRedo(PoolActor& actor, PageId page, bool is_replaced,
                                    ExclusiveGuard* guard) {
  if (Raw(page) >= kMaxPageIds) {
    return MakeStatus(absl::StatusCode::kDataLoss, "page {}: page ids end at {}", Raw(page),
                      kMaxPageIds);
  }
  if (Raw(page) < store_.page_id_limit() && store_.IsAllocated(page)) {
    absl::Status fixed = FixExclusive(actor, page, LoadCause::kRedo, guard);
    if (!absl::IsNotFound(fixed) && !(is_replaced && absl::IsDataLoss(fixed))) return fixed;
  }
  LATCHKEY_RETURN_IF_ERROR(store_.AdoptPage(page));
  return FixZeroed(actor, page, guard);
}

void BufferPool::Remove(PoolActor& actor, FrameId frame, absl::FunctionRef<void()> release) {
  const MissGate::Pass pass(gate_, actor.index);
  evictor_.Remove(frame, actor.index, release);
  policy_->ReturnFreeFrame(frame);
}

void BufferPool::FreePage(PoolActor& actor, ExclusiveGuard guard) {
  guard.pool_ = nullptr;  // Remove ends the latch
  Remove(actor, guard.frame(), [&] { ids_.GiveUp(guard.page()); });
}

void BufferPool::Invalidate(PageId page) {
  PageWord& word = table_.WordOf(page);
  if (LatchAny(word).resident()) {
    word.ReleaseModified();
  } else {
    word.ReleaseEvicted();  // a page-in that read the page before fails
  }
}

void BufferPool::Discard(PoolActor& actor, PageId page, absl::FunctionRef<void()> release) {
  PageWord& word = table_.WordOf(page);
  const PageState before = LatchAny(word);
  if (before.resident()) return Remove(actor, before.frame(), release);
  if (absent_ != nullptr) absent_->OnDropped(page);
  release();
  word.ReleaseEvicted();  // a page-in that read the page before fails
}

absl::Status BufferPool::FreePageById(PoolActor& actor, PageId page) {
  Discard(actor, page, [&] { ids_.GiveUp(page); });
  return absl::OkStatus();
}

void BufferPool::ReturnPageId(PoolActor& actor, PageId page) {
  Discard(actor, page, [&] { ids_.Return(page); });
}

// ---- Pages in no frame

AbsentGuard BufferPool::TryLatchAbsent(PageId page) {
  PageWord& word = table_.WordOf(page);
  runtime_.SchedulePoint();
  const PageState state = word.Read();
  if (state.resident() || !state.free() || !word.TryBeginLoad(state)) return {};
  return AbsentGuard(word);
}

absl::Status BufferPool::BringInChangedBefore(Lsn lsn) {
  constexpr size_t kAtOnce = 128;
  const std::vector<PageId> pages = absent_->PagesBefore(lsn);
  PoolActor& actor = Here();
  for (size_t i = 0; i < pages.size(); ++i) {
    if (i % kAtOnce == 0) {
      loader_.LoadForChanges(actor,
                             std::span(pages).subspan(i, std::min(kAtOnce, pages.size() - i)),
                             /*is_in_use=*/false);
    }
    // Also if the page is in a frame: it may be coming in just now. What has come in and was evicted
    // again is in the store, and what was freed meanwhile cannot be fixed.
    SharedGuard guard;
    absl::Status fixed = FixShared(actor, pages[i], &guard);
    if (!fixed.ok() && absent_->HasChangesBefore(pages[i], lsn)) return fixed;
  }
  return absl::OkStatus();
}

absl::Status BufferPool::WriteDirtyBefore(Lsn lsn, bool unlogged_too) {
  if (absent_ != nullptr) {
    LATCHKEY_RETURN_IF_ERROR(CatchOutOfMemory([&] { return BringInChangedBefore(lsn); }));
  }
  return write_back_.WriteDirtyBefore(lsn, unlogged_too);
}

// ---- Cleaning, resizing and statistics

absl::Status BufferPool::Resize(uint32_t frames) {
  if (frames < kMinFrames || frames > max_frames()) {
    return InvalidArgument("{} frames are outside {}..{}", frames, kMinFrames, max_frames());
  }
  LATCHKEY_RETURN_IF_ERROR(resizer_.Resize(frames));
  if (copies_ != nullptr) copies_->Resize(frames);
  return absl::OkStatus();
}

bool BufferPool::CopyIfClean(PageId page, std::byte* out) {
  PageWord& word = table_.WordOf(page);
  const PageState state = word.Read();
  if (!state.resident() || state.exclusive() || frames_.IsDirty(state.frame())) return false;
  const OptimisticGuard guard(&word, state, frames_.DataOf(state.frame()), page);
  guard.Copy(0, out, page_size());
  return !frames_.IsDirty(state.frame()) && guard.Validate();
}

LeakedFrames BufferPool::CountLeaks() {
  LeakedFrames leaked;
  const uint32_t frames = frames_.count();
  uint64_t resident = 0;
  for (uint32_t f = 1; f <= frames; ++f) {
    const PageId page = frames_.PageOf(FrameId{f});
    if (page == kInvalidPageId) continue;
    const PageState state = table_.WordOf(page).ReadRelaxed();
    if (state.frame() == FrameId{f}) ++resident;
    if (!state.free()) ++leaked.latched;
  }
  const uint64_t known = resident + policy_->free_frames();
  leaked.lost = known < frames ? frames - known : 0;
  return leaked;
}

BufferPoolStats BufferPool::stats() const {
  BufferPoolStats stats;
  const PoolActors::Totals totals = actors_.Sum();
  const auto loads = [&](LoadCause cause) { return totals.loads[static_cast<size_t>(cause)]; };
  stats.leaf_fixes = totals.fixes_of_type[static_cast<size_t>(PageType::kTreeLeaf)];
  stats.inner_fixes = totals.fixes_of_type[static_cast<size_t>(PageType::kTreeInner)];
  stats.scouting_fixes = totals.scouting_fixes;
  stats.demand_reads = loads(LoadCause::kDemand);
  stats.ahead_reads = loads(LoadCause::kAhead);
  stats.wasted_reads = totals.wasted_reads;
  stats.redo_reads = loads(LoadCause::kRedo);
  stats.change_reads = loads(LoadCause::kChanges);
  stats.new_pages = loads(LoadCause::kNewPage);
  stats.failed_page_ins = totals.failed_page_ins;
  stats.misses = stats.demand_reads + stats.redo_reads + totals.first_uses;
  for (const uint64_t fixes : totals.fixes_of_type) stats.fixes += fixes;
  // Actors go on while their counters are read, so the difference may be off by those fixes.
  const uint64_t not_hits = stats.misses + stats.new_pages;
  stats.hits = stats.fixes < not_hits ? 0 : stats.fixes - not_hits;
  stats.sync_page_writes = totals.sync_writes;
  stats.async_page_writes = write_back_.cleaned();
  stats.frames = frames_.count();
  stats.free_frames = policy_->free_frames();
  stats.dirty_frames = frames_.dirty_count();
  stats.policy = policy_->stats();
  return stats;
}

uint64_t BufferPool::memory_bytes() const {
  const uint64_t bytes_per_frame = page_size() + kFrameOverhead + policy_->bytes_per_frame();
  return frames_.count() * bytes_per_frame + table_.memory_bytes(store_.page_id_limit()) +
         (copies_ == nullptr ? 0 : copies_->memory_bytes());
}

}  // namespace latchkey
