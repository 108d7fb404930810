#include "bufferpool/buffer_pool.h"

#include <array>
#include <utility>

#include "storage/base/canary.h"
#include "storage/base/check.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/reserved_memory.h"
#include "storage/base/status_macros.h"
#include "storage/device/aligned_buffer.h"

namespace latchkey {

// Keeps a resize out while a miss moves a frame between free frames, policy and page table.
class BufferPool::MissGate {
 public:
  explicit MissGate(BufferPool& pool) : gate_(pool.miss_gate_) {
    Backoff backoff(pool.runtime_);
    while (gate_.fetch_add(1, std::memory_order_acquire) & kGateClosed) {
      gate_.fetch_sub(1, std::memory_order_relaxed);
      while (gate_.load(std::memory_order_relaxed) & kGateClosed) backoff.Pause();
    }
  }
  ~MissGate() { gate_.fetch_sub(1, std::memory_order_release); }
  MissGate(const MissGate&) = delete;
  MissGate& operator=(const MissGate&) = delete;

 private:
  std::atomic<uint32_t>& gate_;
};

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
      resize_mutex_(runtime) {}

BufferPool::~BufferPool() {
  if (!frames_.reserved()) return;
  for (uint32_t f = 1; f <= frames_.count(); ++f) {
    const PageId page = frames_.PageOf(FrameId{f});
    // A latch that is still held here is a leaked guard.
    LATCHKEY_CHECK(page == kInvalidPageId || table_.WordOf(page).ReadRelaxed().free());
  }
}

// ---- Fixing

template <typename Acquire>
absl::Status BufferPool::FixWith(PoolActor& actor, PageId page, PageWord& word,
                                 uint64_t loaded_latch, Acquire acquire) {
  Backoff backoff(runtime_);
  for (;;) {
    runtime_.SchedulePoint();
    const PageState state = word.Read();
    if (state.resident()) {
      if (acquire(state)) {
        CountHit(actor, state.frame(), page);
        return absl::OkStatus();
      }
    } else if (state.free() && word.TryBeginLoad(state)) {
      const absl::Status loaded =
          CatchOutOfMemory([&] { return Load(actor, page, word, loaded_latch); });
      if (!loaded.ok()) word.AbandonLoad();
      return loaded;
    }
    backoff.Pause();
  }
}

absl::Status BufferPool::FixOptimisticSlow(PoolActor& actor, PageId page, PageWord& word,
                                           OptimisticGuard* guard) {
  for (;;) {
    guard->word_ = nullptr;
    LATCHKEY_RETURN_IF_ERROR(FixWith(actor, page, word, PageState::kFree, [&](PageState state) {
      if (state.exclusive()) return false;
      *guard = OptimisticGuard(&word, state, frames_.DataOf(state.frame()), page);
      return true;
    }));
    if (guard->word_ != nullptr) return absl::OkStatus();
    // The page was loaded and unlatched, so another thread may have latched or evicted it already.
    runtime_.SchedulePoint();
    if (TryPeek(page, guard)) return absl::OkStatus();
  }
}

absl::Status BufferPool::FixShared(PoolActor& actor, PageId page, SharedGuard* guard) {
  PageWord& word = table_.WordOf(page);
  bool latched = false;
  LATCHKEY_RETURN_IF_ERROR(FixWith(actor, page, word, 1, [&](PageState state) {
    if (state.latch() >= PageState::kMaxShared) return false;
    latched = word.TryLatchShared(state);
    if (latched) *guard = SharedGuard(this, page, frames_.DataOf(state.frame()));
    return latched;
  }));
  if (!latched) {
    *guard = SharedGuard(this, page, frames_.DataOf(word.ReadRelaxed().frame()));
  }
  return absl::OkStatus();
}

absl::Status BufferPool::FixExclusive(PoolActor& actor, PageId page, ExclusiveGuard* guard) {
  PageWord& word = table_.WordOf(page);
  LATCHKEY_RETURN_IF_ERROR(FixWith(actor, page, word, PageState::kExclusive, [&](PageState state) {
    return state.free() && word.TryLatchExclusive(state);
  }));
  *guard = ExclusiveGuard(this, page, word.ReadRelaxed().frame());
  return absl::OkStatus();
}

bool BufferPool::TryUpgrade(const OptimisticGuard& guard, ExclusiveGuard* exclusive) {
  runtime_.SchedulePoint();
  const PageState seen = guard.state();
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
  if (!guard.word_->TryUpgradeShared(guard.state())) return false;
  *shared = SharedGuard(this, guard.page(), guard.data());
  return true;
}

void BufferPool::ReleaseShared(PageId page) {
  table_.WordOf(page).ReleaseShared();
  runtime_.SchedulePoint();
}

PageState BufferPool::ReleaseExclusive(PageId page, FrameId frame, bool modified) {
  PageWord& word = table_.WordOf(page);
  if (modified) {
    if (!LATCHKEY_CANARY("dirty-bit-lost") || Raw(page) % 8 != 7) frames_.MarkDirty(frame);
    if (log_.has_log()) frames_.NoteLoggedChange(frame);
  }
  const PageState left = modified ? word.ReleaseModified() : word.ReleaseUnmodified();
  runtime_.SchedulePoint();
  return left;
}

OptimisticGuard BufferPool::UnfixToOptimistic(ExclusiveGuard guard) {
  guard.pool_ = nullptr;
  const PageState left = ReleaseExclusive(guard.page_, guard.frame_, guard.modified_);
  return OptimisticGuard(&table_.WordOf(guard.page_), left, frames_.DataOf(guard.frame_),
                         guard.page_);
}

// ---- Loading

absl::Status BufferPool::Load(PoolActor& actor, PageId page, PageWord& word, uint64_t latch) {
  MissGate gate(*this);
  LATCHKEY_ASSIGN_OR_RETURN(const FrameId frame,
                            evictor_.ObtainFrame(actor, page, /*patient=*/true));
  PageRead read{.id = page, .out = frames_.DataOf(frame), .status = {}};
  ReadInto(std::span(&read, 1));  // throws nothing, so the frame is not lost
  if (!read.status.ok()) {
    policy_->ReturnFreeFrame(frame);
    return read.status;
  }
  Publish(actor, page, word, frame, LoadKind::kDemand, latch);
  return absl::OkStatus();
}

// Each read gets its status, even when memory runs out.
void BufferPool::ReadInto(std::span<PageRead> reads) {
  const absl::Status done = CatchOutOfMemory([&] {
    ReadUnchecked(reads);
    return absl::OkStatus();
  });
  for (PageRead& read : reads) {
    if (!done.ok()) read.status = done;
    if (!read.status.ok()) continue;
    read.status = CatchOutOfMemory([&] { return CheckRead(read); });
  }
}

absl::Status BufferPool::CheckRead(const PageRead& read) const {
  const uint64_t lsn = RacyLoad<uint64_t>(read.out + offsetof(PageHeader, lsn));
  if (refuses_pages_beyond_log_ && log_.has_log() && lsn != 0 && lsn >= Raw(log_.durable())) {
    return MakeStatus(absl::StatusCode::kDataLoss,
                      "page {} was changed at {} of the log, which is durable up to {} only: the "
                      "log has lost its end or is an older copy; restore a backup or salvage",
                      Raw(read.id), lsn, Raw(log_.durable()));
  }
  if (page_check_ == nullptr) return absl::OkStatus();
  return page_check_(read.id, {read.out, page_size()});
}

void BufferPool::ReadUnchecked(std::span<PageRead> reads) {
  if constexpr (kThreadSanitizer) {
    // Optimistic readers may still read a frame's former page while the new one is read into it.
    // That is correct, because they validate. But ThreadSanitizer reports a race with the device's
    // plain stores, so the page is read into other memory and copied by the racy functions.
    for (PageRead& read : reads) {
      AlignedBuffer bounce(page_size());
      read.status = store_.ReadPage(read.id, bounce.data());
      RacyCopyIn(read.out, bounce.data(), page_size());
    }
  } else if (reads.size() == 1) {
    reads[0].status = store_.ReadPage(reads[0].id, reads[0].out);
  } else {
    store_.ReadPages(reads);
  }
}

void BufferPool::Publish(PoolActor& actor, PageId page, PageWord& word, FrameId frame,
                         LoadKind kind, uint64_t latch) {
  frames_.SetPage(frame, page);
  // The policy learns of the page while it is still latched. From then on it may offer the frame as
  // a victim, but a claim fails until the latch is free.
  word.SetFrame(frame);
  PoolActor::Add(actor.misses, 1);
  policy_->OnLoad(frame, page, kind, actor.index);
  word.EndLoad(latch);
}

absl::StatusOr<PageId> BufferPool::AllocatePage() {
  absl::StatusOr<PageId> page = store_.AllocatePage();
  if (!page.ok() && absl::IsResourceExhausted(page.status()) && freed_pages_ != nullptr &&
      freed_pages_->ReturnAll()) {
    page = store_.AllocatePage();
  }
  return page;
}

absl::Status BufferPool::NewPage(PoolActor& actor, ExclusiveGuard* guard) {
  LATCHKEY_ASSIGN_OR_RETURN(const PageId page, AllocatePage());
  if (Raw(page) >= kMaxPageIds) {
    store_.FreePage(page);
    return MakeStatus(absl::StatusCode::kResourceExhausted, "all {} page ids are in use",
                      kMaxPageIds);
  }
  absl::Status fixed = CatchOutOfMemory([&] { return FixZeroed(actor, page, guard); });
  if (!fixed.ok()) store_.FreePage(page);
  return fixed;
}

absl::Status BufferPool::FixZeroed(PoolActor& actor, PageId page, ExclusiveGuard* guard) {
  PageWord& word = table_.WordOf(page);
  // No other thread knows the id. Only a cleaner with a stale frame number can latch the word
  // briefly.
  Backoff backoff(runtime_);
  PageState seen = word.Read();
  for (; !seen.free() || !word.TryBeginLoad(seen); seen = word.Read()) backoff.Pause();
  LATCHKEY_CHECK(!seen.resident());
  MissGate gate(*this);
  const absl::StatusOr<FrameId> frame =
      CatchOutOfMemory([&] { return evictor_.ObtainFrame(actor, page, /*patient=*/true); });
  if (!frame.ok()) {
    word.AbandonLoad();
    return frame.status();
  }
  RacyZero(frames_.DataOf(*frame), page_size());
  Publish(actor, page, word, *frame, LoadKind::kDemand, PageState::kExclusive);
  *guard = ExclusiveGuard(this, page, *frame);
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
    absl::Status fixed = FixExclusive(actor, page, guard);
    if (!absl::IsNotFound(fixed) && !(is_replaced && absl::IsDataLoss(fixed))) return fixed;
  }
  LATCHKEY_RETURN_IF_ERROR(store_.AdoptPage(page));
  return FixZeroed(actor, page, guard);
}

void BufferPool::FreePage(PoolActor& actor, ExclusiveGuard guard) {
  const PageId page = guard.page();
  const FrameId frame = guard.frame();
  guard.pool_ = nullptr;
  MissGate gate(*this);
  // The id goes back while its word is latched. Otherwise a reader with a stale id could load the
  // old page before the store knows that it is free. With a log such a load is possible, and
  // harmless, until ReturnPageId.
  evictor_.Remove(frame, actor.index, [&] { GiveUpId(page); });
  policy_->ReturnFreeFrame(frame);
}

void BufferPool::Discard(PoolActor& actor, PageId page, absl::FunctionRef<void()> release) {
  PageWord& word = table_.WordOf(page);
  Backoff backoff(runtime_);
  PageState state = word.Read();
  for (; !state.free() || !word.TryLatchExclusive(state); state = word.Read()) backoff.Pause();
  if (!state.resident()) {
    release();
    word.ReleaseUnmodified();
    return;
  }
  MissGate gate(*this);
  evictor_.Remove(state.frame(), actor.index, release);
  policy_->ReturnFreeFrame(state.frame());
}

absl::Status BufferPool::FreePageById(PoolActor& actor, PageId page) {
  Discard(actor, page, [&] { GiveUpId(page); });
  return absl::OkStatus();
}

void BufferPool::GiveUpId(PageId page) {
  const bool at_once = freed_pages_ == nullptr || LATCHKEY_CANARY("freed-page-reused-at-once");
  if (at_once || !freed_pages_->Defer(page)) store_.FreePage(page);
}

void BufferPool::ReturnPageId(PoolActor& actor, PageId page) {
  Discard(actor, page, [&] { store_.FreePage(page); });
}

void BufferPool::Prefetch(PoolActor& actor, std::span<const PageId> pages) {
  constexpr size_t kBatch = 32;
  std::array<PageRead, kBatch> reads;
  std::array<FrameId, kBatch> frames;
  size_t n = 0;
  MissGate gate(*this);
  const auto load_batch = [&] {
    if (n == 0) return;
    ReadInto(std::span(reads.data(), n));
    for (size_t i = 0; i < n; ++i) {
      PageWord& word = table_.WordOf(reads[i].id);
      if (reads[i].status.ok()) {
        Publish(actor, reads[i].id, word, frames[i], LoadKind::kAhead, PageState::kFree);
      } else {
        policy_->ReturnFreeFrame(frames[i]);
        word.AbandonLoad();
      }
    }
    n = 0;
  };
  for (const PageId page : pages) {
    PageWord& word = table_.WordOf(page);
    const PageState state = word.ReadRelaxed();
    if (state.resident() || !state.free() || !word.TryBeginLoad(state)) continue;
    const absl::StatusOr<FrameId> frame =
        CatchOutOfMemory([&] { return evictor_.ObtainFrame(actor, page, /*patient=*/false); });
    if (!frame.ok()) {
      word.AbandonLoad();
      break;
    }
    frames[n] = *frame;
    reads[n] = PageRead{.id = page, .out = frames_.DataOf(*frame), .status = {}};
    if (++n == kBatch) load_batch();
  }
  load_batch();
}

// ---- Cleaning and statistics

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
  stats.hits = totals.hits;
  stats.misses = totals.misses;
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
  return frames_.count() * bytes_per_frame +
         table_.memory_bytes(store_.page_id_limit());
}

}  // namespace latchkey
