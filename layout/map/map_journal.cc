#include "layout/map/map_journal.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "storage/base/canary.h"
#include "storage/base/check.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"
#include "storage/wal/log_format.h"

namespace latchkey {
namespace {

constexpr size_t kEntriesPerRecord = 512;
constexpr uint32_t kLeastSegments = 3;     // of a log
constexpr uint32_t kSegmentsInBuffer = 4;  // a round's changes fit into one group

// So that a journal of its usual size, 16 bytes for each page id, has at most 256 segments.
uint32_t SegmentBytesFor(uint64_t page_ids) {
  constexpr uint64_t kMost = uint64_t{4} << 20;
  return static_cast<uint32_t>(std::min(kMost, std::bit_floor(page_ids / 16)));
}

}  // namespace

LogOptions MapJournal::OptionsOfLog(const MapJournalOptions& options, const BlockDevice& device) {
  LogOptions log;
  log.database_id = options.database_id;
  log.name = "map journal";
  log.segment_bytes = std::max(options.segment_bytes, SegmentBytesFor(options.page_ids));
  log.initial_bytes = kLeastSegments * uint64_t{log.segment_bytes};
  log.buffer_bytes =
      std::max(Log::LeastBufferBytes(device.geometry().logical_block),
               std::min(kSegmentsInBuffer * options.segment_bytes, options.most_buffer_bytes));
  log.log_sink = options.log_sink;
  return log;
}

MapJournal::MapJournal(Runtime& runtime, std::unique_ptr<BlockDevice> device,
                       std::unique_ptr<Log> log, const MapJournalOptions& options, Lsn start)
    : runtime_(runtime),
      options_(options),
      device_(std::move(device)),
      log_(std::move(log)),
      start_(Raw(start)),
      most_pending_slots_(options.most_slots) {}

MapJournal::~MapJournal() = default;

absl::Status MapJournal::MakeRoom(BlockDevice& device, const MapJournalOptions& options) {
  LATCHKEY_RETURN_IF_ERROR(device.Resize(0));
  const LogOptions log = OptionsOfLog(options, device);
  return device.Resize(kLogSegmentsBegin + log.initial_bytes);
}

std::unique_ptr<MapJournal> MapJournal::New(Runtime& runtime, std::unique_ptr<BlockDevice> device,
                                            const MapJournalOptions& options) {
  return std::unique_ptr<MapJournal>(
      new MapJournal(runtime, std::move(device), nullptr, options, Lsn{0}));
}

absl::StatusOr<std::unique_ptr<MapJournal>> MapJournal::Open(Runtime& runtime,
                                                             std::unique_ptr<BlockDevice> device,
                                                             const MapJournalOptions& options,
                                                             Lsn start) {
  const LogOptions log_options = OptionsOfLog(options, *device);
  LATCHKEY_ASSIGN_OR_RETURN(auto log, OpenLog(runtime, std::move(device), log_options));
  LATCHKEY_RETURN_IF_ERROR(log->FindEnd(start, Lsn{0}));
  return std::unique_ptr<MapJournal>(
      new MapJournal(runtime, nullptr, std::move(log), options, start));
}

absl::Status MapJournal::Replay(absl::FunctionRef<absl::Status(const JournalEntry&)> visit) {
  return log_->ForEach(Lsn{start_.load()}, [&](const LogRecordView& record) -> absl::Status {
    if (record.bytes.size() % sizeof(JournalEntry) != 0) {
      return MakeStatus(absl::StatusCode::kDataLoss,
                        "the map journal has a record of {} bytes at {}: not a multiple of {}; "
                        "restore a backup",
                        record.bytes.size(), Raw(record.lsn), sizeof(JournalEntry));
    }
    for (size_t at = 0; at < record.bytes.size(); at += sizeof(JournalEntry)) {
      JournalEntry entry;
      std::memcpy(&entry, record.bytes.data() + at, sizeof(entry));
      LATCHKEY_RETURN_IF_ERROR(visit(entry));
    }
    return absl::OkStatus();
  });
}

absl::Status MapJournal::StartWriting() {
  if (log_ == nullptr) {
    const LogOptions log_options = OptionsOfLog(options_, *device_);
    LATCHKEY_ASSIGN_OR_RETURN(log_, CreateLog(runtime_, std::move(device_), log_options));
    LATCHKEY_RETURN_IF_ERROR(log_->StartWriting());
    start_.store(Raw(Position()), std::memory_order_relaxed);
    return absl::OkStatus();
  }
  return log_->StartWriting();
}

// Called before a change is gathered, so that gathering it takes no memory.
void MapJournal::MakeRoom() {
  const auto make_room = [](auto& list) {
    if (list.size() == list.capacity()) list.reserve(std::max<size_t>(1024, 2 * list.size()));
  };
  make_room(gathered_.entries);
  make_room(gathered_.superseded);
}

void MapJournal::Gather(const JournalEntry& entry, SlotId superseded) {
  const bool lost = LATCHKEY_CANARY("journal-entry-dropped") && entry.id() % 2 == 1;
  if (!lost) gathered_.entries.push_back(entry);
  pending_entries_.store(gathered_.entries.size(), std::memory_order_relaxed);
  if (superseded == kNoSlot) return;
  gathered_.superseded.push_back(superseded);
  pending_slots_.store(gathered_.superseded.size(), std::memory_order_relaxed);
}

bool MapJournal::due() const {
  return pending_slots() >= most_pending_slots_.load(std::memory_order_relaxed) ||
         pending_entries_.load(std::memory_order_relaxed) >= options_.most_entries;
}

void MapJournal::SignalIfDue() {
  if (!due() || signalled_.exchange(true, std::memory_order_relaxed)) return;
  if (listener_ != nullptr) listener_->OnRoundDue();
}

bool MapJournal::Change(PageMap& map, PageId page, LocationWord& expected, LocationWord desired,
                        LocationWord durable, SlotId superseded) {
  {
    SpinLatchGuard guard(latch_, runtime_);
    MakeRoom();
    if (!map.CompareExchange(page, expected, desired)) return false;
    Gather(JournalEntry::Page(page, durable), superseded);
  }
  SignalIfDue();
  return true;
}

void MapJournal::NoteWord(PageId page, LocationWord durable) {
  SpinLatchGuard guard(latch_, runtime_);
  Gather(JournalEntry::Page(page, durable), kNoSlot);
}

void MapJournal::NoteSegment(SegmentId segment, SegmentKind kind, uint64_t birth) {
  SpinLatchGuard guard(latch_, runtime_);
  const SegmentEntry entry{SegmentState::kClosed, kind, birth};
  Gather(JournalEntry::Segment(segment, entry.Encode()), kNoSlot);
}

void MapJournal::Take(Batch& batch) { TakeAtMost(SIZE_MAX, batch); }

// Takes all gathered changes. False, with nothing taken, if there are more than `entries`.
bool MapJournal::TakeAtMost(size_t entries, Batch& batch) {
  batch.entries.clear();
  batch.superseded.clear();
  batch.entries.reserve(options_.most_entries);
  batch.superseded.reserve(options_.most_slots);
  SpinLatchGuard guard(latch_, runtime_);
  if (gathered_.entries.size() > entries) return false;
  std::swap(batch, gathered_);
  pending_slots_.store(0, std::memory_order_relaxed);
  pending_entries_.store(0, std::memory_order_relaxed);
  signalled_.store(false, std::memory_order_relaxed);
  return true;
}

absl::Status MapJournal::TakeWithRoom(Batch& batch) {
  // Writers go on gathering changes while this reserves room for those gathered so far.
  constexpr size_t kMoreMeanwhile = 16;
  for (;;) {
    const size_t pending = pending_entries_.load(std::memory_order_relaxed);
    const size_t entries = pending == 0 ? 0 : pending + kMoreMeanwhile;
    const uint64_t space = SpaceFor(entries);
    if (space > 0) LATCHKEY_RETURN_IF_ERROR(Reserve(space));
    const OnException give_back([&] { log_->Release(space); });
    const bool taken = TakeAtMost(entries, batch);
    log_->Release(space - (taken ? SpaceFor(batch.entries.size()) : 0));
    if (taken) return absl::OkStatus();
  }
}

absl::Status MapJournal::Reserve(uint64_t bytes) {
  const auto no_room = [](const absl::Status& status) {
    return absl::IsResourceExhausted(status) && !IsOutOfMemory(status);
  };
  absl::Status reserved = log_->Reserve(bytes);
  const bool scarce = no_room(reserved);
  // On a full device, use the room that the log keeps back; the next checkpoint makes more.
  if (scarce) reserved = log_->ReserveUrgent(bytes);
  scarce_.store(scarce, std::memory_order_relaxed);
  if (reserved.ok() || no_room(reserved)) full_.store(!reserved.ok(), std::memory_order_relaxed);
  return reserved;
}

size_t MapJournal::MostInRecord() const {
  const size_t fit = log_->max_record_bytes() / sizeof(JournalEntry) - 1;
  return std::min(kEntriesPerRecord, fit);
}

// Bytes that Write appends for `entries`: full records, and one with the rest and the clock.
uint64_t MapJournal::SpaceFor(size_t entries) const {
  if (entries == 0) return 0;
  const size_t most = MostInRecord();
  const size_t full_records = (entries - 1) / most;
  const size_t rest = entries - full_records * most;
  return full_records * log_->RecordSpace(most * sizeof(JournalEntry)) +
         log_->RecordSpace((rest + 1) * sizeof(JournalEntry));
}

absl::Status MapJournal::Write(const Batch& batch, uint64_t clock, Lsn log_reach) {
  if (batch.entries.empty()) return absl::OkStatus();
  const size_t most = MostInRecord();
  for (size_t first = 0; first < batch.entries.size(); first += most) {
    const size_t count = std::min(most, batch.entries.size() - first);
    const bool last = first + count == batch.entries.size();
    const size_t bytes = (count + (last ? 1 : 0)) * sizeof(JournalEntry);
    log_->Append(bytes, [&](Lsn, std::byte* out) {
      std::memcpy(out, batch.entries.data() + first, count * sizeof(JournalEntry));
      if (!last) return;
      const JournalEntry end = JournalEntry::Clock(clock, log_reach);
      std::memcpy(out + count * sizeof(JournalEntry), &end, sizeof(end));
    });
    bytes_written_.fetch_add(bytes, std::memory_order_relaxed);
  }
  return log_->Flush(log_->next());
}

Lsn MapJournal::Position() const { return log_->group_start(log_->next()); }

void MapJournal::Truncate(Lsn start) {
  start_.store(Raw(start), std::memory_order_relaxed);
  log_->Truncate(start);
  full_.store(false, std::memory_order_relaxed);
  scarce_.store(false, std::memory_order_relaxed);
}

// Errors: as in ShrinkToUse.
void MapJournal::GiveUpAll() {
  log_->MoveToFront().IgnoreError();
  Truncate(Position());
  log_->Shrink().IgnoreError();
}

bool MapJournal::WantsCheckpoint(uint64_t page_ids) const {
  const uint64_t used = Raw(log_->next()) - start_.load(std::memory_order_relaxed);
  // A checkpoint writes up to 8 bytes per page id. With a bound of 16 bytes per page id, checkpoints add
  // at most half of what the journal itself writes.
  const uint64_t bound = options_.checkpoint_bytes != 0
                             ? options_.checkpoint_bytes
                             : std::max(uint64_t{1} << 20, 16 * page_ids);
  return used > bound || scarce_.load(std::memory_order_relaxed);
}

size_t MapJournal::MemoryFor(const MapJournalOptions& options, const BlockDevice& device) {
  return 2 * (options.most_entries * sizeof(JournalEntry) + options.most_slots * sizeof(SlotId)) +
         OptionsOfLog(options, device).buffer_bytes;
}

}  // namespace latchkey
