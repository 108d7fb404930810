// Writing a log: appending into the open half, sealing, leading a group to the device.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "storage/base/canary.h"
#include "storage/base/check.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"
#include "storage/wal/log_impl.h"

namespace latchkey {

void LogImpl::BeginGroup(Half& half, uint64_t start, uint64_t sequence) {
  half.start = start;
  half.used = kGroupHeaderBytes;
  half.bytes = 0;
  half.records = 0;
  half.taken = 0;
  half.charge = 0;
  half.is_paid = false;
  half.sequence = sequence;
  half.begins_epoch = false;
}

uint64_t LogImpl::RecordBytes(const Half& half) {
  return half.used - kGroupHeaderBytes - half.records * uint64_t{kRecordHeaderBytes};
}

void LogImpl::CountRecords(const Half& half) {
  stats_.records += half.records;
  stats_.record_bytes += RecordBytes(half);
}

// REQUIRES: HasRoom(size).
Lsn LogImpl::AppendHere(size_t size, uint64_t paid, absl::FunctionRef<void(Lsn, std::byte*)> fill) {
  LATCHKEY_CHECK(size > 0);
  const uint32_t bytes = static_cast<uint32_t>(kRecordHeaderBytes + size);
  Half& half = open_half();
  std::byte* const at = half.memory.data() + half.used;
  const Lsn lsn{half.start + half.used};
  EncodeRecordHeader(static_cast<uint32_t>(size), at);
  fill(lsn, at + kRecordHeaderBytes);
  half.used += bytes;
  ++half.records;
  // With kOfRecords, the reservation beyond a record's bytes pays for a whole group.
  const uint64_t share = is_shared() ? RecordSpace(size) : bytes;
  const uint64_t whole_group = is_shared() ? paid : share_of_group_;
  half.taken += share;
  half.charge += share;
  if (whole_group != 0) PayGroup(half, whole_group);
  next_.store(half.start + half.used, std::memory_order_release);
  return lsn;
}

Lsn LogImpl::Append(size_t size, absl::FunctionRef<void(Lsn, std::byte*)> fill) {
  SpinLatchGuard guard(medium_->latch, runtime_);
  while (!HasRoom(size)) MakeRoom();
  return AppendHere(size, 0, fill);
}

Lsn LogImpl::AppendBehind(absl::FunctionRef<bool()> wants_prelude, const NewRecord& prelude,
                          const NewRecord& record) {
  SpinLatchGuard guard(medium_->latch, runtime_);
  for (;;) {
    const bool wanted = wants_prelude();  // making room may take time
    const size_t before = wanted ? prelude.size + kRecordHeaderBytes : 0;
    if (!HasRoom(before + record.size)) {
      MakeRoom();
      continue;
    }
    if (wanted) AppendHere(prelude.size, 0, prelude.fill);
    return AppendHere(record.size, 0, record.fill);
  }
}

std::optional<Lsn> LogImpl::TryAppendPaid(size_t size,
                                          absl::FunctionRef<void(Lsn, std::byte*)> fill) {
  SpinLatchGuard guard(medium_->latch, runtime_);
  while (!HasRoom(size)) {
    if (!MakeRoomAtOnce()) return std::nullopt;
  }
  return AppendHere(size, PaidGroupSpace(), fill);
}

void LogImpl::AwaitBuffer(size_t size) {
  SpinLatchGuard guard(medium_->latch, runtime_);
  while (!HasRoom(size)) MakeRoom();
}

// Only one record pays for the group. What further records of it reserved for that is released.
void LogImpl::PayGroup(Half& half, uint64_t whole_group) {
  if (half.is_paid) {
    Release(whole_group);
    return;
  }
  half.is_paid = true;
  half.taken += whole_group;
  half.charge += whole_group;
}

void LogImpl::Frozen(absl::FunctionRef<void(Lsn)> body) {
  SpinLatchGuard guard(medium_->latch, runtime_);
  body(next());
}

// Called when the open half is too full for the next record. False: making room needs a wait.
bool LogImpl::MakeRoomAtOnce() {
  LATCHKEY_CHECK(!IsOpenGroupEmpty());  // or the record is larger than max_record_bytes
  if (poisoned()) {
    // The half will never be written: LSNs go on, and its memory is reused.
    Half& half = open_half();
    CountRecords(half);
    half.start += half.used - kGroupHeaderBytes;
    half.used = kGroupHeaderBytes;
    half.records = 0;
    return true;
  }
  if (is_sealed_) return false;
  Seal();
  return true;
}

void LogImpl::MakeRoom() {
  if (MakeRoomAtOnce()) return;
  if (leading_) {
    const uint64_t awaited = sealed_half().sequence;
    const uint32_t seen = BeginWait(awaited);
    medium_->latch.Unlock();
    runtime_.WaitOnWord(WakeWord(awaited), seen, kForever);
    medium_->latch.Lock(runtime_);
  } else {
    Lead(sealed_half().start + sealed_half().bytes).IgnoreError();  // callers check poisoned()
  }
}

// Closes the open half; the next record goes into the other. REQUIRES: !is_sealed_.
void LogImpl::Seal() {
  Half& half = open_half();
  CountRecords(half);
  half.bytes = static_cast<uint32_t>(medium_->geometry.RoundUp(half.used));
  std::memset(half.memory.data() + half.used, 0, half.bytes - half.used);
  const int64_t before =
      reserved_.fetch_sub(static_cast<int64_t>(half.taken), std::memory_order_relaxed);
  LATCHKEY_CHECK(before >= static_cast<int64_t>(half.taken));  // reserve before appending
  available_.fetch_add(static_cast<int64_t>(half.charge) - half.bytes, std::memory_order_relaxed);
  starts_.Add(half.start);
  is_sealed_ = true;
  open_ ^= 1;
  BeginGroup(open_half(), half.start + half.bytes, half.sequence + 1);
  next_.store(open_half().start, std::memory_order_release);
}

absl::Status LogImpl::Flush(Lsn upto) {
  const uint64_t target = std::min(Raw(upto), next_.load(std::memory_order_acquire));
  // Threads whose group was written leave without the latch, because there may be many of them.
  while (durable_.load(std::memory_order_acquire) < target) {
    uint64_t awaited;
    uint32_t seen;
    {
      SpinLatchGuard guard(medium_->latch, runtime_);
      if (durable_.load(std::memory_order_relaxed) >= target) break;
      if (poisoned()) return failure_;
      if (!leading_) {
        LATCHKEY_RETURN_IF_ERROR(Lead(target));
        continue;
      }
      const bool is_in_sealed = is_sealed_ && target <= open_half().start;
      awaited = is_in_sealed ? sealed_half().sequence : open_half().sequence;
      seen = BeginWait(awaited);
    }
    runtime_.WaitOnWord(WakeWord(awaited), seen, kForever);
  }
  return absl::OkStatus();
}

// Counts the caller as waiting for the group. Returns the group's word, on which the caller then
// sleeps until the group is durable, or a leader is needed, or spuriously.
uint32_t LogImpl::BeginWait(uint64_t sequence) {
  ++waiting_[sequence & 1];
  return WakeWord(sequence).load(std::memory_order_relaxed);
}

// Whether sealing the open group now leaves `available_` at `lowest` or more.
bool LogImpl::CanPaySeal(int64_t lowest) const {
  const int64_t unpaid = static_cast<int64_t>(medium_->geometry.RoundUp(open_half().used)) -
                         static_cast<int64_t>(open_half().charge);
  return unpaid <= 0 || available_.load(std::memory_order_relaxed) - unpaid >= lowest;
}

// Makes sure that the open group can be sealed, growing the device in time.
absl::Status LogImpl::PrepareSeal() {
  if (!is_shared() || CanPaySeal(-KeptBack() / 4)) return absl::OkStatus();
  medium_->latch.Unlock();
  absl::Status status;
  {
    MutexLock lock(grow_mutex_);
    status = CatchOutOfMemory([&] { return GrowFor(GroupOverhead(), Claim::kNormal); });
  }
  medium_->latch.Lock(runtime_);
  const int64_t kept = KeptBack();
  return CanPaySeal(-(kept - kept / 4)) ? absl::OkStatus() : status;
}

// Writes groups until everything below `target` is durable. REQUIRES: !leading_.
absl::Status LogImpl::Lead(uint64_t target) {
  leading_ = true;
  bool goes_on = true;
  while (goes_on) {
    absl::Status status = is_sealed_ ? absl::OkStatus() : PrepareSeal();
    if (poisoned()) return failure_;
    if (!status.ok()) {
      StopLeading();
      return status;
    }
    if (!is_sealed_) Seal();  // while the device grew, appending may have filled the half
    Half& half = sealed_half();
    PlanGroup(half);
    medium_->latch.Unlock();
    status = CatchOutOfMemory([&] { return WriteGroup(half); });
    medium_->latch.Lock(runtime_);
    if (!status.ok()) Poison(status);
    // Another thread may have poisoned the log meanwhile: then this group is not acknowledged.
    if (poisoned()) return failure_;
    goes_on = Finish(half, target);
  }
  return absl::OkStatus();
}

// Gives a slot to every segment that the group touches, and to the one behind it: the header of
// that one is then synced with this group and needs no sync of its own.
void LogImpl::PlanGroup(const Half& half) {
  const LogGeometry& g = medium_->geometry;
  const uint64_t last = g.IndexOf(half.start + half.bytes - 1);
  needed_headers_.clear();
  early_headers_.clear();
  for (uint64_t index = g.IndexOf(half.start); index <= last + 1; ++index) {
    const bool has_slot = medium_->table.Assign(index);
    LATCHKEY_CHECK(has_slot || index > last);  // reserved bytes have slots
    if (!has_slot) break;
    const SegmentTable::Entry entry = *medium_->table.Find(index);
    if (entry.is_header_durable) continue;
    (index <= last ? needed_headers_ : early_headers_).push_back({index, entry.slot});
  }
}

absl::Status LogImpl::WriteGroup(Half& half) {
  SealGroup({.lsn = half.start,
             .epoch = epoch_,
             .begins_epoch = half.begins_epoch,
             .bytes = half.bytes,
             .record_bytes = half.used - static_cast<uint32_t>(kGroupHeaderBytes),
             .records = half.records},
            medium_->database_id, half.memory.data());
  // The headers are made durable first. If a crash could undo a segment's header, an open would not
  // find the group in the segment, or would take it for damage.
  for (const NewHeader& h : needed_headers_) LATCHKEY_RETURN_IF_ERROR(WriteHeader(h));
  if (LATCHKEY_CANARY("log-tail-rewritten")) LATCHKEY_RETURN_IF_ERROR(WriteTailAgain(half.start));
  if (!needed_headers_.empty()) LATCHKEY_RETURN_IF_ERROR(medium_->device->Sync());
  const LogGeometry& g = medium_->geometry;
  for (uint32_t done = 0; done < half.bytes;) {
    const uint64_t lsn = half.start + done;
    const uint64_t length = std::min<uint64_t>(half.bytes - done, g.payload() - lsn % g.payload());
    const uint32_t slot = medium_->FindSegment(g.IndexOf(lsn))->slot;
    LATCHKEY_RETURN_IF_ERROR(medium_->device->Write(
        g.Offset(slot, lsn), half.memory.span().subspan(done, length), IoClass::kMeta));
    done += static_cast<uint32_t>(length);
  }
  for (const NewHeader& h : early_headers_) LATCHKEY_RETURN_IF_ERROR(WriteHeader(h));
  if (LATCHKEY_CANARY("ack-before-flush")) return absl::OkStatus();
  return medium_->device->Sync();
}

absl::Status LogImpl::WriteHeader(const NewHeader& header) {
  EncodeSegmentHeader({.slot = header.slot, .index = header.index, .epoch = epoch_},
                      medium_->database_id, header_block_.data());
  return medium_->device->Write(medium_->geometry.SlotOffset(header.slot), header_block_.span(),
                                IoClass::kMeta);
}

// For a canary only: writes the block before `end` again, like a log that fills up its last block
// with the next group.
absl::Status LogImpl::WriteTailAgain(uint64_t end) {
  const LogGeometry& g = medium_->geometry;
  if (end < g.block_bytes) return absl::OkStatus();
  const uint64_t tail = end - g.block_bytes;
  LATCHKEY_RETURN_IF_ERROR(ReadStream(*medium_, tail, header_block_.span()));
  return medium_->device->Write(g.Offset(medium_->FindSegment(g.IndexOf(tail))->slot, tail),
                                header_block_.span(), IoClass::kMeta);
}

// Called when the sealed group is durable. Returns false, and stops leading, if everything below
// `target` is durable.
bool LogImpl::Finish(Half& half, uint64_t target) {
  const uint64_t done = half.sequence;
  for (const NewHeader& h : needed_headers_) medium_->table.SetHeaderDurable(h.index);
  for (const NewHeader& h : early_headers_) medium_->table.SetHeaderDurable(h.index);
  stats_.syncs += needed_headers_.empty() ? 1 : 2;
  ++stats_.groups;
  stats_.group_bytes += half.bytes;
  last_group_start_ = half.start;
  is_sealed_ = false;
  durable_.store(half.start + half.bytes, std::memory_order_release);
  const bool goes_on = half.start + half.bytes < target;
  leading_ = goes_on;

  const bool wakes_done = std::exchange(waiting_[done & 1], 0) > 0;
  const bool wakes_next = !goes_on && waiting_[(done + 1) & 1] > 0;
  // The words change even if no thread sleeps yet: a thread that is about to sleep checks again.
  WakeWord(done).fetch_add(1, std::memory_order_release);
  if (wakes_next) {
    --waiting_[(done + 1) & 1];
    WakeWord(done + 1).fetch_add(1, std::memory_order_release);
  }
  medium_->latch.Unlock();
  watch_.OnGrowth(durable());
  NoteShortage();
  // Wake the next leader first, because the device is idle until it writes.
  if (wakes_next) runtime_.Wake(WakeWord(done + 1), 1);
  if (wakes_done) runtime_.Wake(WakeWord(done), UINT32_MAX);
  medium_->latch.Lock(runtime_);
  return goes_on;
}

// Wakes all waiting threads; each checks its condition again.
void LogImpl::StopLeading() {
  leading_ = false;
  waiting_ = {};
  for (auto& word : wake_words_) word.fetch_add(1, std::memory_order_release);
  medium_->latch.Unlock();
  for (auto& word : wake_words_) runtime_.Wake(word, UINT32_MAX);
  medium_->latch.Lock(runtime_);
}

void LogImpl::Fail(const absl::Status& cause) {
  SpinLatchGuard guard(medium_->latch, runtime_);
  Poison(cause);
}

// The first failure stays. A leader that is writing finds it when its write is done.
void LogImpl::Poison(const absl::Status& cause) {
  if (poisoned()) return;
  failure_ = CatchOutOfMemory([&] {
    const absl::string_view why = cause.message();
    return MakeStatus(absl::StatusCode::kUnavailable,
                      "{}: a write failed, so nothing more is written or acknowledged: {}; close "
                      "and reopen the database to recover what was acknowledged",
                      medium_->name, std::string_view(why.data(), why.size()));
  });
  if (IsOutOfMemory(failure_)) failure_ = failed_without_memory_;
  is_poisoned_.store(true, std::memory_order_release);
  medium_->latch.Unlock();
  CatchOutOfMemory([&] {
    LogTo(options_.log_sink, LogLevel::kError, std::string(failure_.message()));
    return absl::OkStatus();
  }).IgnoreError();
  medium_->latch.Lock(runtime_);
  StopLeading();
}

LogStats LogImpl::stats() const {
  SpinLatchGuard guard(medium_->latch, runtime_);
  LogStats stats = stats_;
  stats.records += open_half().records;
  stats.record_bytes += RecordBytes(open_half());
  const LogGeometry& g = medium_->geometry;
  stats.allocated_bytes = g.SlotOffset(slots_.load(std::memory_order_relaxed));
  stats.used_bytes = next_.load(std::memory_order_relaxed) - oldest_;
  stats.reserved_bytes =
      static_cast<uint64_t>(reserved_.load(std::memory_order_relaxed)) - open_half().taken;
  return stats;
}

}  // namespace latchkey
