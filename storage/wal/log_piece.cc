#include "storage/wal/log_piece.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "storage/base/status_macros.h"
#include "storage/device/aligned_buffer.h"
#include "storage/wal/log_medium.h"

namespace latchkey {
namespace {

constexpr uint64_t kLeastSlots = 3;

absl::Status DamagedPiece(uint64_t at, const LogPiece& piece) {
  return MakeStatus(absl::StatusCode::kDataLoss,
                    "the copy of the log, positions {} to {}, is damaged at {}", Raw(piece.from),
                    Raw(piece.to), at);
}

absl::Status CheckPiece(const LogPiece& piece) {
  const LogShape& s = piece.shape;
  const bool shape_is_possible =
      std::has_single_bit(s.segment_bytes) && s.segment_bytes >= kMinLogSegment &&
      s.segment_bytes <= kMaxLogSegment && std::has_single_bit(s.block_bytes) &&
      s.block_bytes >= kMinLogBlock && s.block_bytes <= kMaxLogBlock;
  if (shape_is_possible && piece.from < piece.to && Raw(piece.from) % s.block_bytes == 0 &&
      Raw(piece.to) % s.block_bytes == 0) {
    return absl::OkStatus();
  }
  return MakeStatus(
      absl::StatusCode::kDataLoss,
      "no copy of a log has positions {} to {}, segments of {} and blocks of {} bytes",
      Raw(piece.from), Raw(piece.to), s.segment_bytes, s.block_bytes);
}

// Writes groups into the segments of a log that is being made.
class Importer {
 public:
  Importer(LogMedium& medium, const LogPiece& piece)
      : medium_(medium), first_(medium.geometry.IndexOf(Raw(piece.from))) {}

  /// Slots for the piece, one to go on in, and the least that a log has.
  static uint64_t SlotsFor(const LogGeometry& geometry, const LogPiece& piece,
                           uint64_t initial_bytes) {
    const uint64_t used = geometry.IndexOf(Raw(piece.to)) - geometry.IndexOf(Raw(piece.from)) + 2;
    return std::max({kLeastSlots, used, initial_bytes / geometry.segment_bytes});
  }

  absl::Status Add(GroupHeader header, std::span<std::byte> group) {
    SealGroup(header, medium_.database_id, group.data());
    uint64_t lsn = header.lsn;
    while (!group.empty()) {
      LATCHKEY_RETURN_IF_ERROR(BeginSegment(medium_.geometry.IndexOf(lsn), header.epoch));
      const uint64_t payload = medium_.geometry.payload();
      const std::span<std::byte> part =
          group.first(std::min<uint64_t>(payload - lsn % payload, group.size()));
      const uint64_t slot = medium_.geometry.IndexOf(lsn) - first_;
      LATCHKEY_RETURN_IF_ERROR(
          medium_.device->Write(medium_.geometry.Offset(slot, lsn), part, IoClass::kMeta));
      lsn += part.size();
      group = group.subspan(part.size());
    }
    return absl::OkStatus();
  }

 private:
  absl::Status BeginSegment(uint64_t index, uint64_t epoch) {
    if (begun_ && index <= *begun_) return absl::OkStatus();
    AlignedBuffer block(medium_.geometry.block_bytes);
    const auto slot = static_cast<uint32_t>(index - first_);
    EncodeSegmentHeader({.slot = slot, .index = index, .epoch = epoch}, medium_.database_id,
                        block.data());
    LATCHKEY_RETURN_IF_ERROR(
        medium_.device->Write(medium_.geometry.SlotOffset(slot), block.span(), IoClass::kMeta));
    begun_ = index;
    return absl::OkStatus();
  }

  LogMedium& medium_;
  const uint64_t first_;
  std::optional<uint64_t> begun_;  // the newest segment that has its header
};

}  // namespace

absl::Status ForEachGroup(
    const LogPiece& piece,
    absl::FunctionRef<absl::Status(const GroupHeader&, std::span<std::byte>)> visit) {
  LATCHKEY_RETURN_IF_ERROR(CheckPiece(piece));
  const uint32_t block = piece.shape.block_bytes;
  AlignedBuffer buffer(kMaxLogBlock);
  std::optional<uint64_t> epoch;
  for (uint64_t at = Raw(piece.from); at < Raw(piece.to);) {
    LATCHKEY_RETURN_IF_ERROR(piece.read(Lsn{at}, buffer.span().first(block)));
    const auto header = DecodeGroupHeader(buffer.data(), piece.database_id, at, block);
    const bool follows = header && header->bytes <= Raw(piece.to) - at &&
                         (!epoch || header->epoch == *epoch + (header->begins_epoch ? 1 : 0));
    if (!follows) return DamagedPiece(at, piece);
    if (buffer.size() < header->bytes) buffer = AlignedBuffer(header->bytes);
    const std::span<std::byte> group = buffer.span().first(header->bytes);
    LATCHKEY_RETURN_IF_ERROR(piece.read(Lsn{at}, group));
    if (!IsGroupBodySound(*header, piece.database_id, group.data())) return DamagedPiece(at, piece);
    LATCHKEY_RETURN_IF_ERROR(visit(*header, group));
    epoch = header->epoch;
    at += header->bytes;
  }
  return absl::OkStatus();
}

absl::Status ImportLog(Runtime& runtime, std::unique_ptr<BlockDevice> device,
                       const LogOptions& options, const LogPiece& piece) {
  LATCHKEY_RETURN_IF_ERROR(CheckPiece(piece));
  if (device->geometry().logical_block > piece.shape.block_bytes) {
    return MakeStatus(
        absl::StatusCode::kFailedPrecondition,
        "{}: {} wants blocks of {} bytes, the copied log has blocks of {}; restore to "
        "a device with blocks of at most that size",
        options.name, device->Describe(), device->geometry().logical_block,
        piece.shape.block_bytes);
  }
  LogMedium medium(runtime, std::move(device));
  medium.geometry = {.segment_bytes = piece.shape.segment_bytes,
                     .block_bytes = piece.shape.block_bytes};
  medium.database_id = options.database_id;
  medium.name = options.name;
  const uint64_t slots = Importer::SlotsFor(medium.geometry, piece, options.initial_bytes);
  LATCHKEY_RETURN_IF_ERROR(medium.device->Resize(medium.geometry.SlotOffset(slots)));
  LATCHKEY_RETURN_IF_ERROR(WriteFreeHeaders(medium, 0, slots));
  Importer importer(medium, piece);
  LATCHKEY_RETURN_IF_ERROR(
      ForEachGroup(piece, [&](const GroupHeader& header, std::span<std::byte> group) {
        return importer.Add(header, group);
      }));
  LATCHKEY_RETURN_IF_ERROR(medium.device->Sync());
  return WriteFileHeader(medium, slots);
}

}  // namespace latchkey
