#include "layout/write/write_again.h"

#include <optional>
#include <string>

#include "storage/base/canary.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

// Takes a hole, or the first slot of a free segment, whose other slots become holes.
std::optional<SlotId> TakeAnotherSlot(StoreCore& core, SegmentKind kind, PageId page) {
  if (const std::optional<SlotId> hole = core.segments.TakeHole(kind, page)) return hole;
  const std::optional<SegmentId> segment = core.segments.TakeFree(/*keep=*/0, kind);
  if (!segment) return std::nullopt;
  const uint64_t birth = core.accepted_ticket.load(std::memory_order_relaxed);
  const OnException give_back([&] { core.segments.Close(*segment, birth); });
  if (core.journal != nullptr) core.journal->NoteSegment(*segment, kind, birth);
  const SlotId slot = core.geometry.SlotAt(*segment, 0);
  core.segments.AssignSlot(slot, page);
  core.segments.Close(*segment, birth);
  return slot;
}

bool FewAreBad(const StoreCore& core) {
  return core.segments.bad_slots() <= uint64_t{kMostBadSegments} * core.geometry.slots_per_segment;
}

// Marks the frame's target as bad. False: too many slots of the device are bad.
bool GiveUpTarget(StoreCore& core, const CopyFrame& frame, const absl::Status& error) {
  core.segments.MarkBad(frame.target);
  CatchOutOfMemory([&] {
    LogTo(core.log_sink, LogLevel::kWarning,
          fmt::format("slot {} could not be written and is not used again until the store is "
                      "opened again: {}",
                      Raw(frame.target), std::string(error.message())));
    return absl::OkStatus();
  }).IgnoreError();
  return FewAreBad(core);
}

bool MoveTarget(StoreCore& core, CopyFrame& frame, const absl::Status& error) {
  const SegmentKind kind = core.segments.KindOf(core.geometry.SegmentOf(frame.target));
  std::optional<SlotId> slot;
  try {
    slot = TakeAnotherSlot(core, kind, frame.page);
  } catch (const std::bad_alloc&) {
  }
  if (!slot) return true;  // no other slot: the caller tries the same one again
  const bool goes_on = GiveUpTarget(core, frame, error);
  frame.target = *slot;
  return goes_on;
}

// Whether the write goes over the page's present slot. The page then has no other durable copy.
bool IsInPlace(const CopyFrame& frame) {
  const LocationWord durable(frame.durable_word.load(std::memory_order_relaxed));
  return !frame.moved && durable.on_device() && durable.slot() == frame.target;
}

bool IsOvertaken(const StoreCore& core, FrameIndex index, const CopyFrame& frame) {
  return frame.page == kInvalidPageId ||
         core.map.Load(frame.page) != LocationWord::InMemory(index, frame.sequence);
}

absl::Status WriteToTarget(StoreCore& core, FrameIndex index) {
  return core.device.Write(core.geometry.OffsetOf(core.frames.Frame(index).target),
                           {core.frames.Memory(index), core.geometry.page_size},
                           IoClass::kPageWrite);
}

// REQUIRES: no map entry names the frame's target, and nothing needs the frame's copy.
absl::Status Abandon(StoreCore& core, CopyFrame& frame, const absl::Status& error) {
  const bool goes_on = GiveUpTarget(core, frame, error);
  core.Forget(frame);
  return goes_on ? absl::OkStatus() : error;
}

absl::Status TryAgain(StoreCore& core, FrameIndex index, absl::Status error) {
  CopyFrame& frame = core.frames.Frame(index);
  if (core.poisoned()) return error;
  const bool in_place = IsInPlace(frame);
  if (frame.moved || (!in_place && IsOvertaken(core, index, frame))) {
    return Abandon(core, frame, error);
  }
  for (int attempt = 1; attempt < kWriteAttempts; ++attempt) {
    if (!in_place && !MoveTarget(core, frame, error)) break;
    core.counters.writes_again.fetch_add(1, std::memory_order_relaxed);
    error = WriteToTarget(core, index);
    if (error.ok()) return core.InstallWritten(index) ? absl::OkStatus() : OutOfMemory();
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

bool ReplaceCheckpointSegment(StoreCore& core, SegmentId& segment, const absl::Status& error) {
  if (core.poisoned() || LATCHKEY_CANARY("checkpoint-stays-where-it-fails")) return false;
  const std::optional<SegmentId> other = core.segments.TakeMeta(/*keep=*/0);
  if (!other) return false;
  core.segments.MarkBadMeta(segment);
  LogTo(core.log_sink, LogLevel::kWarning,
        fmt::format("segment {} could not be written and is not used again until the store is "
                    "opened again: {}",
                    Raw(segment), std::string(error.message())));
  segment = *other;
  core.counters.writes_again.fetch_add(1, std::memory_order_relaxed);
  return FewAreBad(core);
}

absl::Status WriteFrameAgain(StoreCore& core, FrameIndex index, absl::Status error) {
  absl::Status status = TryAgain(core, index, std::move(error));
  if (!status.ok()) core.Poison(status);
  return status;
}

}  // namespace latchkey
