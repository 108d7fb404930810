// Creating a store, and restoring page map and segment table when a store is opened: after a clean
// close from the checkpoint alone; after a crash from checkpoint, map journal and doublewrite
// areas.
//
// After a crash the map decides the state of a segment: a segment without pages is free, any other
// one is closed and may have holes. The table adds kinds and ages only. Restore reads everything
// before it writes anything.
#include <algorithm>
#include <utility>

#include "layout/checkpoint/doublewrite_repair.h"
#include "layout/segment_store_impl.h"
#include "storage/base/canary.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

absl::Status CheckWord(LocationWord word, uint64_t id, std::string_view where) {
  if (word.free() || word.on_device()) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kDataLoss, "{} has the impossible entry {:#x} for page {}",
                    where, word.bits(), id);
}

}  // namespace

MapJournalOptions JournalOptions(const SegmentStoreOptions& options, const StoreBuffers& buffers,
                                 uint64_t database_id) {
  return {.database_id = database_id,
          .checkpoint_bytes = options.journal_checkpoint_bytes,
          .segment_bytes = options.journal_segment_bytes,
          .most_buffer_bytes = buffers.journal_buffer_bytes,
          .most_entries = buffers.journal_entries,
          .most_slots = buffers.journal_slots,
          .log_sink = options.log_sink};
}

absl::Status SegmentStoreImpl::Format() {
  LATCHKEY_RETURN_IF_ERROR(space_.GrowToTarget());
  MutexLock lock(checkpoint_mutex_);
  Superblock first = superblock_;
  first.generation = 1;
  first.clean = true;
  first.segments = directory_.segments().total();
  first.checkpoint_segment = kNoSegment;
  LATCHKEY_RETURN_IF_ERROR(WriteSuperblock(*device_, first));
  superblock_ = first;
  core_.generation.store(first.generation, std::memory_order_relaxed);
  cleaner_.set_idle(true);
  return absl::OkStatus();
}

uint64_t SegmentStoreImpl::SegmentsOnDevice() const {
  const uint64_t bytes = device_->geometry().size_bytes;
  return bytes < kHeaderAreaBytes ? 0 : (bytes - kHeaderAreaBytes) / core_.geometry.segment_size;
}

absl::Status SegmentStoreImpl::OpenNewJournal() {
  LATCHKEY_RETURN_IF_ERROR(MapJournal::MakeRoom(
      *journal_device_, JournalOptions(options_, buffers_, core_.database_id)));
  directory_.SetJournal(MapJournal::New(core_.runtime, std::move(journal_device_),
                                        JournalOptions(options_, buffers_, core_.database_id)));
  return absl::OkStatus();
}

absl::Status SegmentStoreImpl::OpenJournal() {
  LATCHKEY_ASSIGN_OR_RETURN(auto journal,
                            MapJournal::Open(core_.runtime, std::move(journal_device_),
                                             JournalOptions(options_, buffers_, core_.database_id),
                                             Lsn{superblock_.journal_start}));
  directory_.SetJournal(std::move(journal));
  usable_journal_.store(directory_.journal(), std::memory_order_release);
  return absl::OkStatus();
}

absl::Status SegmentStoreImpl::Restore() {
  const uint64_t found = SegmentsOnDevice();
  // After a crash the file may be shorter than the superblock says. It must only hold all pages,
  // which RestoreOwners checks.
  if (found < superblock_.segments && superblock_.clean) {
    return MakeStatus(
        absl::StatusCode::kDataLoss,
        "the data file is truncated: it should have {} bytes and has {}; restore a backup",
        core_.geometry.FileBytes(static_cast<uint32_t>(superblock_.segments)),
        device_->geometry().size_bytes);
  }
  const auto segments = static_cast<uint32_t>(std::min(found, superblock_.segments));
  if (!directory_.segments().Grow(segments)) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "no memory for the table of {} segments", segments);
  }
  directory_.RestoreClock(superblock_.clock);
  core_.generation.store(superblock_.generation, std::memory_order_relaxed);
  core_.NoteLogReach(Lsn{superblock_.log_reach});
  cleaner_.set_idle(true);
  const bool after_crash = !superblock_.clean;
  // Writes of a killed process can be read although they are not durable yet: make them durable.
  if (after_crash && !LATCHKEY_CANARY("open-trusts-what-it-reads")) {
    LATCHKEY_RETURN_IF_ERROR(device_->Sync());
    LATCHKEY_RETURN_IF_ERROR(journal_device_->Sync());
  }
  std::vector<SegmentEntry> table;
  if (after_crash) LATCHKEY_RETURN_IF_ERROR(OpenJournal());
  LATCHKEY_RETURN_IF_ERROR(RestoreCheckpoint(table));
  if (after_crash) LATCHKEY_RETURN_IF_ERROR(ReplayJournal(table));
  const uint32_t area_pages = after_crash ? superblock_.doublewrite_pages : 0;
  LATCHKEY_ASSIGN_OR_RETURN(DoublewriteRepair repair,
                            DoublewriteRepair::Read(directory_, area_pages));
  LATCHKEY_RETURN_IF_ERROR(repair.SkipLostWrites());
  directory_.map().FinishRestore();
  LATCHKEY_RETURN_IF_ERROR(RestoreSegments(table));
  LATCHKEY_RETURN_IF_ERROR(RestoreOwners());
  directory_.AdvanceDurableTicket(accepted_ticket());
  if (!after_crash) return absl::OkStatus();
  directory_.set_recovered();
  return repair.RepairSlots();
}

absl::Status SegmentStoreImpl::RestoreCheckpoint(std::vector<SegmentEntry>& table) {
  if (superblock_.checkpoint_segment == kNoSegment) return absl::OkStatus();
  CheckpointReader reader(core_, directory_.segments().total(), superblock_.checkpoint_generation,
                          superblock_.checkpoint_segment);
  LATCHKEY_RETURN_IF_ERROR(RestoreMap(reader));
  LATCHKEY_RETURN_IF_ERROR(RestoreTable(reader, table));
  checkpoint_segments_ = reader.segments();
  return absl::OkStatus();
}

absl::Status SegmentStoreImpl::RestoreMap(CheckpointReader& reader) {
  for (uint64_t id = 0; id < superblock_.page_id_limit; ++id) {
    LATCHKEY_ASSIGN_OR_RETURN(const uint64_t bits, reader.Next());
    LATCHKEY_RETURN_IF_ERROR(CheckWord(LocationWord(bits), id, "the page map of the checkpoint"));
    LATCHKEY_RETURN_IF_ERROR(directory_.map().Restore(PageId{id}, LocationWord(bits)));
  }
  return absl::OkStatus();
}

absl::Status SegmentStoreImpl::RestoreTable(CheckpointReader& reader,
                                            std::vector<SegmentEntry>& table) {
  for (uint64_t s = 0; s < superblock_.segments; ++s) {
    LATCHKEY_ASSIGN_OR_RETURN(const uint64_t bits, reader.Next());
    const SegmentEntry entry = SegmentEntry::Decode(bits);
    const bool known = entry.state == SegmentState::kFree || entry.state == SegmentState::kClosed ||
                       entry.state == SegmentState::kMeta;
    if (!known || entry.kind > SegmentKind::kCold) {
      return MakeStatus(absl::StatusCode::kDataLoss,
                        "the segment table of the checkpoint has the impossible entry {:#x} for "
                        "segment {}",
                        bits, s);
    }
    table.push_back(entry);
  }
  return absl::OkStatus();
}

absl::Status SegmentStoreImpl::ReplayJournal(std::vector<SegmentEntry>& table) {
  return directory_.journal()->Replay(
      [&](const JournalEntry& entry) { return ReplayEntry(entry, table); });
}

absl::Status SegmentStoreImpl::ReplayEntry(const JournalEntry& entry,
                                           std::vector<SegmentEntry>& table) {
  constexpr uint64_t kMostSegments = LocationWord::kMaxSlots / 8;
  switch (entry.type()) {
    case JournalEntry::Type::kPage:
      LATCHKEY_RETURN_IF_ERROR(CheckWord(LocationWord(entry.value), entry.id(), "the map journal"));
      return directory_.map().Restore(PageId{entry.id()}, LocationWord(entry.value));
    case JournalEntry::Type::kSegment: {
      const SegmentEntry segment = SegmentEntry::Decode(entry.value);
      if (entry.id() >= kMostSegments || segment.kind > SegmentKind::kCold) break;
      if (entry.id() >= SegmentsOnDevice()) return absl::OkStatus();  // the file was cut since
      if (entry.id() >= table.size()) table.resize(entry.id() + 1);
      table[entry.id()] = segment;
      return absl::OkStatus();
    }
    case JournalEntry::Type::kClock:
      directory_.RestoreClock(entry.value);
      core_.NoteLogReach(Lsn{entry.id()});
      return absl::OkStatus();
  }
  return MakeStatus(absl::StatusCode::kDataLoss,
                    "the map journal has the impossible entry {:#x} {:#x}; restore a backup",
                    entry.key, entry.value);
}

absl::Status SegmentStoreImpl::RestoreSegments(std::vector<SegmentEntry>& table) {
  const uint64_t on_device = SegmentsOnDevice();
  const uint64_t total = std::min<uint64_t>(
      on_device, std::max<uint64_t>(directory_.segments().total(), table.size()));
  if (!directory_.segments().Grow(static_cast<uint32_t>(total))) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "no memory for the table of {} segments", total);
  }
  table.resize(total);
  for (uint32_t s = 0; s < total; ++s) {
    const bool meta =
        std::ranges::find(checkpoint_segments_, SegmentId{s}) != checkpoint_segments_.end();
    directory_.segments().RestoreSegment(SegmentId{s},
                                         meta ? SegmentState::kMeta : SegmentState::kClosed,
                                         table[s].kind, table[s].birth);
  }
  return absl::OkStatus();
}

absl::Status SegmentStoreImpl::RestoreOwners() {
  const uint64_t limit = directory_.map().limit();
  for (uint64_t id = 0; id < limit; ++id) {
    const LocationWord word = directory_.map().Load(PageId{id});
    if (!word.on_device()) continue;
    const uint64_t segment = Raw(word.slot()) / core_.geometry.slots_per_segment;
    if (segment >= SegmentsOnDevice()) {
      return MakeStatus(absl::StatusCode::kDataLoss,
                        "the data file is truncated: page {} lies in segment {} of {}; restore a "
                        "backup",
                        id, segment, SegmentsOnDevice());
    }
    if (segment >= directory_.segments().total() ||
        !directory_.segments().RestoreOwner(word.slot(), PageId{id})) {
      const PageId owner = segment >= directory_.segments().total()
                               ? kInvalidPageId
                               : directory_.segments().OwnerOf(word.slot());
      return MakeStatus(absl::StatusCode::kDataLoss,
                        "the page map puts page {} into slot {} of segment {}, which {}; restore a "
                        "backup",
                        id, Raw(word.slot()), segment,
                        segment >= directory_.segments().total() ? std::string("no table knows")
                        : owner == kInvalidPageId ? std::string("holds the checkpoint")
                                                  : fmt::format("page {} has already", Raw(owner)));
    }
  }
  directory_.segments().FinishRestore();
  return absl::OkStatus();
}

}  // namespace latchkey
