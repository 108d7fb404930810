#include "bufferpool/synchronization/region_policy.h"

#include <algorithm>
#include <utility>

#include "storage/base/check.h"
#include "storage/base/hash.h"

namespace latchkey {

class [[nodiscard]] RegionPolicy::AllRegionsLock {
 public:
  explicit AllRegionsLock(std::vector<std::unique_ptr<Region>>& regions)
      LATCHKEY_NO_THREAD_SAFETY_ANALYSIS : regions_(regions) {
    for (auto& region : regions_) region->lock().Lock();
  }
  ~AllRegionsLock() LATCHKEY_NO_THREAD_SAFETY_ANALYSIS {
    for (auto& region : regions_) region->lock().Unlock();
  }
  AllRegionsLock(const AllRegionsLock&) = delete;
  AllRegionsLock& operator=(const AllRegionsLock&) = delete;

 private:
  std::vector<std::unique_ptr<Region>>& regions_;
};

// While it lives, no actor prefetches from an algorithm.
class [[nodiscard]] RegionPolicy::PrefetchStop {
 public:
  PrefetchStop(Runtime& runtime, AccessQueues* queues) : queues_(queues) {
    if (queues_ != nullptr) queues_->StopPrefetches(runtime);
  }
  ~PrefetchStop() {
    if (queues_ != nullptr) queues_->AllowPrefetches();
  }
  PrefetchStop(const PrefetchStop&) = delete;
  PrefetchStop& operator=(const PrefetchStop&) = delete;

 private:
  AccessQueues* const queues_;
};

// A loaded page while the ranges are redrawn.
struct RegionPolicy::Resident {
  double coldness_rank;  // within its old region, 0 = first to be evicted, below 1
  FrameId frame;
  uint8_t hits;
};

RegionPolicy::RegionPolicy(Runtime& runtime, const ReplacementChoice& replacement,
                           const RegionSettings& settings, size_t frames, size_t max_frames,
                           uint64_t seed)
    : runtime_(runtime),
      replacement_(replacement),
      settings_(settings),
      seed_(seed),
      max_frames_(max_frames),
      records_(max_frames),
      reference_bytes_(max_frames + 1) {
  LATCHKEY_CHECK(1 <= settings.regions && settings.regions <= frames && frames <= max_frames);
  LATCHKEY_CHECK(max_frames < UINT32_MAX - 1);
  LATCHKEY_CHECK(settings.queue == 0 ||
                 (1 <= settings.threshold && settings.threshold <= settings.queue));
  if (settings.queue > 0) queues_.emplace(settings.regions, settings.queue);
  const BatchingRules rules{.queues = queues_ ? &*queues_ : nullptr,
                            .threshold = settings.threshold,
                            .prefetch = settings.prefetch,
                            .free_lists = settings.free_lists};
  regions_.reserve(settings.regions);
  for (size_t r = 0; r < settings.regions; ++r) {
    regions_.push_back(std::make_unique<Region>(runtime_, settings.lock, static_cast<uint32_t>(r),
                                                records_, rules));
  }
  std::vector<std::unique_ptr<ReplacementAlgorithm>> algorithms = MakeAlgorithms(frames);
  SetReferenceBytes(reference_bytes_.data(),
                    settings.locks_every_hit ? std::nullopt : algorithms[0]->most_counted_hits());
  if (algorithms[0]->marks_free_hits() && !settings.locks_every_hit) {
    LeaveOutMarkedHits(/*counted=*/settings.queue > 0);
  }
  notes_first_use_ = algorithms[0]->notes_first_use();
  DrawRanges(frames, std::move(algorithms));
  for (size_t frame = frames; frame > 0; --frame) {
    ReturnFreeFrame(FrameId{static_cast<uint32_t>(frame)});
  }
}

FrameId RegionPolicy::TakeFreeFrame(PageId incoming, uint32_t /*actor*/) {
  const size_t own = division_.RegionOf(incoming);
  const FrameId frame = regions_[own]->PopFree(incoming);
  if (frame != kNoFrame || !regions_[own]->exhausted()) return frame;
  return BorrowFreeFrame(own);
}

FrameId RegionPolicy::BorrowFreeFrame(size_t own_region) {
  for (size_t i = 0; i < division_.active(); ++i) {
    Region& region = *regions_[(own_region + i) % division_.active()];
    if (const FrameId frame = region.PopAnyFree(); frame != kNoFrame) return frame;
  }
  return kNoFrame;
}

void RegionPolicy::ReturnFreeFrame(FrameId frame) {
  LATCHKEY_CHECK(frame != kNoFrame && Raw(frame) <= frames_);
  RegionOf(frame).PushFree(frame);
}

void RegionPolicy::ReportHit(FrameId frame, PageId page, uint32_t actor) {
  RegionOf(frame).OnHit(frame, page, actor);
}

void RegionPolicy::CountFreeHit(FrameId frame, uint32_t actor) {
  RegionOf(frame).CountFreeHit(actor);
}

void RegionPolicy::ReportFirstUse(FrameId frame, PageId page, uint32_t actor) {
  if (notes_first_use_) RegionOf(frame).OnFirstUse(frame, page, actor);
}

void RegionPolicy::ReportLoad(FrameId frame, PageId page, LoadKind kind, uint32_t actor) {
  RegionOf(frame).OnLoad(frame, page, kind, actor);
}

void RegionPolicy::Reinstate(FrameId frame, PageId page, uint32_t /*actor*/) {
  RegionOf(frame).Reinstate(frame, page);
}

void RegionPolicy::OnRemove(FrameId frame, PageId page, uint32_t /*actor*/) {
  RegionOf(frame).OnRemove(frame, page);
}

size_t RegionPolicy::Evict(PageId incoming, std::span<FrameId> victims,
                           absl::FunctionRef<bool(FrameId)> claim, uint32_t actor) {
  const size_t own = division_.RegionOf(incoming);
  size_t count = regions_[own]->Evict(incoming, victims, claim, actor);
  regions_[own]->SetExhausted(count == 0);
  for (size_t i = 1; i < division_.active() && count == 0; ++i) {
    Region& other = *regions_[(own + i) % division_.active()];
    count = other.Evict(incoming, victims, claim, actor);
  }
  return count;
}

size_t RegionPolicy::PeekColdest(std::span<FrameId> out) {
  if (out.empty()) return 0;
  const size_t active = active_regions_.load(std::memory_order_relaxed);
  if (active == 1) return regions_[0]->PeekColdest(out);
  const size_t visited = std::min(active, out.size());
  const size_t start = peek_cursor_.fetch_add(visited, std::memory_order_relaxed);
  std::vector<std::pair<size_t, FrameId>> found;  // rank within its region
  std::vector<FrameId> share((out.size() + visited - 1) / visited);
  for (size_t i = 0; i < visited; ++i) {
    const size_t count = regions_[(start + i) % active]->PeekColdest(share);
    for (size_t rank = 0; rank < count; ++rank) found.emplace_back(rank, share[rank]);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const size_t count = std::min(found.size(), out.size());
  for (size_t i = 0; i < count; ++i) out[i] = found[i].second;
  return count;
}

size_t RegionPolicy::free_frames() const {
  size_t count = 0;
  for (const auto& region : regions_) count += region->free_frames();
  return count;
}

FixPolicyStats RegionPolicy::stats() const {
  FixPolicyStats stats;
  for (const auto& region : regions_) region->AddTo(&stats);
  return stats;
}

// ---- Resize -------------------------------------------------------------------------------------

void RegionPolicy::TakeFreeFramesAbove(FrameId last, std::vector<FrameId>* taken) {
  std::vector<FrameId> kept;
  kept.reserve(frames_);
  for (auto& region : regions_) {
    for (FrameId f = region->PopAnyFree(); f != kNoFrame; f = region->PopAnyFree()) {
      (Raw(f) > Raw(last) ? *taken : kept).push_back(f);
    }
  }
  while (!kept.empty()) {  // the frame that was returned last stays the next to be taken
    ReturnFreeFrame(kept.back());
    kept.pop_back();
  }
}

void RegionPolicy::Resize(size_t frames) {
  LATCHKEY_CHECK(1 <= frames && frames <= max_frames_);
  std::vector<FrameId> free;
  free.reserve(std::max(frames, frames_));
  const AllRegionsLock lock(regions_);  // keeps hits out; nothing else runs now
  const PrefetchStop stop(runtime_, queues_ ? &*queues_ : nullptr);
  for (auto& region : regions_) region->DrainQueues();
  for (size_t frame = frames + 1; frame <= frames_; ++frame) {
    LATCHKEY_CHECK(records_.records[frame].page_plus_one == 0);
  }
  // Take all memory before any change.
  if (regions_.size() == 1) {
    regions_[0]->algorithm().Resize(frames);
    DrainFreeFrames(frames, free);
    regions_[0]->SetFrames(frames);
    frames_ = frames;
  } else {
    const std::vector<Resident> residents = CollectResidents();
    std::vector<std::unique_ptr<ReplacementAlgorithm>> algorithms = MakeAlgorithms(frames);
    DrainFreeFrames(frames, free);
    DrawRanges(frames, std::move(algorithms));
    Reinsert(residents);
  }
  for (const FrameId frame : free) ReturnFreeFrame(frame);
}

// The free frames after the resize: the remaining ones, and those that a growth adds.
void RegionPolicy::DrainFreeFrames(size_t frames, std::vector<FrameId>& free) {
  for (size_t frame = frames; frame > frames_; --frame) {
    free.push_back(FrameId{static_cast<uint32_t>(frame)});
  }
  for (auto& region : regions_) {
    for (FrameId f = region->PopAnyFree(); f != kNoFrame; f = region->PopAnyFree()) {
      if (Raw(f) <= frames) free.push_back(f);
    }
  }
}

std::vector<std::unique_ptr<ReplacementAlgorithm>> RegionPolicy::MakeAlgorithms(size_t frames) {
  std::vector<std::unique_ptr<ReplacementAlgorithm>> algorithms;
  const RegionDivision division = Divide(frames);
  for (size_t r = 0; r < regions_.size(); ++r) {
    const RegionDivision::Range range = division.RangeOf(r);
    algorithms.push_back(
        replacement_.Make(ReplacementConfig{.first_frame = range.first,
                                            .frame_capacity = range.frames,
                                            .reference_bytes = reference_bytes_.data(),
                                            .seed = MixHash(seed_ + r)}));
  }
  return algorithms;
}

void RegionPolicy::DrawRanges(size_t frames,
                              std::vector<std::unique_ptr<ReplacementAlgorithm>> algorithms) {
  frames_ = frames;
  division_ = Divide(frames);
  active_regions_.store(division_.active(), std::memory_order_relaxed);
  for (size_t r = 0; r < regions_.size(); ++r) {
    const auto [first, count] = division_.RangeOf(r);
    regions_[r]->SetFrames(count, std::move(algorithms[r]));
    for (uint32_t frame = first; frame < first + count; ++frame) {
      FrameRecord& record = records_.Of(FrameId{frame});
      record.region.store(static_cast<uint32_t>(r), std::memory_order_relaxed);
      record.free_list.store(frame % settings_.free_lists, std::memory_order_relaxed);
    }
  }
}

// All loaded frames, those next in line for eviction in their regions first.
std::vector<RegionPolicy::Resident> RegionPolicy::CollectResidents() {
  std::vector<Resident> residents;
  std::vector<FrameId> order;
  for (auto& region : regions_) {
    order.resize(region->algorithm().size());
    order.resize(region->algorithm().PeekColdest(order));
    for (size_t i = 0; i < order.size(); ++i) {
      residents.push_back({static_cast<double>(i) / static_cast<double>(order.size()), order[i],
                           reference_bytes_[Raw(order[i])].hits()});
    }
  }
  std::stable_sort(residents.begin(), residents.end(), [](const Resident& a, const Resident& b) {
    return a.coldness_rank < b.coldness_rank;
  });
  return residents;
}

void RegionPolicy::Reinsert(const std::vector<Resident>& residents) {
  for (const Resident& resident : residents) {
    const uint64_t page_plus_one = records_.Of(resident.frame).page_plus_one;
    RegionOf(resident.frame)
        .algorithm()
        .OnLoad(resident.frame, PageId{page_plus_one - 1}, LoadKind::kDemand);
    const bool counts_hits = !regions_[0]->algorithm().marks_free_hits();
    if (counts_hits) reference_bytes_[Raw(resident.frame)].SetHits(resident.hits);
  }
}

}  // namespace latchkey
