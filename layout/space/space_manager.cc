#include "layout/space/space_manager.h"

#include <algorithm>

#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

// Tolerated excess over the wanted utilisation; beyond it, allocation waits for the file to grow.
constexpr double kToleratedExcess = 0.002;

}  // namespace

SpaceManager::SpaceManager(PageDirectory& directory, const SpaceSizing& sizing)
    : directory_(directory),
      core_(directory.core()),
      sizing_(sizing),
      resize_mutex_(directory.core().runtime) {
  directory.SetListener(this);
}

absl::Status SpaceManager::AdmitPage(uint64_t limit) {
  LATCHKEY_RETURN_IF_ERROR(core_.WriteStatus());
  const uint64_t live = directory_.live_slots() + sizing_.geometry.slots_per_page;
  const uint64_t map_bytes = directory_.map().checkpoint_bytes_with_another(limit);
  const uint32_t total = directory_.segments().total();
  if (TargetSegments(live, map_bytes) <= total) return absl::OkStatus();
  const double capacity = static_cast<double>(capacity_slots());
  const auto slots = static_cast<double>(live);
  const bool full = slots > SpaceSizing::kFullestUtilization * capacity;
  const bool late = slots > (sizing_.space_utilization + kToleratedExcess) * capacity;
  const absl::Status grown = GrowFor(live, map_bytes, late, full);
  return full ? grown : absl::OkStatus();
}

absl::StatusOr<PageId> SpaceManager::AllocatePage() {
  LATCHKEY_RETURN_IF_ERROR(AdmitPage(directory_.map().limit() + 1));
  auto id = directory_.map().Allocate();
  NoteUtilization();
  return id;
}

absl::Status SpaceManager::AdoptPage(PageId id) {
  LATCHKEY_RETURN_IF_ERROR(AdmitPage(std::max(directory_.map().limit(), Raw(id) + 1)));
  const absl::Status adopted = directory_.map().Adopt(id);
  NoteUtilization();
  return adopted;
}

void SpaceManager::FreePage(PageId id) {
  directory_.map().Free(id);
  NoteUtilization();
  if (WantsShrink()) Signal();
}

bool SpaceManager::WantsShrink() const {
  return sizing_.TooLarge(directory_.segments().total() - directory_.segments().bad_segments(),
                          directory_.live_slots(), directory_.map().checkpoint_bytes());
}

bool SpaceManager::IsOverfull() const {
  return directory_.live_slots() > capacity_slots() &&
         no_growth_before_.load(std::memory_order_relaxed) != 0;
}

uint32_t SpaceManager::ExcessSegments() const {
  if (!WantsShrink()) return 0;
  const uint32_t total = directory_.segments().total();
  const uint32_t target =
      TargetSegments(directory_.live_slots(), directory_.map().checkpoint_bytes());
  return total > target ? total - target : 0;
}

absl::Status SpaceManager::GrowFor(uint64_t live, uint64_t map_bytes, bool late, bool full) {
  const Nanos not_before = no_growth_before_.load(std::memory_order_relaxed);
  if (!full && not_before != 0 && core_.runtime.Now() < not_before) return absl::OkStatus();
  if (!late && !full) {
    if (!resize_mutex_.TryLock()) return absl::OkStatus();
  } else {
    resize_mutex_.Lock();
  }
  const uint32_t target = TargetSegments(live, map_bytes);
  const absl::Status status =
      target > directory_.segments().total() ? GrowTo(target) : absl::OkStatus();
  resize_mutex_.Unlock();
  if (status.ok()) NotifyFreed();
  return status;
}

// REQUIRES: resize_mutex_ is held.
absl::Status SpaceManager::GrowTo(uint32_t target) {
  const uint32_t total = directory_.segments().total();
  const auto resize_to = [this](uint32_t segments) {
    return CatchOutOfMemory([&] { return ResizeTo(segments); });
  };
  absl::Status status = resize_to(target + SpaceSizing::GrowthStep(total));
  // A young file has too few segments for the logs of an ordinary one: it grows up at once or not.
  const bool was_young = total <= SpaceSizing::kYoungSegments;
  if (absl::IsResourceExhausted(status)) status = resize_to(was_young ? target : total + 1);
  if (!status.ok() && !IsOutOfMemory(status)) {
    no_growth_before_.store(core_.runtime.Now() + kNanosPerSecond, std::memory_order_relaxed);
    LogTo(core_.log_sink, LogLevel::kWarning,
          fmt::format("the data file cannot grow beyond {} segments: {}", total,
                      std::string(status.message())));
  }
  return status;
}

// Returns whether the file is not young any more.
bool SpaceManager::GrowUp() {
  const Nanos not_before = no_growth_before_.load(std::memory_order_relaxed);
  if (not_before != 0 && core_.runtime.Now() < not_before) return !IsYoung();
  {
    MutexLock lock(resize_mutex_);
    const uint64_t live = std::max<uint64_t>(directory_.live_slots(), 1);
    if (IsYoung()) {
      const PageMap& map = directory_.map();
      GrowTo(sizing_.TargetSegments(live, map.checkpoint_bytes_with_another(map.limit() + 1)))
          .IgnoreError();
    }
  }
  NotifyFreed();
  return !IsYoung();
}

absl::Status SpaceManager::ResizeTo(uint32_t segments) {
  const uint64_t needed = sizing_.geometry.FileBytes(segments);
  if (core_.device.geometry().size_bytes < needed) {
    // Growing the device costs syncs, so it grows ahead of need, by an eighth of the file (at most
    // 128 MiB). Segments are added only as the utilisation requires.
    absl::Status status = core_.device.Resize(needed + WriteAheadBytes(needed));
    if (absl::IsResourceExhausted(status)) status = core_.device.Resize(needed);
    LATCHKEY_RETURN_IF_ERROR(status);
  }
  if (!directory_.segments().Grow(segments)) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "no memory for the table of {} segments", segments);
  }
  return absl::OkStatus();
}

uint64_t SpaceManager::WriteAheadBytes(uint64_t needed) const {
  if (directory_.segments().total() == 0) return 0;  // a new store begins small
  constexpr uint64_t kMost = uint64_t{128} << 20;
  const uint64_t segment = sizing_.geometry.segment_size;
  return std::min(kMost, needed / 8) / segment * segment;
}

void SpaceManager::TrimDevice() {
  MutexLock lock(resize_mutex_);
  const uint64_t needed = sizing_.geometry.FileBytes(directory_.segments().total());
  if (core_.device.geometry().size_bytes <= needed) return;
  const absl::Status status = core_.device.Resize(needed);
  if (!status.ok()) {
    LogTo(core_.log_sink, LogLevel::kWarning,
          fmt::format("the data file could not be shortened: {}", std::string(status.message())));
  }
}

absl::Status SpaceManager::GrowToTarget() {
  const uint64_t live = directory_.live_slots();
  const uint64_t map_bytes = directory_.map().checkpoint_bytes();
  if (TargetSegments(live, map_bytes) <= directory_.segments().total()) return absl::OkStatus();
  return GrowFor(live, map_bytes, /*late=*/true, /*full=*/false);
}

std::optional<SegmentId> SpaceManager::ShrinkTowardsTarget() {
  MutexLock lock(resize_mutex_);
  const uint32_t total = directory_.segments().total();
  const uint32_t target =
      TargetSegments(directory_.live_slots(), directory_.map().checkpoint_bytes());
  if (total <= target) return std::nullopt;
  // The last free segments are the cleaner's: without one it could not move the pages that are in the way.
  const uint32_t end = directory_.segments().RetireTail(target, hard_watermark());
  if (end < total) {
    // Truncate the table before the device, so that the table never has a segment that is cut off.
    directory_.segments().Truncate(end);
    const absl::Status status = core_.device.Resize(sizing_.geometry.FileBytes(end));
    if (!status.ok()) {
      LogTo(core_.log_sink, LogLevel::kWarning,
            fmt::format("the data file could not be shortened: {}", std::string(status.message())));
    }
    NoteUtilization();
  }
  return end > target ? std::optional<SegmentId>(SegmentId{end - 1}) : std::nullopt;
}

bool SpaceManager::HasSpareSegments() const {
  const uint32_t of_checkpoint = sizing_.CheckpointSegments(directory_.map().checkpoint_bytes(),
                                                            directory_.segments().total());
  return directory_.segments().free_count() > soft_watermark() + of_checkpoint;
}

void SpaceManager::AskForHoles() {
  const MapJournal* const journal = directory_.journal();
  if (journal == nullptr || journal->full() || journal->pending_slots() < kSlotsForHoles) return;
  if (!asked_for_holes_.exchange(true, std::memory_order_relaxed)) Signal();
}

bool SpaceManager::WantsCleaning(uint32_t soon_free) const {
  const uint32_t free = directory_.segments().free_count() + soon_free;
  const uint32_t soft = soft_watermark();
  return (free < soft && !IsYoung()) ||
         (waiters_.load(std::memory_order_relaxed) > 0 && free <= soft + 1);
}

std::optional<SegmentId> SpaceManager::TakeSegment(Claim claim, SegmentKind kind) {
  if (IsYoung()) return TakeYoungSegment(claim, kind);
  const auto take = [&] {
    // A thread that waits sees a watermark that changes with the size of the file.
    const uint32_t keep = claim == Claim::kSpare  ? soft_watermark()
                          : claim == Claim::kUser ? hard_watermark()
                                                  : 0;
    return directory_.segments().TakeFree(keep, kind);
  };
  std::optional<SegmentId> segment = take();
  if (segment && claim == Claim::kCleaner) {
    taken_by_cleaner_.fetch_add(1, std::memory_order_relaxed);
  }
  if (WantsCleaning() || WantsShrink()) Signal();
  if (segment || claim != Claim::kUser) return segment;
  return WaitForSegment(take);
}

// In a new open the segment of a young file is closed and has holes: a few page writes go there.
std::optional<SegmentId> SpaceManager::TakeYoungSegment(Claim claim, SegmentKind kind) {
  StoreSegmentTable& segments = directory_.segments();
  uint32_t of_checkpoints = 0;
  for (uint32_t i = 0; i < SpaceSizing::kYoungSegments; ++i) {
    of_checkpoints += segments.StateOf(SegmentId{i}) == SegmentState::kMeta;
  }
  const uint32_t keep =
      SpaceSizing::kYoungMetaSegments - std::min(of_checkpoints, SpaceSizing::kYoungMetaSegments);
  if (auto segment = segments.TakeFree(keep, kind)) return segment;
  const uint64_t writes = core_.counters.user_page_writes.load(std::memory_order_relaxed);
  if (claim != Claim::kCleaner && writes < sizing_.geometry.pages_per_segment())
    return std::nullopt;
  return GrowUp() ? TakeSegment(claim, kind) : std::nullopt;
}

std::optional<SegmentId> SpaceManager::WaitForSegment(
    absl::FunctionRef<std::optional<SegmentId>()> take) {
  const Waiter counted(waiters_);
  const uint32_t fruitless_before = passes_without_gain_.load(std::memory_order_acquire);
  std::optional<SegmentId> segment;
  for (;;) {
    const uint32_t seen = freed_.load(std::memory_order_acquire);
    segment = take();
    if (segment || core_.poisoned()) break;
    // Two fruitless reports: the second pass began after this wait did, so cleaning gains nothing.
    if (passes_without_gain_.load(std::memory_order_acquire) - fruitless_before >= 2) break;
    Signal();
    if (writes_ != nullptr) writes_->CompleteFinished();
    core_.runtime.WaitOnWord(freed_, seen, kNanosPerMilli);
  }
  return segment;
}

absl::StatusOr<SegmentId> SpaceManager::TakeMetaSegment(MetaClaim claim) {
  if (IsYoung()) {
    if (const auto segment = directory_.segments().TakeMeta(0)) return *segment;
    GrowUp();
  }
  const auto take = [&] { return directory_.segments().TakeMeta(kLeastHardWatermark); };
  std::optional<SegmentId> segment = take();
  if (!segment && claim == MetaClaim::kWaits) segment = WaitForSegment(take);
  if (!segment && claim != MetaClaim::kSpare) segment = directory_.segments().TakeMeta(0);
  if (!segment && claim != MetaClaim::kSpare && GrowByOne())
    segment = directory_.segments().TakeMeta(0);
  if (segment) return *segment;
  LATCHKEY_RETURN_IF_ERROR(core_.WriteStatus());
  return MakeStatus(absl::StatusCode::kResourceExhausted,
                    "no free segment for a checkpoint: the device is full ({} segments)",
                    directory_.segments().total());
}

// Grows beyond the target: the checkpoint releases superseded slots, and the file shrinks again.
bool SpaceManager::GrowByOne() {
  if (core_.poisoned()) return false;
  MutexLock lock(resize_mutex_);
  return CatchOutOfMemory([this] { return ResizeTo(directory_.segments().total() + 1); }).ok();
}

void SpaceManager::Signal() {
  work_.fetch_add(1, std::memory_order_seq_cst);
  if (worker_sleeps_.load(std::memory_order_seq_cst)) core_.runtime.Wake(work_, 1);
}

void SpaceManager::WaitForWork(uint32_t seen, Nanos timeout) {
  worker_sleeps_.store(true, std::memory_order_seq_cst);
  core_.runtime.WaitOnWord(work_, seen, timeout);
  worker_sleeps_.store(false, std::memory_order_seq_cst);
}

void SpaceManager::ReportPass(bool gained) {
  if (!gained) passes_without_gain_.fetch_add(1, std::memory_order_acq_rel);
  NotifyFreed();
}

void SpaceManager::NotifyFreed() {
  freed_.fetch_add(1, std::memory_order_acq_rel);
  if (waiters_.load(std::memory_order_seq_cst) > 0) core_.runtime.Wake(freed_, UINT32_MAX);
}

double SpaceManager::space_utilization() const {
  const uint64_t capacity = capacity_slots();
  return capacity == 0
             ? 0
             : static_cast<double>(directory_.live_slots()) / static_cast<double>(capacity);
}

void SpaceManager::NoteUtilization() {
  const double now = space_utilization();
  if (now < min_utilization_.load(std::memory_order_relaxed)) {
    min_utilization_.store(now, std::memory_order_relaxed);
  }
  if (now > max_utilization_.load(std::memory_order_relaxed)) {
    max_utilization_.store(now, std::memory_order_relaxed);
  }
}

void SpaceManager::ResetExtremes() {
  const double now = space_utilization();
  min_utilization_.store(now, std::memory_order_relaxed);
  max_utilization_.store(now, std::memory_order_relaxed);
}

}  // namespace latchkey
