// Eviction: choosing, writing and emptying victims.
#include <algorithm>
#include <array>

#include "bufferpool/buffer_pool.h"
#include "storage/base/canary.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

constexpr size_t kMaxEvictionBatch = 16;
// Number of back-offs (at most 160 us each) that an actor waits for a frame when all are latched.
constexpr uint32_t kMaxFrameWaits = 20'000;

size_t EvictionBatch(uint32_t frames) {
  return std::clamp<size_t>(frames / 128, 1, kMaxEvictionBatch);
}

}  // namespace

// ---- Eviction

absl::StatusOr<FrameId> BufferPool::ObtainFrame(PoolActor& actor, PageId incoming, bool patient) {
  Backoff backoff(runtime_);
  for (;;) {
    const FrameId free = policy_->TakeFreeFrame(incoming, actor.index);
    if (free != kNoFrame) return free;
    std::array<FrameId, kMaxEvictionBatch> freed;
    absl::Status written;
    const size_t n = EvictBatch(actor, incoming,
                                std::span(freed.data(), EvictionBatch(frames_.count())), &written);
    if (n == 0 && !written.ok()) return written;
    if (n > 0) {
      for (size_t i = 1; i < n; ++i) policy_->ReturnFreeFrame(freed[i]);
      return freed[0];
    }
    if (!patient || backoff.attempts() > kMaxFrameWaits) {
      return MakeStatus(absl::StatusCode::kResourceExhausted,
                        "all {} frames of the cache are in use: enlarge the cache or use fewer "
                        "concurrent transactions",
                        frames_.count());
    }
    backoff.Pause();
  }
}

bool BufferPool::TryClaim(FrameId frame) {
  const PageId page = frames_.PageOf(frame);
  if (page == kInvalidPageId) return false;
  PageWord& word = table_.WordOf(page);
  const PageState state = word.ReadRelaxed();
  if (!state.FreeIn(frame)) return false;
  runtime_.SchedulePoint();
  return word.TryClaim(state);
}

void BufferPool::ReinstateVictim(PoolActor& actor, FrameId frame) {
  // The page stays in its frame and stays dirty, so nothing is lost.
  const PageId page = frames_.PageOf(frame);
  policy_->Reinstate(frame, page, actor.index);
  ReleaseExclusive(page, frame, /*modified=*/false);
}

size_t BufferPool::SortVictims(PoolActor& actor, std::span<FrameId> claimed, size_t* clean,
                               absl::Status* written) {
  const auto dirty_begin = std::stable_partition(claimed.begin(), claimed.end(),
                                                 [this](FrameId f) { return !frames_.IsDirty(f); });
  *clean = static_cast<size_t>(dirty_begin - claimed.begin());
  const auto waiting_begin = std::stable_partition(
      dirty_begin, claimed.end(), [this](FrameId f) { return log_.IsDurableFor(f); });
  if (waiting_begin == claimed.end()) return claimed.size();
  const bool all_wait = waiting_begin == claimed.begin();
  if (all_wait && !(log_.scarce() && FreeDurableFrame(actor))) {
    *written = CatchOutOfMemory([&] { return MakeLogDurable(claimed); });
    if (written->ok()) return claimed.size();
  }
  for (auto it = waiting_begin; it != claimed.end(); ++it) ReinstateVictim(actor, *it);
  return static_cast<size_t>(waiting_begin - claimed.begin());
}

bool BufferPool::FreeDurableFrame(PoolActor& actor) {
  const uint32_t frames = frames_.count();
  for (uint32_t f = 1; f <= frames; ++f) {
    const FrameId frame{f};
    if (!log_.IsDurableFor(frame) || !TryClaim(frame)) continue;
    const PageId page = frames_.PageOf(FrameId{f});
    const bool can_go = log_.IsDurableFor(frame) &&
                        (!frames_.IsDirty(frame) || WriteVictims(actor, std::span(&frame, 1)).ok());
    if (!can_go) {
      ReleaseExclusive(page, frame, /*modified=*/false);
      continue;
    }
    frames_.MarkClean(frame);
    policy_->OnRemove(frame, page, actor.index);
    ReleaseEvicted(frame);
    policy_->ReturnFreeFrame(frame);
    return true;
  }
  return false;
}

size_t BufferPool::EvictBatch(PoolActor& actor, PageId incoming, std::span<FrameId> freed,
                              absl::Status* written) {
  const size_t claimed = policy_->Evict(
      incoming, freed, [this](FrameId frame) { return TryClaim(frame); }, actor.index);
  size_t n = 0;
  const size_t kept = SortVictims(actor, freed.first(claimed), &n, written);
  for (size_t i = 0; i < n; ++i) ReleaseEvicted(freed[i]);
  if (CleanerSignal* signal = cleaner_signal_.load(std::memory_order_acquire)) {
    signal->OnEviction(kept, claimed - n);
  }
  if (kept == n) return n;
  const std::span<FrameId> victims = freed.subspan(n, kept - n);
  *written = WriteVictims(actor, victims);
  for (const FrameId frame : victims) {
    if (written->ok()) {
      frames_.MarkClean(frame);
      ReleaseEvicted(frame);
      freed[n++] = frame;
    } else {
      ReinstateVictim(actor, frame);
    }
  }
  return n;
}

absl::StatusOr<PageWriter*> BufferPool::WriterOf(PoolActor& actor) {
  if (actor.writer == nullptr) {
    LATCHKEY_ASSIGN_OR_RETURN(actor.writer, store_.NewWriter(kWriterDepth));
  }
  return actor.writer.get();
}

absl::Status BufferPool::WriteVictims(PoolActor& actor, std::span<const FrameId> dirty) {
  // On an error the caller reinstates the claimed victims, so nothing may be thrown.
  return CatchOutOfMemory([&] { return WriteClaimed(actor, dirty); });
}

absl::Status BufferPool::WriteClaimed(PoolActor& actor, std::span<const FrameId> dirty) {
  LATCHKEY_ASSIGN_OR_RETURN(PageWriter * writer, WriterOf(actor));
  std::array<PageWrite, kMaxEvictionBatch> writes;
  for (size_t i = 0; i < dirty.size(); ++i) {
    writes[i] = {.id = frames_.PageOf(dirty[i]), .data = frames_.DataOf(dirty[i])};
  }
  size_t accepted = 0;
  LATCHKEY_RETURN_IF_ERROR(writer->Submit(std::span(writes.data(), dirty.size()), &accepted));
  PoolActor::Add(actor.sync_writes, dirty.size());
  return writer->Wait(0);
}

void BufferPool::ReleaseEvicted(FrameId frame) {
  PageWord& word = table_.WordOf(frames_.PageOf(frame));
  frames_.Clear(frame);
  word.ReleaseEvicted();
}

}  // namespace latchkey
