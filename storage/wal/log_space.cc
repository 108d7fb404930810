// The space of a log: reservations, growth, truncation.
#include <algorithm>

#include "storage/base/canary.h"
#include "storage/base/check.h"
#include "storage/base/status_macros.h"
#include "storage/wal/log_impl.h"

namespace latchkey {

namespace {

// Number of records that together pay for one unpaid flush. Callers that obey scarce() flush less
// often: a flush for one page makes all other dirty pages writable too, and a usable cache has at
// least so many frames.
constexpr uint64_t kRecordsPerGroup = 32;
// If a half of the buffer is sealed because the next record does not fit, both together are at
// least 64 blocks. A sixteenth of their bytes pays for both groups.
constexpr uint64_t kShareOfBytes = 16;

// Time for the keeper to make room before the device grows beyond its usual size, and before a full
// log returns an error.
constexpr Nanos kPatienceBeforeGrowth = 50 * kNanosPerMilli;
constexpr Nanos kPatienceBeforeFailure = 5 * kNanosPerSecond;

}  // namespace

uint64_t LogImpl::ShareOfGroup() const {
  return is_shared() ? GroupOverhead() / kRecordsPerGroup + 1 : GroupOverhead();
}

uint64_t LogImpl::RecordSpace(size_t size) const {
  const uint64_t bytes = kRecordHeaderBytes + size;
  return bytes + (is_shared() ? bytes / kShareOfBytes : 0) + share_of_group_;
}

size_t LogImpl::max_record_bytes() const {
  return half_bytes_ - kGroupHeaderBytes - kRecordHeaderBytes;
}

// The kept-back part of the stream bytes of `slots`, which Reserve does not hand out.
int64_t LogImpl::KeptBack(uint64_t slots) const {
  const LogGeometry& g = medium_->geometry;
  return static_cast<int64_t>(std::max<uint64_t>(slots * g.payload() / 16, 16 * g.block_bytes));
}

// The bytes that normal and urgent claims leave are for marks of later openings.
int64_t LogImpl::LowestAvailable(Claim claim) const {
  const int64_t kept = KeptBack();
  if (claim == Claim::kNormal) return 0;
  if (claim == Claim::kMark) return -kept;
  return is_shared() ? -kept / 2 : -(kept - kept / 4);
}

bool LogImpl::scarce() const {
  return is_shared() && available_.load(std::memory_order_relaxed) < -KeptBack() / 4;
}

bool LogImpl::TryTake(uint64_t bytes, Claim claim) {
  const int64_t lowest = LowestAvailable(claim);
  int64_t available = available_.load(std::memory_order_relaxed);
  do {
    if (available - static_cast<int64_t>(bytes) < lowest) return false;
  } while (!available_.compare_exchange_weak(available, available - static_cast<int64_t>(bytes),
                                             std::memory_order_relaxed));
  reserved_.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  return true;
}

bool LogImpl::TryReserve(uint64_t bytes) {
  return bytes <= options_.max_bytes && TryTake(bytes, Claim::kNormal);
}

absl::Status LogImpl::Reserve(uint64_t bytes) {
  if (bytes > options_.max_bytes) return NoSpace(bytes, absl::OkStatus());
  if (TryTake(bytes, Claim::kNormal)) return absl::OkStatus();
  const bool asks = watch_.kept() && !poisoned();
  const bool is_usual = medium_->geometry.SlotOffset(slots_.load()) < watch_.usual_bytes();
  uint64_t ticket = 0;
  if (asks && !is_usual) {
    ticket = watch_.Ask();
    if (AwaitRoom(bytes, ticket, kPatienceBeforeGrowth)) return absl::OkStatus();
  }
  const absl::Status grown = GrowAndTake(bytes, Claim::kNormal);
  if (!absl::IsResourceExhausted(grown) || !asks) return grown;
  if (ticket == 0) ticket = watch_.Ask();
  return AwaitRoom(bytes, ticket, kPatienceBeforeFailure) ? absl::OkStatus() : grown;
}

absl::Status LogImpl::ReserveUrgent(uint64_t bytes) {
  if (bytes > options_.max_bytes) return NoSpace(bytes, absl::OkStatus());
  if (TryTake(bytes, Claim::kNormal) || GrowAndTake(bytes, Claim::kNormal).ok()) {
    return absl::OkStatus();
  }
  return GrowAndTake(bytes, Claim::kUrgent);
}

// Waits for room and takes it. False after `patience`, or when the round of `ticket` is over.
bool LogImpl::AwaitRoom(uint64_t bytes, uint64_t ticket, Nanos patience) {
  const Nanos until = runtime_.Now() + patience;
  for (;;) {
    const uint32_t seen = watch_.news();
    const bool is_answered = watch_.IsAnswered(ticket);
    if (TryTake(bytes, Claim::kNormal)) return true;
    const Nanos now = runtime_.Now();
    if (is_answered || now >= until) return false;
    watch_.AwaitNews(seen, until - now);
  }
}

absl::Status LogImpl::GrowAndTake(uint64_t bytes, Claim claim) {
  if (TryTake(bytes, claim)) return absl::OkStatus();
  MutexLock lock(grow_mutex_);
  while (!TryTake(bytes, claim)) LATCHKEY_RETURN_IF_ERROR(GrowFor(bytes, claim));
  return absl::OkStatus();
}

void LogImpl::Release(uint64_t bytes) {
  const int64_t before =
      reserved_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  LATCHKEY_CHECK(before >= static_cast<int64_t>(bytes));  // never more than was reserved
  available_.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
}

absl::Status LogImpl::NoSpace(uint64_t bytes, const absl::Status& cause) const {
  const absl::string_view why = cause.message();
  return MakeStatus(absl::StatusCode::kResourceExhausted,
                    "{}: no room for {} bytes more in {} bytes, of which {} are reserved (it may "
                    "take up to {}){}{}; end long transactions, make a checkpoint, or make room",
                    medium_->name, bytes, medium_->geometry.SlotOffset(slots_.load()),
                    reserved_.load(), options_.max_bytes, cause.ok() ? "" : ": ",
                    std::string_view(why.data(), why.size()));
}

absl::Status LogImpl::GrowFor(uint64_t bytes, Claim claim) {
  if (poisoned()) return failure_;  // more room would not help
  const LogGeometry& g = medium_->geometry;
  const int64_t lacking = static_cast<int64_t>(bytes) - available_.load() + LowestAvailable(claim);
  // A part of the added bytes is kept back again.
  const uint64_t usable = g.payload() - g.payload() / 4;
  const uint64_t least = std::max<int64_t>(lacking, 1) / usable + 1;
  const uint64_t slots = slots_.load();
  const uint64_t most = (options_.max_bytes - kLogSegmentsBegin) / g.segment_bytes;
  if (slots >= most) return NoSpace(bytes, absl::OkStatus());
  const uint64_t wanted = std::min(most - slots, std::max(least, slots / 8));
  absl::Status status = AddSlots(wanted);
  if (absl::IsResourceExhausted(status) && least < wanted) status = AddSlots(least);
  if (absl::IsResourceExhausted(status)) return NoSpace(bytes, status);
  return status;
}

// A growth syncs the device. If it fails, earlier groups may not be durable either.
absl::Status LogImpl::FailGrowth(const absl::Status& cause) {
  Fail(cause);
  return failure_;
}

absl::Status LogImpl::AddSlots(uint64_t count) {
  const LogGeometry& g = medium_->geometry;
  const uint64_t old_slots = slots_.load();
  const uint64_t size = g.SlotOffset(old_slots + count);
  BlockDevice& device = *medium_->device;
  // Space left by a growth that a crash interrupted may not have been written ahead: cut it.
  absl::Status status;
  if (device.geometry().size_bytes > g.SlotOffset(old_slots)) {
    status = device.Resize(g.SlotOffset(old_slots));
    if (!status.ok()) return FailGrowth(status);
  }
  status = device.Resize(size);
  if (absl::IsResourceExhausted(status)) return status;  // the size is unchanged
  if (status.ok()) status = WriteFreeHeaders(*medium_, old_slots, count);
  if (status.ok()) status = WriteFileHeader(*medium_, old_slots + count);
  if (!status.ok()) return FailGrowth(status);
  SpinLatchGuard guard(medium_->latch, runtime_);
  medium_->table.AddFreeSlots(static_cast<uint32_t>(old_slots), count);
  slots_.store(old_slots + count, std::memory_order_relaxed);
  available_.fetch_add(
      static_cast<int64_t>(count * g.payload()) + KeptBack(old_slots) - KeptBack(old_slots + count),
      std::memory_order_relaxed);
  return absl::OkStatus();
}

void LogImpl::Truncate(Lsn oldest_needed) {
  GiveUpBelow(oldest_needed);
  if (watch_.kept()) watch_.NoteRoom();
}

void LogImpl::GiveUpBelow(Lsn oldest_needed) {
  const LogGeometry& g = medium_->geometry;
  SpinLatchGuard guard(medium_->latch, runtime_);
  // The last durable group stays: see StartWriting.
  const uint64_t oldest = std::min(Raw(oldest_needed), last_group_start_);
  if (oldest <= oldest_) return;
  oldest_ = oldest;
  starts_.PruneBelow(oldest);
  const uint64_t overrun = LATCHKEY_CANARY("log-ring-overrun") ? 1 : 0;
  const uint64_t floor = g.IndexOf(std::min(starts_.AtOrBelow(oldest), oldest)) + overrun;
  if (floor <= floor_) return;
  medium_->table.FreeBelow(floor);
  available_.fetch_add(static_cast<int64_t>(g.StartOf(floor) - g.StartOf(floor_)),
                       std::memory_order_relaxed);
  floor_ = floor;
}

}  // namespace latchkey
