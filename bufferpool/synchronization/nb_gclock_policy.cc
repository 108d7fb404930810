#include "bufferpool/synchronization/nb_gclock_policy.h"

#include <algorithm>
#include <utility>

#include "storage/base/check.h"

namespace latchkey {

NbGclockPolicy::NbGclockPolicy(Runtime& runtime, const NbGclockSettings& settings, size_t frames,
                               size_t max_frames)
    : runtime_(runtime),
      settings_(settings),
      frames_(frames),
      hand_(settings.hand),
      weights_(max_frames + 1),
      states_(max_frames + 1),
      free_links_(max_frames + 1),
      free_frames_(runtime, free_links_.data()) {
  LATCHKEY_CHECK(1 <= frames && frames <= max_frames && max_frames < UINT32_MAX - 1);
  SetReferenceBytes(weights_.data(), settings.limit);
  for (size_t frame = frames; frame > 0; --frame) {
    free_frames_.Push(FrameId{static_cast<uint32_t>(frame)});
  }
}

uint64_t NbGclockPolicy::Hand::Get() const {
  uint64_t sum = 0;
  for (const Stripe& stripe : stripes_) sum += stripe.value.load(std::memory_order_relaxed);
  return sum;
}

void NbGclockPolicy::ReportLoad(FrameId frame, PageId, LoadKind, uint32_t) {
  weights_[Raw(frame)].SetHits(settings_.initial);
  const uint8_t before = states_[Raw(frame)].exchange(kLoaded, std::memory_order_release);
  LATCHKEY_CHECK(before == kEmpty);
}

void NbGclockPolicy::Reinstate(FrameId frame, PageId, uint32_t) {
  // The weight is zero still, or what hits have made of it.
  const uint8_t before = states_[Raw(frame)].exchange(kLoaded, std::memory_order_release);
  LATCHKEY_CHECK(before == kEmpty);
}

void NbGclockPolicy::OnRemove(FrameId frame, PageId, uint32_t) {
  std::atomic<uint8_t>& state = states_[Raw(frame)];
  uint8_t expected = kLoaded;
  if (state.compare_exchange_strong(expected, kEmpty, std::memory_order_acq_rel)) return;
  // An evictor looks at the frame. It cannot claim the page, which the caller has latched.
  LATCHKEY_CHECK(expected == kExamined);
  if (state.compare_exchange_strong(expected, kRemoved, std::memory_order_acq_rel)) {
    // The caller owns the frame once the evictor has turned away.
    Backoff backoff(runtime_);
    while (state.load(std::memory_order_acquire) != kEmpty) backoff.Pause();
    return;
  }
  LATCHKEY_CHECK(expected == kLoaded);
  const bool removed = state.compare_exchange_strong(expected, kEmpty, std::memory_order_acq_rel);
  LATCHKEY_CHECK(removed);
}

bool NbGclockPolicy::CountDown(FrameId frame) {
  ReferenceByte& weight = weights_[Raw(frame)];
  const uint8_t value = weight.hits();
  if (value == 0) return true;
  // Racing hits may be lost, and two sweeps may count once: weights are hints.
  weight.SetHits(value - 1);
  return false;
}

bool NbGclockPolicy::TryTake(FrameId frame, absl::FunctionRef<bool(FrameId)> claim) {
  std::atomic<uint8_t>& state = states_[Raw(frame)];
  uint8_t expected = kLoaded;
  if (!state.compare_exchange_strong(expected, kExamined, std::memory_order_acq_rel)) return false;
  runtime_.SchedulePoint();
  if (claim(frame)) {
    // With the page latched nobody else changes the state.
    state.store(kEmpty, std::memory_order_release);
    return true;
  }
  expected = kExamined;
  if (!state.compare_exchange_strong(expected, kLoaded, std::memory_order_acq_rel)) {
    state.store(kEmpty, std::memory_order_release);  // kRemoved: the remover waits for this
  }
  return false;
}

size_t NbGclockPolicy::Evict(PageId, std::span<FrameId> victims,
                             absl::FunctionRef<bool(FrameId)> claim, uint32_t actor) {
  const size_t frames = frames_.load(std::memory_order_relaxed);
  const size_t most = std::min(victims.size(), LargestBatch(frames));
  const uint64_t start = hand_.Get();
  size_t count = 0;
  size_t refused = 0;  // frames in a row that could not be taken although their weight was zero
  uint64_t passed = 0;
  while (count < most && refused < frames) {
    const FrameId frame{static_cast<uint32_t>(1 + (start + passed++) % frames)};
    const bool is_loaded = states_[Raw(frame)].load(std::memory_order_relaxed) == kLoaded;
    if (is_loaded && !CountDown(frame)) {
      refused = 0;
      continue;
    }
    if (is_loaded && TryTake(frame, claim)) {
      victims[count++] = frame;
      refused = 0;
    } else {
      ++refused;
    }
  }
  hand_.Advance(runtime_, passed, actor);
  return count;
}

size_t NbGclockPolicy::PeekColdest(std::span<FrameId> out) {
  constexpr size_t kLeastStretch = 4096;  // frames looked at, at most, for a small `out`
  const size_t frames = frames_.load(std::memory_order_relaxed);
  const size_t stretch = std::min(frames, std::max(4 * out.size(), kLeastStretch));
  const uint64_t start = hand_.Get();
  std::vector<std::pair<uint8_t, FrameId>> found;
  for (size_t i = 0; i < stretch; ++i) {
    const FrameId frame{static_cast<uint32_t>(1 + (start + i) % frames)};
    if (states_[Raw(frame)].load(std::memory_order_relaxed) == kEmpty) continue;
    found.emplace_back(weights_[Raw(frame)].hits(), frame);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const size_t count = std::min(found.size(), out.size());
  for (size_t i = 0; i < count; ++i) out[i] = found[i].second;
  return count;
}

void NbGclockPolicy::TakeFreeFramesAbove(FrameId last, std::vector<FrameId>* taken) {
  std::vector<FrameId> kept;
  kept.reserve(frames_.load(std::memory_order_relaxed));
  for (FrameId f = free_frames_.Pop(); f != kNoFrame; f = free_frames_.Pop()) {
    (Raw(f) > Raw(last) ? *taken : kept).push_back(f);
  }
  for (; !kept.empty(); kept.pop_back()) free_frames_.Push(kept.back());
}

void NbGclockPolicy::Resize(size_t frames) {
  const size_t before = frames_.load(std::memory_order_relaxed);
  std::vector<FrameId> kept;
  kept.reserve(std::max(frames, before));
  for (size_t frame = frames; frame > before; --frame) {
    kept.push_back(FrameId{static_cast<uint32_t>(frame)});
  }
  for (FrameId f = free_frames_.Pop(); f != kNoFrame; f = free_frames_.Pop()) {
    if (Raw(f) <= frames) kept.push_back(f);
  }
  for (size_t frame = frames + 1; frame <= before; ++frame) {
    LATCHKEY_CHECK(states_[frame].load(std::memory_order_relaxed) == kEmpty);
  }
  frames_.store(frames, std::memory_order_relaxed);
  for (const FrameId frame : kept) free_frames_.Push(frame);
}

}  // namespace latchkey
