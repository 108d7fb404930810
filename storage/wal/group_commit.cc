#include "storage/wal/group_commit.h"

#include <algorithm>
#include <new>
#include <utility>

#include "storage/base/canary.h"
#include "storage/base/check.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"

namespace latchkey {

GroupCommit::GroupCommit(const GroupCommitParts& parts)
    : medium_(parts.medium),
      runtime_(parts.medium.runtime),
      space_(parts.space),
      failure_(parts.failure),
      grower_(parts.grower),
      growth_ahead_(parts.growth_ahead),
      watch_(parts.watch),
      buffer_(parts.buffer),
      needed_(parts.needed) {}

void GroupCommit::SetEnd(uint64_t end, uint64_t epoch) {
  SpinLatchGuard guard(medium_.latch, runtime_);
  buffer_.SetEnd(end);
  durable_ = end;
  writer_.SetEpoch(epoch);
}

absl::Status GroupCommit::Allocate() {
  uint32_t half_bytes = 0;
  {
    SpinLatchGuard guard(medium_.latch, runtime_);
    half_bytes = buffer_.half_bytes();
  }
  try {
    writer_.Allocate(medium_, half_bytes);
    SpinLatchGuard guard(medium_.latch, runtime_);
    buffer_.Allocate();
  } catch (const std::bad_alloc&) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "{}: no memory for its buffer of {} bytes; give it less (buffer_bytes)",
                      medium_.name, 2 * half_bytes);
  }
  return absl::OkStatus();
}

absl::Status GroupCommit::WriteMark() {
  if (!LATCHKEY_CANARY("epoch-not-bumped")) writer_.SetEpoch(writer_.epoch() + 1);
  SpinLatchGuard guard(medium_.latch, runtime_);
  buffer_.BeginWithMark();
  Seal();
  return Lead(buffer_.sealed().end());
}

absl::Status GroupCommit::EndSegment() {
  const LogGeometry& g = medium_.geometry;
  SpinLatchGuard guard(medium_.latch, runtime_);
  if (leading_ || buffer_.is_sealed() || !buffer_.open().empty()) return absl::OkStatus();
  const uint64_t end = g.StartOf(g.IndexOf(buffer_.open().start + g.payload() - 1));
  const uint64_t rest = end - buffer_.open().start;
  if (!space_.CanPayWithoutGrowth(static_cast<int64_t>(rest + g.block_bytes))) {
    return absl::OkStatus();
  }
  while (buffer_.open().start < end) {
    const uint64_t left = end - buffer_.open().start;
    LATCHKEY_RETURN_IF_ERROR(
        WriteEmpty(static_cast<uint32_t>(std::min<uint64_t>(left, buffer_.half_bytes()))));
  }
  needed_.AddLandmark(end);
  return WriteEmpty(g.block_bytes);
}

// Between two groups other threads may get the latch.
absl::Status GroupCommit::PadTo(uint64_t end) {
  SpinLatchGuard guard(medium_.latch, runtime_);
  while (buffer_.open().start < end) {
    if (failure_.poisoned()) return failure_.status();
    const auto bytes =
        static_cast<uint32_t>(std::min<uint64_t>(end - buffer_.open().start, buffer_.half_bytes()));
    if (leading_ || buffer_.is_sealed() || !buffer_.open().empty() ||
        !space_.CanPayWithoutGrowth(bytes)) {
      return absl::OkStatus();
    }
    LATCHKEY_RETURN_IF_ERROR(WriteEmpty(bytes));
  }
  return absl::OkStatus();
}

absl::Status GroupCommit::WriteEmpty(uint32_t bytes) {
  buffer_.PadOpen(bytes);
  Seal();
  return Lead(buffer_.sealed().end());
}

void GroupCommit::Seal() {
  needed_.AddGroup(buffer_.open().start);
  buffer_.Seal();
}

bool GroupCommit::MakeRoomAtOnce() {
  LATCHKEY_CHECK(!buffer_.open().empty());  // or the record is larger than max_record_bytes
  if (failure_.poisoned()) {
    buffer_.DropOpen();
    return true;
  }
  if (buffer_.is_sealed()) return false;
  Seal();
  return true;
}

void GroupCommit::MakeRoom() {
  if (MakeRoomAtOnce()) return;
  if (leading_) {
    const uint64_t awaited = buffer_.sealed().sequence;
    const uint32_t seen = BeginWait(awaited);
    medium_.latch.Unlock();
    runtime_.WaitOnWord(WakeWord(awaited), seen, kForever);
    medium_.latch.Lock(runtime_);
  } else {
    Lead(buffer_.sealed().end()).IgnoreError();  // callers check poisoned()
  }
}

absl::Status GroupCommit::Flush(Lsn upto) {
  const uint64_t target = std::min(Raw(upto), next());
  // Threads whose group was written leave without the latch, because there may be many of them.
  while (durable_.load(std::memory_order_acquire) < target) {
    uint64_t awaited;
    uint32_t seen;
    {
      SpinLatchGuard guard(medium_.latch, runtime_);
      if (durable_.load(std::memory_order_relaxed) >= target) break;
      if (failure_.poisoned()) return failure_.status();
      if (!leading_) {
        LATCHKEY_RETURN_IF_ERROR(Lead(target));
        continue;
      }
      const bool is_in_sealed = buffer_.is_sealed() && target <= buffer_.open().start;
      awaited = is_in_sealed ? buffer_.sealed().sequence : buffer_.open().sequence;
      seen = BeginWait(awaited);
    }
    runtime_.WaitOnWord(WakeWord(awaited), seen, kForever);
  }
  return absl::OkStatus();
}

// Counts the caller as waiting for the group. Returns the group's word, on which the caller then
// sleeps until the group is durable, or a leader is needed, or spuriously.
uint32_t GroupCommit::BeginWait(uint64_t sequence) {
  ++waiting_[sequence & 1];
  return WakeWord(sequence).load(std::memory_order_relaxed);
}

// Makes sure that the open group can be sealed, growing the device in time.
absl::Status GroupCommit::PrepareSeal() {
  const GroupPrice& price = space_.price();
  if (!price.is_shared() || space_.CanPayWithoutGrowth(buffer_.UnpaidBytes())) {
    return absl::OkStatus();
  }
  medium_.latch.Unlock();
  absl::Status grown =
      CatchOutOfMemory([&] { return grower_.Grow(price.overhead(), SpaceClaim::kNormal); });
  medium_.latch.Lock(runtime_);
  return space_.CanPayAtLeast(buffer_.UnpaidBytes()) ? absl::OkStatus() : grown;
}

// Writes groups until everything below `target` is durable. REQUIRES: !leading_.
absl::Status GroupCommit::Lead(uint64_t target) {
  leading_ = true;
  bool goes_on = true;
  while (goes_on) {
    absl::Status status = buffer_.is_sealed() ? absl::OkStatus() : PrepareSeal();
    if (failure_.poisoned()) return failure_.status();
    if (!status.ok()) {
      StopLeading();
      return status;
    }
    if (!buffer_.is_sealed()) Seal();  // while the device grew, appending may have filled the half
    GroupBuffer& group = buffer_.sealed();
    writer_.Plan(medium_, group);
    medium_.latch.Unlock();
    status = CatchOutOfMemory([&] { return writer_.Write(medium_, group); });
    if (!status.ok()) failure_.Fail(status);
    medium_.latch.Lock(runtime_);
    // Another thread may have poisoned the log meanwhile: then this group is not acknowledged.
    if (failure_.poisoned()) return failure_.status();
    goes_on = Finish(group, target);
  }
  return absl::OkStatus();
}

// Called when the sealed group is durable. Returns false, and stops leading, if everything below
// `target` is durable.
bool GroupCommit::Finish(const GroupBuffer& group, uint64_t target) {
  const uint64_t done = group.sequence;
  syncs_ += writer_.Finish(medium_);
  ++groups_;
  group_bytes_ += group.bytes;
  needed_.SetLastDurableGroup(group.start);
  buffer_.ForgetSealed();
  durable_.store(group.end(), std::memory_order_release);
  const bool goes_on = group.end() < target;
  leading_ = goes_on;

  const bool wakes_done = std::exchange(waiting_[done & 1], 0) > 0;
  const bool wakes_next = !goes_on && waiting_[(done + 1) & 1] > 0;
  // The words change even if no thread sleeps yet: a thread that is about to sleep checks again.
  WakeWord(done).fetch_add(1, std::memory_order_release);
  if (wakes_next) {
    --waiting_[(done + 1) & 1];
    WakeWord(done + 1).fetch_add(1, std::memory_order_release);
  }
  medium_.latch.Unlock();
  watch_.OnGrowth(durable());
  growth_ahead_.NoteShortage();
  // Wake the next leader first, because the device is idle until it writes.
  if (wakes_next) runtime_.Wake(WakeWord(done + 1), 1);
  if (wakes_done) runtime_.Wake(WakeWord(done), UINT32_MAX);
  medium_.latch.Lock(runtime_);
  return goes_on;
}

void GroupCommit::StopLeading() {
  leading_ = false;
  waiting_ = {};
  for (auto& word : wake_words_) word.fetch_add(1, std::memory_order_release);
  medium_.latch.Unlock();
  for (auto& word : wake_words_) runtime_.Wake(word, UINT32_MAX);
  medium_.latch.Lock(runtime_);
}

void GroupCommit::Disband() {
  SpinLatchGuard guard(medium_.latch, runtime_);
  StopLeading();
}

LogStats GroupCommit::stats() const {
  SpinLatchGuard guard(medium_.latch, runtime_);
  return {.records = buffer_.records(),
          .record_bytes = buffer_.record_bytes(),
          .groups = groups_,
          .group_bytes = group_bytes_,
          .syncs = syncs_,
          .allocated_bytes = grower_.device_bytes(),
          .used_bytes = buffer_.next() - needed_.oldest(),
          .reserved_bytes = space_.reserved() - buffer_.open().taken};
}

}  // namespace latchkey
