#include "bufferpool/synchronization/region_policy.h"

#include <algorithm>
#include <utility>

#include "storage/base/check.h"
#include "storage/base/hash.h"

namespace latchkey {
namespace {

// A batch of victims takes at most this part of a region, so that evicting ahead does not lower the
// hit ratio of small regions.
constexpr size_t kLargestBatchDivisor = 8;

constexpr uint64_t kNoPage = 0;
uint64_t PagePlusOne(PageId page) { return Raw(page) + 1; }

}  // namespace

class [[nodiscard]] LATCHKEY_SCOPED_CAPABILITY RegionPolicy::RegionLock {
 public:
  explicit RegionLock(Region& region) LATCHKEY_ACQUIRE(region.mutex) : region_(region) {
    const bool slept = region.mutex.Lock();
    Increment(region.lock_acquisitions);
    if (slept) Increment(region.contentions);
  }
  ~RegionLock() LATCHKEY_RELEASE() { region_.mutex.Unlock(); }
  RegionLock(const RegionLock&) = delete;
  RegionLock& operator=(const RegionLock&) = delete;

 private:
  // The lock is held, so only readers of the statistics run at the same time.
  static void Increment(std::atomic<uint64_t>& counter) {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  Region& region_;
};

class [[nodiscard]] RegionPolicy::AllRegionsLock {
 public:
  explicit AllRegionsLock(std::vector<std::unique_ptr<Region>>& regions) : regions_(regions) {
    for (auto& region : regions_) region->mutex.Lock();
  }
  ~AllRegionsLock() {
    for (auto& region : regions_) region->mutex.Unlock();
  }
  AllRegionsLock(const AllRegionsLock&) = delete;
  AllRegionsLock& operator=(const AllRegionsLock&) = delete;

 private:
  std::vector<std::unique_ptr<Region>>& regions_;
};

// A loaded page while the ranges are redrawn.
struct RegionPolicy::Resident {
  double coldness_rank;  // within its old region, 0 = first to be evicted, below 1
  FrameId frame;
  uint8_t reference_byte;
};

RegionPolicy::RegionPolicy(Runtime& runtime, const ReplacementChoice& replacement, size_t regions,
                           size_t frames, size_t max_frames, uint64_t seed)
    : runtime_(runtime),
      replacement_(replacement),
      seed_(seed),
      max_frames_(max_frames),
      records_(max_frames + 1),
      free_links_(max_frames + 1),
      reference_bytes_(max_frames + 1) {
  LATCHKEY_CHECK(1 <= regions && regions <= frames && frames <= max_frames);
  LATCHKEY_CHECK(max_frames < UINT32_MAX - 1);
  regions_.reserve(regions);
  for (size_t r = 0; r < regions; ++r) {
    regions_.push_back(std::make_unique<Region>(runtime_, free_links_.data()));
  }
  DrawRanges(frames, MakeAlgorithms(frames));
  reference_ = regions_[0]->algorithm->reference_bytes();
  for (size_t frame = frames; frame > 0; --frame) {
    ReturnFreeFrame(FrameId{static_cast<uint32_t>(frame)});
  }
}

FrameId RegionPolicy::TakeFreeFrame(PageId incoming, uint32_t /*actor*/) {
  const size_t own = division_.RegionOf(incoming);
  Region& region = *regions_[own];
  const FrameId frame = region.free_frames.Pop();
  if (frame != kNoFrame || !region.exhausted.load(std::memory_order_relaxed)) return frame;
  return BorrowFreeFrame(own);
}

FrameId RegionPolicy::BorrowFreeFrame(size_t own_region) {
  for (size_t i = 1; i < division_.active(); ++i) {
    Region& other = *regions_[(own_region + i) % division_.active()];
    if (const FrameId frame = other.free_frames.Pop(); frame != kNoFrame) return frame;
  }
  return kNoFrame;
}

void RegionPolicy::ReturnFreeFrame(FrameId frame) {
  LATCHKEY_CHECK(frame != kNoFrame && Raw(frame) <= frames_);
  Region& region = RegionOf(frame);
  region.free_frames.Push(frame);
  if (region.exhausted.load(std::memory_order_relaxed)) {
    region.exhausted.store(false, std::memory_order_relaxed);
  }
}

void RegionPolicy::OnHitSlow(FrameId frame, PageId page, uint32_t /*actor*/) {
  FrameRecord& record = records_[Raw(frame)];
  const uint32_t number = record.region.load(std::memory_order_relaxed);
  Region& region = *regions_[number];
  RegionLock lock(region);
  // Resize may have moved the frame to another region before this thread got the lock. The hit is
  // then lost.
  if (record.region.load(std::memory_order_relaxed) != number) return;
  if (record.page_plus_one == PagePlusOne(page)) region.algorithm->OnHit(frame);
}

void RegionPolicy::Record(FrameId frame, PageId page) {
  FrameRecord& record = records_[Raw(frame)];
  LATCHKEY_CHECK(record.page_plus_one == kNoPage);
  record.page_plus_one = PagePlusOne(page);
}

void RegionPolicy::OnLoad(FrameId frame, PageId page, LoadKind kind, uint32_t /*actor*/) {
  Region& region = RegionOf(frame);
  RegionLock lock(region);
  Record(frame, page);
  region.algorithm->OnLoad(frame, page, kind);
}

void RegionPolicy::Reinstate(FrameId frame, PageId page, uint32_t /*actor*/) {
  Region& region = RegionOf(frame);
  RegionLock lock(region);
  Record(frame, page);
  region.algorithm->Reinstate(frame);
}

void RegionPolicy::OnRemove(FrameId frame, PageId page, uint32_t /*actor*/) {
  Region& region = RegionOf(frame);
  RegionLock lock(region);
  FrameRecord& record = records_[Raw(frame)];
  LATCHKEY_CHECK(record.page_plus_one == PagePlusOne(page));
  record.page_plus_one = kNoPage;
  region.algorithm->OnRemove(frame);
}

size_t RegionPolicy::Evict(PageId incoming, std::span<FrameId> victims,
                           absl::FunctionRef<bool(FrameId)> claim, uint32_t /*actor*/) {
  const size_t own = division_.RegionOf(incoming);
  Region& region = *regions_[own];
  size_t count = EvictFrom(region, incoming, victims, claim);
  if (region.exhausted.load(std::memory_order_relaxed) != (count == 0)) {
    region.exhausted.store(count == 0, std::memory_order_relaxed);
  }
  for (size_t i = 1; i < division_.active() && count == 0; ++i) {
    count = EvictFrom(*regions_[(own + i) % division_.active()], incoming, victims, claim);
  }
  return count;
}

size_t RegionPolicy::EvictFrom(Region& region, PageId incoming, std::span<FrameId> victims,
                               absl::FunctionRef<bool(FrameId)> claim) {
  const size_t most =
      std::min(victims.size(), std::max<size_t>(1, region.frames / kLargestBatchDivisor));
  RegionLock lock(region);
  size_t count = 0;
  while (count < most) {
    const PageId page = count == 0 ? incoming : kInvalidPageId;
    const FrameId victim = region.algorithm->Victim(page, claim);
    if (victim == kNoFrame) break;
    records_[Raw(victim)].page_plus_one = kNoPage;
    victims[count++] = victim;
  }
  return count;
}

size_t RegionPolicy::PeekColdest(std::span<FrameId> out) {
  if (out.empty()) return 0;
  if (division_.active() == 1) {
    RegionLock lock(*regions_[0]);
    return regions_[0]->algorithm->PeekColdest(out);
  }
  const size_t visited = std::min(division_.active(), out.size());
  const size_t start = peek_cursor_.fetch_add(visited, std::memory_order_relaxed);
  std::vector<std::pair<size_t, FrameId>> found;  // rank within its region
  std::vector<FrameId> share((out.size() + visited - 1) / visited);
  for (size_t i = 0; i < visited; ++i) {
    Region& region = *regions_[(start + i) % division_.active()];
    RegionLock lock(region);
    const size_t count = region.algorithm->PeekColdest(share);
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
  for (const auto& region : regions_) count += region->free_frames.size();
  return count;
}

FixPolicyStats RegionPolicy::stats() const {
  FixPolicyStats stats;
  for (const auto& region : regions_) {
    stats.lock_acquisitions += region->lock_acquisitions.load(std::memory_order_relaxed);
    stats.contentions += region->contentions.load(std::memory_order_relaxed);
  }
  return stats;
}

// ---- Resize -------------------------------------------------------------------------------------

void RegionPolicy::TakeFreeFramesAbove(FrameId last, std::vector<FrameId>* taken) {
  std::vector<FrameId> kept;
  kept.reserve(frames_);
  for (auto& region : regions_) {
    for (FrameId f = region->free_frames.Pop(); f != kNoFrame; f = region->free_frames.Pop()) {
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
  for (size_t frame = frames + 1; frame <= frames_; ++frame) {
    LATCHKEY_CHECK(records_[frame].page_plus_one == kNoPage);
  }
  // Take all memory before any change.
  if (regions_.size() == 1) {
    regions_[0]->algorithm->Resize(frames);
    DrainFreeFrames(frames, free);
    regions_[0]->frames = frames_ = frames;
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
    for (FrameId f = region->free_frames.Pop(); f != kNoFrame; f = region->free_frames.Pop()) {
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
  for (size_t r = 0; r < regions_.size(); ++r) {
    Region& region = *regions_[r];
    const auto [first, count] = division_.RangeOf(r);
    region.frames = count;
    region.algorithm = std::move(algorithms[r]);
    for (uint32_t frame = first; frame < first + region.frames; ++frame) {
      records_[frame].region.store(static_cast<uint32_t>(r), std::memory_order_relaxed);
    }
  }
}

// All loaded frames, those next in line for eviction in their regions first.
std::vector<RegionPolicy::Resident> RegionPolicy::CollectResidents() {
  std::vector<Resident> residents;
  std::vector<FrameId> order;
  for (auto& region : regions_) {
    order.resize(region->algorithm->size());
    order.resize(region->algorithm->PeekColdest(order));
    for (size_t i = 0; i < order.size(); ++i) {
      residents.push_back({static_cast<double>(i) / static_cast<double>(order.size()), order[i],
                           reference_bytes_[Raw(order[i])].load(std::memory_order_relaxed)});
    }
  }
  std::stable_sort(residents.begin(), residents.end(), [](const Resident& a, const Resident& b) {
    return a.coldness_rank < b.coldness_rank;
  });
  return residents;
}

void RegionPolicy::Reinsert(const std::vector<Resident>& residents) {
  for (const Resident& resident : residents) {
    const uint64_t page_plus_one = records_[Raw(resident.frame)].page_plus_one;
    RegionOf(resident.frame)
        .algorithm->OnLoad(resident.frame, PageId{page_plus_one - 1}, LoadKind::kDemand);
    reference_bytes_[Raw(resident.frame)].store(resident.reference_byte, std::memory_order_relaxed);
  }
}

}  // namespace latchkey
