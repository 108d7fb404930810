#include "storage/wal/log_impl.h"

#include <algorithm>
#include <new>
#include <utility>

#include "storage/base/canary.h"
#include "storage/base/check.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

// Dense enough to find a group by a short scan, sparse enough for some 16 thousand entries per GiB.
uint64_t StartSpacing(const LogGeometry& geometry) {
  return std::min<uint64_t>(64u << 10, geometry.payload() / 8);
}

}  // namespace

LogImpl::LogImpl(std::unique_ptr<LogMedium> medium, const LogOptions& options, bool is_new)
    : medium_(std::move(medium)),
      runtime_(medium_->runtime),
      options_(options),
      half_bytes_(static_cast<uint32_t>(medium_->geometry.RoundDown(options.buffer_bytes / 2))),
      share_of_group_(ShareOfGroup()),
      phase_(is_new ? Phase::kEndKnown : Phase::kOpened),
      starts_(StartSpacing(medium_->geometry)),
      failed_without_memory_(absl::UnavailableError(
          "the log: memory ran out while it was written, so nothing more is written or "
          "acknowledged; close and reopen the database to recover what was acknowledged")),
      watch_(medium_->runtime),
      grow_mutex_(medium_->runtime),
      read_mutex_(medium_->runtime) {}

absl::Status LogImpl::FindEnd(Lsn from, Lsn end_at_least) {
  LATCHKEY_CHECK(phase_.load() != Phase::kWriting);
  const uint64_t begin = Raw(from);
  if (begin % medium_->geometry.block_bytes != 0) {
    return InvalidArgument("{}: no group begins at position {}; give what group_start() told",
                           medium_->name, begin);
  }
  starts_.Clear();
  GroupScanner scanner(*medium_, begin, UINT64_MAX);
  GroupScanner::Found found;
  while (true) {
    LATCHKEY_ASSIGN_OR_RETURN(found, scanner.Next());
    if (found != GroupScanner::Found::kGroup) break;
    last_group_start_ = scanner.header().lsn;
    starts_.Add(last_group_start_);
  }
  LATCHKEY_RETURN_IF_ERROR(CheckEnd(scanner, found, from, end_at_least));
  oldest_ = begin;
  next_ = durable_ = scanner.position();
  phase_ = Phase::kEndKnown;
  return absl::OkStatus();
}

// Decides by the groups behind the end whether it is the end of the log or damage.
absl::Status LogImpl::CheckEnd(const GroupScanner& scanner, GroupScanner::Found why, Lsn from,
                               Lsn end_at_least) {
  const uint64_t end = scanner.position();
  std::optional<uint64_t> epoch = scanner.epoch();
  if (!epoch) {
    LATCHKEY_ASSIGN_OR_RETURN(epoch, EpochBefore(Raw(from)));
  }
  epoch_ = *epoch;
  std::optional<uint64_t> later;
  if (why == GroupScanner::Found::kGap) {
    later = end;
  } else {
    LATCHKEY_ASSIGN_OR_RETURN(later, FindLaterGroup(*medium_, end, epoch_));
  }
  if (later) {
    return MakeStatus(absl::StatusCode::kDataLoss,
                      "{}: damaged at position {}: it goes on at position {}, so committed changes "
                      "would be lost; restore the database from a backup, or salvage it",
                      medium_->name, end, *later);
  }
  if (end < Raw(end_at_least)) {
    return MakeStatus(
        absl::StatusCode::kDataLoss,
        "{}: ends at position {}, but the database has been at {}: it is damaged "
        "there or is an older copy; restore the database from a backup, or salvage it",
        medium_->name, end, Raw(end_at_least));
  }
  return absl::OkStatus();
}

// The epoch of the group that ends at `from`, for a log that ends there.
absl::StatusOr<uint64_t> LogImpl::EpochBefore(uint64_t from) {
  if (from == 0) return 0;
  LATCHKEY_ASSIGN_OR_RETURN(const std::optional<GroupHeader> before,
                            FindGroupBefore(*medium_, from - 1));
  if (!before || before->lsn + before->bytes != from) {
    return MakeStatus(
        absl::StatusCode::kDataLoss,
        "{}: no group begins or ends at position {}, where reading was to begin: it is "
        "damaged there or is an older copy; restore the database from a backup, or "
        "salvage it",
        medium_->name, from);
  }
  last_group_start_ = before->lsn;
  return before->epoch;
}

Lsn LogImpl::end() const {
  LATCHKEY_CHECK(phase_.load() != Phase::kOpened);
  return next();
}

absl::Status LogImpl::ForEach(Lsn from,
                              absl::FunctionRef<absl::Status(const LogRecordView&)> visit) {
  LATCHKEY_CHECK(phase_.load() != Phase::kOpened);
  const uint64_t end = Raw(durable());
  if (Raw(from) >= end) return absl::OkStatus();
  GroupScanner scanner(*medium_, Raw(group_start(from)), end);
  while (scanner.position() < end) {
    LATCHKEY_ASSIGN_OR_RETURN(const GroupScanner::Found found, scanner.Next());
    if (found != GroupScanner::Found::kGroup) {
      return MakeStatus(
          absl::StatusCode::kDataLoss,
          "{}: position {} does not read back as it did before: the device is failing; "
          "restore the database from a backup, or salvage it",
          medium_->name, scanner.position());
    }
    const GroupHeader& header = scanner.header();
    uint64_t at = kGroupHeaderBytes;
    for (uint32_t i = 0; i < header.records; ++i) {
      const std::span<const std::byte> record = RecordAt(header, scanner.group(), at);
      const Lsn lsn{header.lsn + at};
      if (lsn >= from) LATCHKEY_RETURN_IF_ERROR(visit({.lsn = lsn, .bytes = record}));
      at += kRecordHeaderBytes + record.size();
    }
  }
  return absl::OkStatus();
}

absl::Status LogImpl::Read(Lsn lsn, std::vector<std::byte>* bytes) {
  LATCHKEY_CHECK(phase_.load() != Phase::kOpened);
  if (lsn >= durable() && phase_.load() == Phase::kWriting && lsn < next()) {
    LATCHKEY_RETURN_IF_ERROR(Flush(Lsn{Raw(lsn) + 1}));
  }
  MutexLock lock(read_mutex_);
  if (!loaded_.Holds(Raw(lsn)) && lsn < durable()) {
    LATCHKEY_RETURN_IF_ERROR(loaded_.Load(*medium_, Raw(lsn)));
  }
  const std::span<const std::byte> record =
      loaded_.Holds(Raw(lsn)) ? loaded_.Record(Raw(lsn)) : std::span<const std::byte>();
  if (record.empty()) {
    return MakeStatus(absl::StatusCode::kDataLoss,
                      "{}: no record begins at position {} (the log ends at {}): what points there "
                      "is damaged; restore the database from a backup, or salvage it",
                      medium_->name, Raw(lsn), Raw(durable()));
  }
  bytes->assign(record.begin(), record.end());
  return absl::OkStatus();
}

absl::Status LogImpl::AllocateBuffer() {
  try {
    header_block_ = AlignedBuffer(medium_->geometry.block_bytes);
    for (Half& half : halves_) half.memory = AlignedBuffer(half_bytes_);
    // The segments that one group can touch, and the one behind it, so that writing takes no
    // memory.
    const size_t segments = half_bytes_ / medium_->geometry.payload() + 3;
    needed_headers_.reserve(segments);
    early_headers_.reserve(segments);
  } catch (const std::bad_alloc&) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "{}: no memory for its buffer of {} bytes; give it less (buffer_bytes)",
                      medium_->name, options_.buffer_bytes);
  }
  return absl::OkStatus();
}

absl::Status LogImpl::StartWriting() {
  LATCHKEY_CHECK(phase_.load() == Phase::kEndKnown);
  LATCHKEY_RETURN_IF_ERROR(AllocateBuffer());
  const LogGeometry& g = medium_->geometry;
  const uint64_t end = next_.load();
  // The last group stays, so that the next open knows the epoch even if the log ends behind it.
  floor_ = g.IndexOf(std::min(oldest_, last_group_start_));
  medium_->table.FreeBelow(floor_);
  const uint64_t slots = medium_->table.slots();
  slots_ = slots;
  available_ = static_cast<int64_t>(slots * g.payload()) -
               static_cast<int64_t>(end - g.StartOf(floor_)) - KeptBack(slots);
  LATCHKEY_RETURN_IF_ERROR(WriteMark());
  phase_.store(Phase::kWriting, std::memory_order_release);
  return absl::OkStatus();
}

// Once the mark is durable, no group of an earlier epoch can follow. So a torn group is not taken
// for a continuation, even if later writes happen to complete it.
absl::Status LogImpl::WriteMark() {
  LATCHKEY_RETURN_IF_ERROR(GrowAndTake(medium_->geometry.block_bytes, Claim::kMark));
  if (!LATCHKEY_CANARY("epoch-not-bumped")) ++epoch_;
  SpinLatchGuard guard(medium_->latch, runtime_);
  Half& half = open_half();
  BeginGroup(half, next_.load(), 0);
  half.begins_epoch = true;
  half.charge = half.taken = medium_->geometry.block_bytes;
  Seal();
  return Lead(half.start + half.bytes);
}

Lsn LogImpl::group_start(Lsn lsn) const {
  SpinLatchGuard guard(medium_->latch, runtime_);
  if (phase_.load() == Phase::kWriting && Raw(lsn) >= open_half().start) {
    return Lsn{open_half().start};
  }
  if (starts_.empty() || Raw(lsn) >= next_.load()) return Lsn{next_.load()};
  return Lsn{starts_.AtOrBelow(Raw(lsn))};
}

}  // namespace latchkey
