#include "storage/wal/log_impl.h"

#include <algorithm>
#include <utility>

#include "storage/base/check.h"
#include "storage/base/status_macros.h"
#include "storage/wal/log_end.h"

namespace latchkey {

LogImpl::LogImpl(std::unique_ptr<LogMedium> medium, const LogOptions& options, bool is_new)
    : owned_medium_(std::move(medium)),
      medium_(*owned_medium_),
      half_bytes_(static_cast<uint32_t>(medium_.geometry.RoundDown(options.buffer_bytes / 2))),
      phase_(is_new ? Phase::kEndKnown : Phase::kOpened),
      watch_(medium_.runtime),
      space_(medium_.geometry, options.group_space, options.least_kept_back),
      buffer_(half_bytes_, medium_.geometry, space_),
      needed_(medium_.geometry),
      failure_(medium_, options.log_sink, [this] { groups_.Disband(); }),
      grower_(medium_, options.max_bytes, space_, failure_),
      reservations_(medium_.runtime, space_, grower_, failure_, watch_, options.waits),
      reader_(medium_),
      growth_ahead_(medium_.runtime, grower_, watch_),
      groups_({.medium = medium_,
               .space = space_,
               .failure = failure_,
               .grower = grower_,
               .growth_ahead = growth_ahead_,
               .watch = watch_,
               .buffer = buffer_,
               .needed = needed_}),
      appender_(medium_.runtime, groups_, buffer_) {}

absl::Status LogImpl::FindEnd(Lsn from, Lsn end_at_least) {
  LATCHKEY_CHECK(phase_.load() != Phase::kWriting);
  LATCHKEY_ASSIGN_OR_RETURN(LogEnd end, FindLogEnd(medium_, from, end_at_least));
  groups_.SetEnd(end.position, end.epoch);
  {
    SpinLatchGuard guard(medium_.latch, medium_.runtime);
    needed_.Set(Raw(from), std::move(end));
  }
  phase_ = Phase::kEndKnown;
  return absl::OkStatus();
}

Lsn LogImpl::end() const {
  LATCHKEY_CHECK(phase_.load() != Phase::kOpened);
  return next();
}

absl::Status LogImpl::ForEach(Lsn from,
                              absl::FunctionRef<absl::Status(const LogRecordView&)> visit) {
  LATCHKEY_CHECK(phase_.load() != Phase::kOpened);
  const Lsn end = durable();
  if (from >= end) return absl::OkStatus();
  return reader_.ForEach(Raw(group_start(from)), from, end, visit);
}

absl::Status LogImpl::Read(Lsn lsn, std::vector<std::byte>* bytes) {
  LATCHKEY_CHECK(phase_.load() != Phase::kOpened);
  if (lsn >= durable() && phase_.load() == Phase::kWriting && lsn < next()) {
    LATCHKEY_RETURN_IF_ERROR(Flush(Lsn{Raw(lsn) + 1}));
  }
  return reader_.Read(lsn, durable(), bytes);
}

absl::Status LogImpl::StartWriting() {
  LATCHKEY_CHECK(phase_.load() == Phase::kEndKnown);
  LATCHKEY_RETURN_IF_ERROR(groups_.Allocate());
  OpenAccount();
  LATCHKEY_RETURN_IF_ERROR(grower_.GrowAndTake(medium_.geometry.block_bytes, SpaceClaim::kMark));
  LATCHKEY_RETURN_IF_ERROR(groups_.WriteMark());
  phase_.store(Phase::kWriting, std::memory_order_release);
  return absl::OkStatus();
}

void LogImpl::OpenAccount() {
  SpinLatchGuard guard(medium_.latch, medium_.runtime);
  needed_.SetFloor();
  medium_.table.FreeBelow(needed_.floor());
  space_.Begin(medium_.table.slots(), buffer_.next() - medium_.geometry.StartOf(needed_.floor()));
}

Lsn LogImpl::group_start(Lsn lsn) const {
  SpinLatchGuard guard(medium_.latch, medium_.runtime);
  const uint64_t open = buffer_.open().start;
  if (phase_.load() == Phase::kWriting && Raw(lsn) >= open) return Lsn{open};
  return Lsn{needed_.GroupStart(Raw(lsn), buffer_.next())};
}

void LogImpl::Truncate(Lsn oldest_needed) {
  GiveUpBelow(oldest_needed);
  if (watch_.kept()) watch_.NoteRoom();
}

void LogImpl::GiveUpBelow(Lsn oldest_needed) {
  SpinLatchGuard guard(medium_.latch, medium_.runtime);
  NoteUse();
  const uint64_t bytes = needed_.GiveUpBelow(Raw(oldest_needed));
  if (bytes == 0) return;
  medium_.table.FreeBelow(needed_.floor());
  space_.AddUnneeded(bytes);
}

void LogImpl::NoteUse() { most_used_ = std::max(most_used_, space_.taken()); }

absl::Status LogImpl::ShrinkToUse() {
  uint64_t most;
  {
    SpinLatchGuard guard(medium_.latch, medium_.runtime);
    NoteUse();
    most = std::max(most_used_, most_used_before_);
    most_used_before_ = std::exchange(most_used_, 0);
  }
  if (most > grower_.device_bytes() / 4) return absl::OkStatus();
  // Twice as much: with less, the log would soon grow again.
  return grower_.ShrinkTo(2 * most);
}

absl::Status LogImpl::MoveToFront() {
  LATCHKEY_RETURN_IF_ERROR(FreeAhead());
  return space_.slots() > LogGrower::kLeastSlots && Raw(durable()) == Raw(next())
             ? groups_.EndSegment()
             : absl::OkStatus();
}

// Records that others append meanwhile are flushed, and the next try goes on behind them.
absl::Status LogImpl::PassSlots() {
  LATCHKEY_CHECK(phase_.load() == Phase::kWriting);
  constexpr int kTries = 64;
  const LogGeometry& g = medium_.geometry;
  const uint64_t end = g.StartOf(g.IndexOf(Raw(next())) + GroupWriter::SegmentsAhead(g) + 1);
  for (int i = 0; i < kTries && Raw(durable()) < end; ++i) {
    LATCHKEY_RETURN_IF_ERROR(Flush(next()));
    LATCHKEY_RETURN_IF_ERROR(groups_.PadTo(end));
  }
  return absl::OkStatus();
}

absl::Status LogImpl::Shrink() {
  LATCHKEY_RETURN_IF_ERROR(FreeAhead());
  return grower_.ShrinkTo(0);
}

// Takes back the slots that segments behind the log's end have got ahead of need.
absl::Status LogImpl::FreeAhead() {
  LATCHKEY_CHECK(phase_.load() == Phase::kWriting);
  LATCHKEY_RETURN_IF_ERROR(Flush(next()));
  if (space_.slots() <= LogGrower::kLeastSlots || Raw(durable()) != Raw(next())) {
    return absl::OkStatus();
  }
  const LogGeometry& g = medium_.geometry;
  return grower_.FreeFrom(g.IndexOf(Raw(next()) + g.payload() - 1));
}

}  // namespace latchkey
