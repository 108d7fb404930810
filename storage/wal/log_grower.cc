#include "storage/wal/log_grower.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/base/canary.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"
#include "storage/device/aligned_buffer.h"

namespace latchkey {
namespace {

// As shares of the log's size: the free part below which it grows ahead of need, and the part that
// is added. The free part must last until the new part is written. Meanwhile the log uses the same
// device.
constexpr uint64_t kShareFree = 4, kShareAdded = 8;
// A growth takes several syncs. So a small log doubles, until a growth adds this many bytes.
constexpr uint64_t kOrdinaryStep = uint64_t{2} << 20;

}  // namespace

// Slots that a growth adds.
uint64_t LogGrower::Step() const {
  const uint64_t slots = space_.slots();
  const uint64_t ordinary = std::max<uint64_t>(kOrdinaryStep / medium_.geometry.segment_bytes, 1);
  return std::max(slots / kShareAdded, std::min(slots, ordinary));
}

absl::Status LogGrower::GrowAndTake(uint64_t bytes, SpaceClaim claim) {
  if (space_.TryTake(bytes, claim)) return absl::OkStatus();
  MutexLock lock(mutex_);
  while (!space_.TryTake(bytes, claim)) LATCHKEY_RETURN_IF_ERROR(GrowFor(bytes, claim));
  return absl::OkStatus();
}

absl::Status LogGrower::Grow(uint64_t bytes, SpaceClaim claim) {
  MutexLock lock(mutex_);
  return GrowFor(bytes, claim);
}

bool LogGrower::IsShort(uint64_t usual_bytes) const {
  return !failure_.poisoned() && device_bytes() < usual_bytes && space_.IsBelowShare(kShareFree);
}

LogGrower::Ahead LogGrower::GrowAhead(uint64_t usual_bytes) {
  MutexLock lock(mutex_);
  if (!IsShort(usual_bytes)) return Ahead::kEnough;  // another thread has grown the log
  const uint64_t slots = space_.slots();
  const uint64_t most = SlotsWithin(std::min(max_bytes_, usual_bytes));
  if (slots >= most) return Ahead::kCannot;
  const absl::Status added = AddSlots(std::min(most - slots, Step()));
  return added.ok() ? Ahead::kMayGrow : Ahead::kCannot;
}

absl::Status LogGrower::NoSpace(uint64_t bytes, const absl::Status& cause) const {
  const absl::string_view why = cause.message();
  return MakeStatus(absl::StatusCode::kResourceExhausted,
                    "{}: no room for {} bytes more in {} bytes, of which {} are reserved (it may "
                    "take up to {}){}{}; end long transactions, make a checkpoint, or make room",
                    medium_.name, bytes, device_bytes(), space_.reserved(), max_bytes_,
                    cause.ok() ? "" : ": ", std::string_view(why.data(), why.size()));
}

absl::Status LogGrower::GrowFor(uint64_t bytes, SpaceClaim claim) {
  if (failure_.poisoned()) return failure_.status();  // more room would not help
  const uint64_t payload = medium_.geometry.payload();
  // A part of the added bytes is kept back again.
  const uint64_t usable = payload - payload / 4;
  const uint64_t least = std::max<int64_t>(space_.Lacking(bytes, claim), 1) / usable + 1;
  const uint64_t slots = space_.slots();
  const uint64_t most = SlotsWithin(max_bytes_);
  if (slots >= most) return NoSpace(bytes);
  const uint64_t wanted = std::min(most - slots, std::max(least, Step()));
  absl::Status status = AddSlots(wanted);
  if (absl::IsResourceExhausted(status) && least < wanted) status = AddSlots(least);
  if (absl::IsResourceExhausted(status)) return NoSpace(bytes, status);
  return status;
}

absl::Status LogGrower::FailLog(const absl::Status& cause) {
  failure_.Fail(cause);
  return failure_.status();
}

SegmentTable::NewSlots LogGrower::MakeFreeSlots(uint64_t first, uint64_t count) {
  SpinLatchGuard guard(medium_.latch, medium_.runtime);
  return medium_.table.MakeFreeSlots(static_cast<uint32_t>(first), count);
}

absl::Status LogGrower::AddSlots(uint64_t count) {
  const LogGeometry& g = medium_.geometry;
  const uint64_t old_slots = space_.slots();
  const uint64_t size = g.SlotOffset(old_slots + count);
  BlockDevice& device = *medium_.device;
  // All memory is taken before the file header names the new slots. Otherwise the next growth would
  // cut the device below what the header names.
  SegmentTable::NewSlots added = MakeFreeSlots(old_slots, count);
  // Space left by a growth that a crash interrupted may not have been written ahead: cut it.
  absl::Status status;
  if (device.geometry().size_bytes > g.SlotOffset(old_slots)) {
    status = device.Resize(g.SlotOffset(old_slots));
    if (!status.ok()) return FailLog(status);
  }
  status = device.Resize(size);
  if (absl::IsResourceExhausted(status)) return status;  // the size is unchanged
  if (status.ok()) status = WriteFreeHeaders(medium_, old_slots, count);
  if (status.ok()) status = WriteFileHeader(medium_, old_slots + count);
  if (!status.ok()) return FailLog(status);
  SpinLatchGuard guard(medium_.latch, medium_.runtime);
  medium_.table.AddFreeSlots(std::move(added));
  space_.AddSlots(count);
  return absl::OkStatus();
}

absl::Status LogGrower::ShrinkTo(uint64_t stream_bytes) {
  // All memory is taken before a slot is: once it is out of the table, the file header must follow.
  AlignedBuffer block(kLogHeaderCopyBytes);
  MutexLock lock(mutex_);
  if (failure_.poisoned()) return failure_.status();
  const uint64_t wanted = stream_bytes / medium_.geometry.payload() + 1;
  const std::optional<uint32_t> slots = TakeTail(std::max(wanted, kLeastSlots));
  if (!slots) return absl::OkStatus();
  const absl::Status cut =
      CatchOutOfMemory([&]() LATCHKEY_REQUIRES(mutex_) { return CutTo(*slots, block.span()); });
  return cut.ok() ? cut : FailLog(cut);
}

// Takes the free slots behind the first `wanted` from table and account; from then on no thread gets
// them. Returns how many slots are left, nullopt: nothing was taken.
std::optional<uint32_t> LogGrower::TakeTail(uint64_t wanted) {
  SpinLatchGuard guard(medium_.latch, medium_.runtime);
  const uint64_t slots = space_.slots();
  uint64_t left = std::max<uint64_t>(wanted, medium_.table.EndOfMapped());
  // What is reserved may need more.
  while (left < slots && !space_.RemoveSlots(slots - left)) left += left / 2;
  if (left >= slots) return std::nullopt;
  medium_.table.RemoveFrom(static_cast<uint32_t>(left));
  return static_cast<uint32_t>(left);
}

// If a crash leaves the device longer than the file header says, an open looks at the headers behind
// as long as it can read them. So the first of them is made unreadable.
absl::Status LogGrower::CutTo(uint32_t slots, std::span<std::byte> block) {
  const uint64_t end = medium_.geometry.SlotOffset(slots);
  if (LATCHKEY_CANARY("log-cut-before-its-header")) {
    LATCHKEY_RETURN_IF_ERROR(medium_.device->Resize(end));
    return WriteFileHeader(medium_, slots, block);
  }
  if (!LATCHKEY_CANARY("cut-slot-keeps-its-header")) {
    const std::span<std::byte> zeros = block.first(medium_.geometry.block_bytes);
    std::memset(zeros.data(), 0, zeros.size());
    LATCHKEY_RETURN_IF_ERROR(medium_.device->Write(end, zeros, IoClass::kMeta));
    LATCHKEY_RETURN_IF_ERROR(medium_.device->Sync());
  }
  LATCHKEY_RETURN_IF_ERROR(WriteFileHeader(medium_, slots, block));
  return medium_.device->Resize(end);
}

absl::Status LogGrower::FreeFrom(uint64_t index) {
  // All memory is taken before a header is written: the table must follow every header.
  AlignedBuffer block(medium_.geometry.block_bytes);
  MutexLock lock(mutex_);
  if (failure_.poisoned()) return failure_.status();
  std::vector<uint32_t> slots;
  {
    SpinLatchGuard guard(medium_.latch, medium_.runtime);
    slots = medium_.table.SlotsFrom(index);
  }
  if (slots.empty()) return absl::OkStatus();
  const absl::Status status = CatchOutOfMemory([&] {  // an error takes memory for its message
    absl::Status written;
    for (const uint32_t slot : slots) written.Update(WriteFreeHeader(medium_, slot, block.span()));
    written.Update(medium_.device->Sync());
    return written;
  });
  if (!status.ok()) return FailLog(status);
  SpinLatchGuard guard(medium_.latch, medium_.runtime);
  medium_.table.FreeFrom(index);
  return absl::OkStatus();
}

}  // namespace latchkey
