#include "bufferpool/evictor.h"

#include <algorithm>
#include <array>

#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

// Number of back-offs (at most 160 us each) that an actor waits for a frame when all are latched.
constexpr uint32_t kMaxFrameWaits = 20'000;

}  // namespace

absl::StatusOr<FrameId> Evictor::ObtainFrame(PoolActor& actor, PageId incoming, bool patient) {
  const FrameId free = policy_.TakeFreeFrame(incoming, actor.index);
  if (free != kNoFrame) return free;
  const Nanos began = runtime_.Now();
  absl::StatusOr<FrameId> evicted = EvictFrame(actor, incoming, patient);
  NoteWait(runtime_.Now() - began);
  return evicted;
}

void Evictor::NoteWait(Nanos wait) {
  waits_.Note(Waited::kFrame, wait, "for a frame of the cache");
  Nanos longest = longest_wait_.load(std::memory_order_relaxed);
  while (longest < wait &&
         !longest_wait_.compare_exchange_weak(longest, wait, std::memory_order_relaxed)) {
  }
}

absl::StatusOr<FrameId> Evictor::EvictFrame(PoolActor& actor, PageId incoming, bool patient) {
  const size_t most = options_.batch == 0 ? policy_.most_victims() : options_.batch;
  Backoff backoff(runtime_);
  for (;;) {
    std::array<FrameId, FixPolicy::kMostVictims> freed;
    absl::Status written;
    const size_t n = EvictBatch(actor, incoming, std::span(freed).first(most), &written);
    if (n == 0 && !written.ok()) {
      // After a failure for good, clean pages still leave, wherever they are, so that reads go on. If
      // only the disk is full, they stay: new dirty pages would take all their frames.
      const FrameId clean = patient && absl::IsUnavailable(written) ? EvictClean(actor) : kNoFrame;
      return clean != kNoFrame ? absl::StatusOr<FrameId>(clean) : written;
    }
    if (n > 0) {
      for (size_t i = 1; i < n; ++i) policy_.ReturnFreeFrame(freed[i]);
      return freed[0];
    }
    if (!patient || backoff.attempts() > kMaxFrameWaits) {
      return MakeStatus(absl::StatusCode::kResourceExhausted,
                        "all {} frames of the cache are in use: enlarge the cache or use fewer "
                        "concurrent transactions",
                        frames_.count());
    }
    backoff.Pause();
    const FrameId free = policy_.TakeFreeFrame(incoming, actor.index);
    if (free != kNoFrame) return free;
  }
}

size_t Evictor::ClaimVictims(PoolActor& actor, PageId incoming, std::span<FrameId> victims) {
  size_t passed_over = 0;
  if (options_.clean_first) {
    const size_t claimed = policy_.Evict(
        incoming, victims,
        [&](FrameId frame) {
          if (passed_over < EvictionOptions::kMostPassedOver && frames_.IsDirty(frame)) {
            ++passed_over;
            return false;
          }
          return TryClaimFrame(frame);
        },
        actor.index);
    if (claimed > 0 || passed_over == 0) return claimed;
  }
  return policy_.Evict(
      incoming, victims, [this](FrameId frame) { return TryClaimFrame(frame); }, actor.index);
}

size_t Evictor::EvictBatch(PoolActor& actor, PageId incoming, std::span<FrameId> freed,
                           absl::Status* written) {
  const size_t claimed = ClaimVictims(actor, incoming, freed);
  size_t n = 0;
  const size_t kept = SortVictims(actor, freed.first(claimed), &n, written);
  for (size_t i = 0; i < n; ++i) Evicted(actor, freed[i]);
  if (CleanerSignal* signal = signal_.load(std::memory_order_acquire)) {
    signal->OnEviction(kept, claimed - n);
  }
  if (kept == n) return n;
  const std::span<FrameId> victims = freed.subspan(n, kept - n);
  *written = write_back_.WriteVictims(actor, victims);
  for (const FrameId frame : victims) {
    if (written->ok()) {
      frames_.MarkClean(frame);
      Evicted(actor, frame);
      freed[n++] = frame;
    } else {
      Reinstate(actor, frame);
    }
  }
  return n;
}

size_t Evictor::SortVictims(PoolActor& actor, std::span<FrameId> claimed, size_t* clean,
                            absl::Status* written) {
  const auto dirty_begin = std::stable_partition(claimed.begin(), claimed.end(),
                                                 [this](FrameId f) { return !frames_.IsDirty(f); });
  *clean = static_cast<size_t>(dirty_begin - claimed.begin());
  const auto waiting_begin = std::stable_partition(
      dirty_begin, claimed.end(), [this](FrameId f) { return log_.IsDurableFor(f); });
  if (waiting_begin == claimed.end()) return claimed.size();
  const bool all_wait = waiting_begin == claimed.begin();
  if (all_wait && !(log_.scarce() && FreeDurableFrame(actor))) {
    *written = CatchOutOfMemory([&] { return log_.MakeDurableFor(claimed); });
    if (written->ok()) return claimed.size();
  }
  for (auto it = waiting_begin; it != claimed.end(); ++it) Reinstate(actor, *it);
  return static_cast<size_t>(waiting_begin - claimed.begin());
}

bool Evictor::FreeDurableFrame(PoolActor& actor) {
  const FrameId frame = EvictAny(
      actor, [this](FrameId f) { return log_.IsDurableFor(f); },
      [&](FrameId f) {
        return !frames_.IsDirty(f) || write_back_.WriteVictims(actor, std::span(&f, 1)).ok();
      });
  if (frame != kNoFrame) policy_.ReturnFreeFrame(frame);
  return frame != kNoFrame;
}

FrameId Evictor::EvictClean(PoolActor& actor) {
  return EvictAny(
      actor, [this](FrameId f) { return !frames_.IsDirty(f); }, [](FrameId) { return true; });
}

FrameId Evictor::EvictAny(PoolActor& actor, absl::FunctionRef<bool(FrameId)> may_go,
                          absl::FunctionRef<bool(FrameId)> make_clean) {
  const uint32_t frames = frames_.count();
  const uint32_t first = search_hand_.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < frames; ++i) {
    const uint32_t at = (first + i) % frames;
    const FrameId frame{1 + at};
    if (!may_go(frame) || !TryClaimFrame(frame)) continue;
    if (!may_go(frame) || !make_clean(frame)) {
      GiveUpClaim(frame);
      continue;
    }
    Remove(frame, actor.index);
    search_hand_.store(at + 1, std::memory_order_relaxed);
    return frame;
  }
  return kNoFrame;
}

bool Evictor::TryClaimFrame(FrameId frame) {
  const PageId page = frames_.PageOf(frame);
  if (page == kInvalidPageId) return false;
  PageWord& word = table_.WordOf(page);
  const PageState state = word.ReadRelaxed();
  if (!state.FreeIn(frame)) return false;
  runtime_.SchedulePoint();
  return word.TryClaim(state);
}

void Evictor::GiveUpClaim(FrameId frame) {
  table_.WordOf(frames_.PageOf(frame)).ReleaseUnmodified();
  runtime_.SchedulePoint();
}

void Evictor::Reinstate(PoolActor& actor, FrameId frame) {
  policy_.Reinstate(frame, frames_.PageOf(frame), actor.index);
  GiveUpClaim(frame);
}

void Evictor::Remove(FrameId frame, uint32_t actor, absl::FunctionRef<void()> while_latched) {
  frames_.MarkClean(frame);
  policy_.OnRemove(frame, frames_.PageOf(frame), actor);
  while_latched();
  Empty(frame);
}

void Evictor::Evicted(PoolActor& actor, FrameId frame) {
  if (policy_.IsUnused(frame)) {
    PoolActor::Add(actor.wasted_reads, 1);
    ahead_share_.NoteWasted();
  }
  if (absent_ != nullptr) {
    absent_->OnEvicted(frames_.PageOf(frame), {frames_.DataOf(frame), frames_.page_size()});
  }
  Empty(frame);
}

void Evictor::Empty(FrameId frame) {
  PageWord& word = table_.WordOf(frames_.PageOf(frame));
  frames_.Clear(frame);
  word.ReleaseEvicted();
}

}  // namespace latchkey
