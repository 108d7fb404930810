#include "layout/map/write_again.h"

#include <cstring>
#include <optional>
#include <string>

#include "storage/base/canary.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"
#include "storage/device/aligned_buffer.h"

namespace latchkey {
namespace {

// Takes a hole, or the first slots of a free segment, whose other blocks become holes.
std::optional<SlotId> TakeAnotherSlot(PageDirectory& directory, SegmentKind kind, PageId page,
                                      uint32_t slots) {
  StoreCore& core = directory.core();
  const std::optional<SlotId> hole = directory.segments().TakeHole(kind, page, slots);
  if (hole) return hole;
  const std::optional<SegmentId> segment = directory.segments().TakeFree(/*keep=*/0, kind);
  if (!segment) return std::nullopt;
  const uint64_t birth = directory.clock();
  const OnException give_back([&] { directory.segments().Close(*segment, birth); });
  directory.NoteSegment(*segment, kind);
  const SlotId slot = core.geometry.SlotAt(*segment, 0);
  directory.segments().AssignSlot(slot, page, slots);
  directory.segments().Close(*segment, birth);
  return slot;
}

bool FewAreBad(const PageDirectory& directory) {
  const StoreCore& core = directory.core();
  return directory.segments().bad_slots() <=
         uint64_t{kMostBadSegments} * core.geometry.slots_per_segment;
}

// Marks the frame's target as bad. False: too many slots of the device are bad.
bool GiveUpTarget(PageDirectory& directory, const CopyFrame& frame, const absl::Status& error) {
  StoreCore& core = directory.core();
  directory.segments().MarkBad(frame.target);
  CatchOutOfMemory([&] {
    LogTo(core.log_sink, LogEvent::kWriteError, LogLevel::kWarning,
          fmt::format("slot {} could not be written and is not used again until the store is "
                      "opened again: {}",
                      Raw(frame.target), std::string(error.message())));
    return absl::OkStatus();
  }).IgnoreError();
  return FewAreBad(directory);
}

bool MoveTarget(PageDirectory& directory, CopyFrame& frame, const absl::Status& error) {
  StoreCore& core = directory.core();
  const SegmentKind kind = directory.segments().KindOf(core.geometry.SegmentOf(frame.target));
  std::optional<SlotId> slot;
  try {
    slot = TakeAnotherSlot(directory, kind, frame.page, frame.slots);
  } catch (const std::bad_alloc&) {
  }
  if (!slot) return true;  // no other slot: the caller tries the same one again
  const bool goes_on = GiveUpTarget(directory, frame, error);
  frame.target = *slot;
  return goes_on;
}

// Whether the write goes over the page's present slot. The page then has no other durable copy.
bool IsInPlace(const CopyFrame& frame) {
  const LocationWord durable(frame.durable_word.load(std::memory_order_relaxed));
  return !frame.moved && durable.on_device() && durable.slot() == frame.target;
}

bool IsOvertaken(const PageDirectory& directory, FrameIndex index, const CopyFrame& frame) {
  return frame.page == kInvalidPageId ||
         directory.map().Load(frame.page) != LocationWord::InMemory(index, frame.sequence);
}

// Writes the blocks of the frame's target. If that is the frame's own place in a segment buffer,
// the copies beside it belong to the same blocks. In another place the page has a block to itself.
absl::Status WriteToTarget(PageDirectory& directory, FrameIndex index) {
  StoreCore& core = directory.core();
  const StoreGeometry& geometry = core.geometry;
  const CopyFrame& frame = directory.frames().Frame(index);
  const uint64_t offset = geometry.OffsetOf(geometry.BlockOf(frame.target));
  std::byte* memory = directory.frames().Memory(index);
  if (directory.frames().HasBlock(index)) {
    return core.device.Write(offset, {memory, geometry.page_size}, IoClass::kPageWrite);
  }
  if (directory.frames().IndexInGroup(index) == Raw(frame.target) % geometry.slots_per_segment) {
    return core.device.Write(offset,
                             {memory - geometry.OffsetInBlock(frame.target),
                              geometry.BlockBytes(frame.target, frame.slots)},
                             IoClass::kPageWrite);
  }
  return CatchOutOfMemory([&] {
    AlignedBuffer block(geometry.page_size);
    std::memset(block.data(), 0, geometry.page_size);
    std::memcpy(block.data(), memory, size_t{frame.slots} * geometry.slot_size());
    return core.device.Write(offset, block.span(), IoClass::kPageWrite);
  });
}

// REQUIRES: no map entry names the frame's target, and nothing needs the frame's copy.
absl::Status Abandon(PageDirectory& directory, CopyFrame& frame, const absl::Status& error) {
  const bool goes_on = GiveUpTarget(directory, frame, error);
  directory.Forget(frame);
  return goes_on ? absl::OkStatus() : error;
}

absl::Status TryAgain(PageDirectory& directory, FrameIndex index, absl::Status error) {
  StoreCore& core = directory.core();
  CopyFrame& frame = directory.frames().Frame(index);
  if (core.poisoned()) return error;
  const bool in_place = IsInPlace(frame);
  if (frame.moved || (!in_place && IsOvertaken(directory, index, frame))) {
    return Abandon(directory, frame, error);
  }
  for (int attempt = 1; attempt < kWriteAttempts; ++attempt) {
    if (!in_place && !MoveTarget(directory, frame, error)) break;
    core.counters.writes_again.fetch_add(1, std::memory_order_relaxed);
    error = WriteToTarget(directory, index);
    if (error.ok()) return directory.InstallWritten(index) ? absl::OkStatus() : OutOfMemory();
    if (core.poisoned()) break;
  }
  return error;
}

}  // namespace

absl::Status WriteRepeatedly(absl::FunctionRef<absl::Status()> write) {
  absl::Status status = write();
  for (int attempt = 1; attempt < kWriteAttempts && !status.ok(); ++attempt) status = write();
  return status;
}

bool ReplaceCheckpointSegment(PageDirectory& directory, SegmentId& segment,
                              absl::FunctionRef<absl::StatusOr<SegmentId>()> take,
                              const absl::Status& error) {
  StoreCore& core = directory.core();
  if (core.poisoned() || LATCHKEY_CANARY("checkpoint-stays-where-it-fails")) return false;
  const absl::StatusOr<SegmentId> other = take();
  if (!other.ok()) return false;
  directory.segments().MarkBadMeta(segment);
  LogTo(core.log_sink, LogEvent::kWriteError, LogLevel::kWarning,
        fmt::format("segment {} could not be written and is not used again until the store is "
                    "opened again: {}",
                    Raw(segment), std::string(error.message())));
  segment = *other;
  core.counters.writes_again.fetch_add(1, std::memory_order_relaxed);
  return FewAreBad(directory);
}

absl::Status WriteFrameAgain(PageDirectory& directory, FrameIndex index, absl::Status error) {
  absl::Status status = TryAgain(directory, index, std::move(error));
  if (!status.ok()) directory.core().Poison(status);
  return status;
}

}  // namespace latchkey
