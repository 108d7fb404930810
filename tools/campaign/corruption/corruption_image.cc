#include "tools/campaign/corruption/corruption_image.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "engine/database_impl.h"
#include "storage/base/status_macros.h"
#include "storage/device/faulty/crash_replay.h"
#include "storage/wal/log_format.h"
#include "tools/campaign/shared/crash_database.h"

namespace latchkey {
namespace {

constexpr uint64_t kOwnId = 1, kForeignId = 2;
constexpr uint32_t kTransactions = 40;

DatabaseSubject SubjectOf(const std::string& layout, uint64_t database_id, uint32_t cleaners) {
  return DatabaseSubject({.layout = layout,
                          .durability = Durability::kCommit,
                          .cleaners = cleaners,
                          .transactions = kTransactions,
                          .database_id = database_id});
}

/// One run of the workload, recorded.
struct Recording {
  std::unique_ptr<CrashMachine> machine;
  CommitOracle oracle;
};

absl::StatusOr<Recording> Record(const std::string& layout, uint64_t seed, uint64_t database_id) {
  DatabaseSubject subject = SubjectOf(layout, database_id, /*cleaners=*/1);
  Recording recording;
  recording.machine = std::make_unique<CrashMachine>(std::vector<DiskImage>(kImageDisks), seed,
                                                     /*record=*/true, /*simulated=*/true);
  LATCHKEY_RETURN_IF_ERROR(recording.machine->RunInside(
      [&] { return subject.Run(seed, *recording.machine, recording.oracle); }));
  return recording;
}

/// The last position before `limit` at which a commit was acknowledged.
uint64_t LastPromiseBefore(const CommitOracle& oracle, uint64_t limit) {
  uint64_t position = limit - 1;
  while (position > 0 && !oracle.PromisedAt(position)) --position;
  return position;
}

/// The last position between the commits at which sectors of data pages are pending.
uint64_t LastPendingBefore(const CrashRecorder& disks, uint64_t limit) {
  CrashReplay replay(disks);
  uint64_t found = limit;
  for (uint64_t position = limit / 2; position < limit; ++position) {
    replay.AdvanceTo(position);
    const DiskEvent& next = disks.event(position);
    const bool pages = next.kind == DiskEvent::Kind::kSyncBegun && next.disk == kDataDisk;
    if (pages && replay.pending_sectors() > 8) found = position;
  }
  return found;
}

uint64_t PositionOf(const Recording& recording, ImageState state) {
  const CrashRecorder& disks = *recording.machine->disks;
  if (state == ImageState::kClosed) return disks.position();
  const uint64_t closing = LastPromiseBefore(recording.oracle, disks.position());
  return state == ImageState::kCrashed ? closing : LastPendingBefore(disks, closing);
}

std::vector<DiskImage> ImagesAt(const CrashRecorder& disks, uint64_t position, ImageState state,
                                uint64_t seed) {
  CrashReplay replay(disks);
  replay.AdvanceTo(position);
  const CrashVariant variant =
      state == ImageState::kTorn ? CrashVariant::kSectors : CrashVariant::kAll;
  return replay.Images({.variant = variant, .index = 0}, seed);
}

GroupName NameOf(const GroupHeader& group) { return {group.epoch, group.lsn}; }

/// The places of the group's bytes, in order. A group may continue in another slot.
std::vector<ByteRange> RangesOf(const GroupHeader& group, const LogFileHeader& file,
                                const std::vector<std::byte>& log) {
  const LogGeometry geometry{.segment_bytes = file.segment_bytes, .block_bytes = file.block_bytes};
  std::map<uint64_t, ByteRange> pieces;  // by position
  for (uint64_t slot = 0; geometry.SlotOffset(slot + 1) <= log.size(); ++slot) {
    const auto header = DecodeSegmentHeader(log.data() + geometry.SlotOffset(slot),
                                            file.database_id, static_cast<uint32_t>(slot));
    if (!header || header->index == kFreeSegment) continue;
    const uint64_t start = geometry.StartOf(header->index), end = start + geometry.payload();
    const uint64_t from = std::max(start, group.lsn);
    const uint64_t to = std::min(end, group.lsn + group.bytes);
    if (from >= to) continue;
    const uint64_t offset = geometry.Offset(slot, from);
    pieces[from] = {offset, offset + (to - from)};
  }
  std::vector<ByteRange> ranges;
  for (const auto& [from, piece] : pieces) ranges.push_back(piece);
  return ranges;
}

/// Whether every byte of the group is present.
bool IsWhole(const GroupHeader& group, const LogFileHeader& file,
             const std::vector<ByteRange>& ranges, const std::vector<std::byte>& log) {
  std::vector<std::byte> bytes;
  for (const ByteRange& range : ranges) {
    bytes.insert(bytes.end(), log.begin() + static_cast<ptrdiff_t>(range.begin),
                 log.begin() + static_cast<ptrdiff_t>(range.end));
  }
  return bytes.size() == group.bytes && IsGroupBodySound(group, file.database_id, bytes.data());
}

/// The newest whole group of a log, and its place.
struct FoundGroup {
  GroupHeader header;
  std::vector<ByteRange> ranges;
};

std::optional<FoundGroup> FindLastGroup(const std::vector<std::byte>& log) {
  if (log.size() < kLogSegmentsBegin) return std::nullopt;
  const auto file = DecodeLogFileHeader(log.data());
  std::optional<FoundGroup> last;
  for (uint64_t at = kLogSegmentsBegin; file && at + file->block_bytes <= log.size();
       at += file->block_bytes) {
    const auto header = DecodeAnyGroupHeader(log.data() + at, file->database_id, file->block_bytes);
    if (!header || (last && NameOf(*header) <= NameOf(last->header))) continue;
    std::vector<ByteRange> ranges = RangesOf(*header, *file, log);
    if (IsWhole(*header, *file, ranges, log)) last = FoundGroup{*header, std::move(ranges)};
  }
  return last;
}

void NoteGroups(const CrashRecorder& disks, CorruptionImage& image) {
  for (uint64_t i = 0; i < image.position; ++i) {
    const DiskEvent& event = disks.event(i);
    if (event.kind != DiskEvent::Kind::kWriteSubmitted || event.disk != kLogDisk) continue;
    const auto group = DecodeAnyGroupHeader(event.bytes->data(), kOwnId, kMinLogBlock);
    if (group) image.groups.push_back({.name = NameOf(*group), .position = i});
  }
  if (auto last = FindLastGroup(image.disks[kLogDisk].Bytes())) {
    image.last_group = std::move(last->ranges);
  }
}

absl::StatusOr<ImageContents> ReadDatabase(const CorruptionImage& image, CrashMachine& machine,
                                           bool close) {
  const DatabaseSubject subject = SubjectOf(image.layout, kOwnId, /*cleaners=*/0);
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<DatabaseImpl> db,
                            subject.Open(image.seed, machine, /*create=*/false));
  LATCHKEY_RETURN_IF_ERROR(db->Verify());
  LATCHKEY_ASSIGN_OR_RETURN(const uint64_t fingerprint, DatabaseSubject::FingerprintOf(*db));
  if (close) {
    LATCHKEY_RETURN_IF_ERROR(db->Close());
  } else {
    machine.disks->PowerOff();  // what a close would write is not needed
  }
  return ImageContents{.fingerprint = fingerprint};
}

absl::StatusOr<ImageContents> ReadInside(const CorruptionImage& image, CrashMachine& machine,
                                         bool close) {
  absl::StatusOr<ImageContents> contents = absl::InternalError("the open did not end");
  const absl::Status ran = machine.RunInside([&] {
    contents = ReadDatabase(image, machine, close);
    return absl::OkStatus();
  });
  if (!ran.ok()) return absl::InternalError("an actor hangs: " + std::string(ran.message()));
  for (const std::string& violation : machine.disks->violations()) {
    return absl::InternalError(violation);
  }
  return contents;
}

}  // namespace

const char* ImageStateName(ImageState state) {
  switch (state) {
    case ImageState::kClosed:
      return "closed";
    case ImageState::kCrashed:
      return "crashed";
    case ImageState::kTorn:
      return "torn";
  }
  return "?";
}

GroupName NewestGroup(const DiskImage& log) {
  const auto last = FindLastGroup(log.Bytes());
  return last ? NameOf(last->header) : GroupName();
}

bool CorruptionImage::IsRightUpTo(GroupName newest, uint64_t contents) const {
  const auto next =
      std::ranges::find_if(groups, [&](const WrittenGroup& group) { return group.name > newest; });
  return next != groups.end() && oracle.Accepts(next->position, contents);
}

absl::StatusOr<CorruptionImage> MakeCorruptionImage(const std::string& layout, ImageState state,
                                                    uint64_t seed) {
  LATCHKEY_ASSIGN_OR_RETURN(const Recording own, Record(layout, seed, kOwnId));
  LATCHKEY_ASSIGN_OR_RETURN(const Recording other, Record(layout, seed, kForeignId));
  const CrashRecorder& disks = *own.machine->disks;
  CorruptionImage image;
  image.layout = layout;
  image.state = state;
  image.seed = seed;
  image.oracle = own.oracle;
  image.position = PositionOf(own, state);
  image.disks = ImagesAt(disks, image.position, state, seed);
  image.older = ImagesAt(disks, LastPromiseBefore(own.oracle, image.position * 3 / 4),
                         ImageState::kCrashed, seed);
  image.foreign =
      ImagesAt(*other.machine->disks, std::min(image.position, other.machine->disks->position()),
               ImageState::kCrashed, seed);
  if (state != ImageState::kClosed) NoteGroups(disks, image);
  LATCHKEY_ASSIGN_OR_RETURN(const ImageContents sound,
                            OpenImage(image, image.disks, /*close_and_reopen=*/true));
  if (!image.IsRight(sound.fingerprint)) {
    return absl::InternalError("the sound image: " +
                               image.oracle.Explain(image.position, sound.fingerprint));
  }
  return image;
}

absl::StatusOr<ImageContents> OpenImage(const CorruptionImage& image,
                                        const std::vector<DiskImage>& disks,
                                        bool close_and_reopen) {
  CrashMachine machine(disks, image.seed, /*record=*/false, /*simulated=*/true);
  LATCHKEY_ASSIGN_OR_RETURN(const ImageContents first,
                            ReadInside(image, machine, close_and_reopen));
  if (!close_and_reopen) return first;
  std::vector<DiskImage> closed;
  for (uint32_t disk = 0; disk < kImageDisks; ++disk) {
    closed.push_back(machine.disks->content(disk));
  }
  CrashMachine again(closed, image.seed, /*record=*/false, /*simulated=*/true);
  const absl::StatusOr<ImageContents> second = ReadInside(image, again, /*close=*/false);
  if (!second.ok()) {
    return absl::InternalError("recovered and closed, it cannot be opened again: " +
                               std::string(second.status().message()));
  }
  if (second->fingerprint == first.fingerprint) return first;
  return absl::InternalError("recovered and closed, it has other contents when opened again");
}

}  // namespace latchkey
