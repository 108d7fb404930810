#include "layout/checkpoint/restorer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "layout/checkpoint/checkpoint.h"
#include "layout/checkpoint/doublewrite_repair.h"
#include "storage/base/canary.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

absl::Status CheckWord(const StoreGeometry& geometry, LocationWord word, uint64_t id,
                       std::string_view where) {
  if (word.free()) return absl::OkStatus();
  if (word.on_device() && geometry.MayBePage(word.slot(), word.slots())) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kDataLoss, "{} has the impossible entry {:#x} for page {}",
                    where, word.bits(), id);
}

class Restorer {
 public:
  Restorer(const Superblock& superblock, PageDirectory& directory)
      : superblock_(superblock), directory_(directory), core_(directory.core()) {}

  absl::Status Begin();
  absl::Status OpenJournal(std::unique_ptr<BlockDevice> device, const MapJournalOptions& options);
  absl::Status Fill();
  std::vector<SegmentId> TakeCheckpointSegments() { return std::move(checkpoint_segments_); }

 private:
  absl::Status RestoreCheckpoint();
  absl::StatusOr<LocationWord> NextWord(CheckpointReader& reader) const;
  absl::Status RestoreMap(CheckpointReader& reader);
  absl::Status RestoreTable(CheckpointReader& reader);
  absl::Status ReplayEntry(const JournalEntry& entry);
  absl::Status RestoreSegments();
  absl::Status RestoreOwners();

  const Superblock& superblock_;
  PageDirectory& directory_;
  StoreCore& core_;
  std::vector<SegmentEntry> table_;
  std::vector<SegmentId> checkpoint_segments_;
};

absl::Status Restorer::Begin() {
  const uint64_t found = SegmentsOnDevice(core_);
  // After a crash the file may be shorter than the superblock says. It must only hold all pages,
  // which RestoreOwners checks.
  if (found < superblock_.segments && superblock_.clean) {
    return MakeStatus(
        absl::StatusCode::kDataLoss,
        "the data file is truncated: it should have {} bytes and has {}; restore a backup",
        core_.geometry.FileBytes(static_cast<uint32_t>(superblock_.segments)),
        core_.device.geometry().size_bytes);
  }
  const auto segments = static_cast<uint32_t>(std::min(found, superblock_.segments));
  if (!directory_.segments().Grow(segments)) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "no memory for the table of {} segments", segments);
  }
  directory_.RestoreClock(superblock_.clock);
  core_.generation.store(superblock_.generation, std::memory_order_relaxed);
  core_.NoteLogReach(Lsn{superblock_.log_reach});
  return absl::OkStatus();
}

absl::Status Restorer::OpenJournal(std::unique_ptr<BlockDevice> device,
                                   const MapJournalOptions& options) {
  // Writes of a killed process can be read although they are not durable yet: make them durable.
  if (!LATCHKEY_CANARY("open-trusts-what-it-reads")) {
    LATCHKEY_RETURN_IF_ERROR(core_.device.Sync());
    LATCHKEY_RETURN_IF_ERROR(device->Sync());
  }
  LATCHKEY_ASSIGN_OR_RETURN(
      auto journal,
      MapJournal::Open(core_.runtime, std::move(device), options, Lsn{superblock_.journal_start}));
  directory_.SetJournal(std::move(journal));
  return absl::OkStatus();
}

absl::Status Restorer::Fill() {
  const bool after_crash = !superblock_.clean;
  LATCHKEY_RETURN_IF_ERROR(RestoreCheckpoint());
  if (after_crash) {
    LATCHKEY_RETURN_IF_ERROR(directory_.journal()->Replay(
        [&](const JournalEntry& entry) { return ReplayEntry(entry); }));
  }
  const uint32_t area_pages = after_crash ? superblock_.doublewrite_pages : 0;
  LATCHKEY_ASSIGN_OR_RETURN(DoublewriteRepair repair,
                            DoublewriteRepair::Read(directory_, area_pages));
  LATCHKEY_RETURN_IF_ERROR(repair.SkipLostWrites());
  directory_.map().FinishRestore();
  LATCHKEY_RETURN_IF_ERROR(RestoreSegments());
  LATCHKEY_RETURN_IF_ERROR(RestoreOwners());
  directory_.AdvanceDurableTicket(directory_.accepted_ticket());
  if (!after_crash) return absl::OkStatus();
  directory_.set_recovered();
  return repair.RepairSlots();
}

absl::Status Restorer::RestoreCheckpoint() {
  if (superblock_.checkpoint_segment == kNoSegment) return absl::OkStatus();
  CheckpointReader reader(core_, directory_.segments().total(), superblock_.checkpoint_generation,
                          superblock_.checkpoint_segment);
  LATCHKEY_RETURN_IF_ERROR(RestoreMap(reader));
  LATCHKEY_RETURN_IF_ERROR(RestoreTable(reader));
  checkpoint_segments_ = reader.segments();
  return absl::OkStatus();
}

absl::StatusOr<LocationWord> Restorer::NextWord(CheckpointReader& reader) const {
  if (!superblock_.short_free_words) {
    LATCHKEY_ASSIGN_OR_RETURN(const uint64_t bits, reader.Next());
    return LocationWord(bits);
  }
  LATCHKEY_ASSIGN_OR_RETURN(const uint32_t upper, reader.NextShort());
  const LocationWord word = LocationWord::OfUpperHalf(upper);
  if (word.free()) return word;
  LATCHKEY_ASSIGN_OR_RETURN(const uint32_t lower, reader.NextShort());
  return LocationWord(word.bits() | lower);
}

absl::Status Restorer::RestoreMap(CheckpointReader& reader) {
  for (uint64_t id = 0; id < superblock_.page_id_limit; ++id) {
    LATCHKEY_ASSIGN_OR_RETURN(const LocationWord word, NextWord(reader));
    LATCHKEY_RETURN_IF_ERROR(CheckWord(core_.geometry, word, id, "the page map of the checkpoint"));
    LATCHKEY_RETURN_IF_ERROR(directory_.map().Restore(PageId{id}, word));
  }
  return absl::OkStatus();
}

absl::Status Restorer::RestoreTable(CheckpointReader& reader) {
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
    table_.push_back(entry);
  }
  return absl::OkStatus();
}

absl::Status Restorer::ReplayEntry(const JournalEntry& entry) {
  constexpr uint64_t kMostSegments = LocationWord::kMaxSlots / 8;
  switch (entry.type()) {
    case JournalEntry::Type::kPage:
      LATCHKEY_RETURN_IF_ERROR(
          CheckWord(core_.geometry, LocationWord(entry.value), entry.id(), "the map journal"));
      return directory_.map().Restore(PageId{entry.id()}, LocationWord(entry.value));
    case JournalEntry::Type::kSegment: {
      const SegmentEntry segment = SegmentEntry::Decode(entry.value);
      if (entry.id() >= kMostSegments || segment.kind > SegmentKind::kCold) break;
      if (entry.id() >= SegmentsOnDevice(core_)) return absl::OkStatus();  // the file was cut since
      if (entry.id() >= table_.size()) table_.resize(entry.id() + 1);
      table_[entry.id()] = segment;
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

absl::Status Restorer::RestoreSegments() {
  const uint64_t on_device = SegmentsOnDevice(core_);
  const uint64_t total = std::min<uint64_t>(
      on_device, std::max<uint64_t>(directory_.segments().total(), table_.size()));
  if (!directory_.segments().Grow(static_cast<uint32_t>(total))) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "no memory for the table of {} segments", total);
  }
  table_.resize(total);
  for (uint32_t s = 0; s < total; ++s) {
    const bool meta =
        std::ranges::find(checkpoint_segments_, SegmentId{s}) != checkpoint_segments_.end();
    directory_.segments().RestoreSegment(SegmentId{s},
                                         meta ? SegmentState::kMeta : SegmentState::kClosed,
                                         table_[s].kind, table_[s].birth);
  }
  return absl::OkStatus();
}

absl::Status Restorer::RestoreOwners() {
  const uint64_t limit = directory_.map().limit();
  for (uint64_t id = 0; id < limit; ++id) {
    const LocationWord word = directory_.map().Load(PageId{id});
    if (!word.on_device()) continue;
    const uint64_t segment = Raw(word.slot()) / core_.geometry.slots_per_segment;
    if (segment >= SegmentsOnDevice(core_)) {
      return MakeStatus(absl::StatusCode::kDataLoss,
                        "the data file is truncated: page {} lies in segment {} of {}; restore a "
                        "backup",
                        id, segment, SegmentsOnDevice(core_));
    }
    if (segment >= directory_.segments().total() || !directory_.RestoreOwner(PageId{id}, word)) {
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

}  // namespace

uint64_t SegmentsOnDevice(const StoreCore& core) {
  const uint64_t bytes = core.device.geometry().size_bytes;
  const uint64_t first = core.geometry.first_segment_offset;
  return bytes < first ? 0 : (bytes - first) / core.geometry.segment_size;
}

absl::StatusOr<std::vector<SegmentId>> RestoreDirectory(const Superblock& superblock,
                                                        std::unique_ptr<BlockDevice> journal,
                                                        const MapJournalOptions& journal_options,
                                                        PageDirectory& directory) {
  Restorer restorer(superblock, directory);
  LATCHKEY_RETURN_IF_ERROR(restorer.Begin());
  if (!superblock.clean) {
    LATCHKEY_RETURN_IF_ERROR(restorer.OpenJournal(std::move(journal), journal_options));
  }
  LATCHKEY_RETURN_IF_ERROR(restorer.Fill());
  return restorer.TakeCheckpointSegments();
}

}  // namespace latchkey
