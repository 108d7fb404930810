#include "storage/wal/log_reader.h"

#include <algorithm>

#include "storage/base/canary.h"
#include "storage/base/status_macros.h"
#include "storage/device/io_window.h"

namespace latchkey {
namespace {

// Bytes of one request. A scan has a window of several requests in flight: enough for the device's
// bandwidth, and small compared with any cache.
constexpr uint64_t kScanBytes = 256u << 10;
constexpr uint32_t kScanDepth = 8;
constexpr uint64_t kBackwardBytes = 64u << 10;

absl::Status NoGroup(const LogMedium& medium, uint64_t lsn) {
  return MakeStatus(absl::StatusCode::kDataLoss,
                    "{}: there is no record at position {}: it is damaged or was never written; "
                    "restore the database from a backup, or salvage it",
                    medium.name, lsn);
}

}  // namespace

absl::Status ReadStream(LogMedium& medium, uint64_t lsn, std::span<std::byte> out) {
  const LogGeometry& g = medium.geometry;
  while (!out.empty()) {
    const std::optional<SegmentTable::Entry> entry = medium.FindSegment(g.IndexOf(lsn));
    if (!entry) return NoGroup(medium, lsn);
    const uint64_t rest = g.payload() - lsn % g.payload();
    const std::span<std::byte> piece = out.first(std::min<uint64_t>(rest, out.size()));
    const absl::Status status =
        medium.device->Read(g.Offset(entry->slot, lsn), piece, IoClass::kMeta);
    if (!status.ok()) {
      return MakeStatus(status.code(), "{}: cannot read position {}: {}", medium.name, lsn,
                        std::string_view(status.message().data(), status.message().size()));
    }
    lsn += piece.size();
    out = out.subspan(piece.size());
  }
  return absl::OkStatus();
}

absl::StatusOr<const std::byte*> GroupScanner::Window(uint64_t lsn, uint64_t bytes,
                                                      uint64_t readable_end) {
  if (lsn < window_begin_ || lsn + bytes > window_end_) {
    const uint64_t want = std::min(std::max(bytes, kScanDepth * kScanBytes), readable_end - lsn);
    if (window_.size() < want) window_ = AlignedBuffer(want);
    window_begin_ = window_end_ = 0;
    LATCHKEY_RETURN_IF_ERROR(ReadDeep(lsn, window_.span().first(want)));
    window_begin_ = lsn;
    window_end_ = lsn + want;
  }
  return window_.data() + (lsn - window_begin_);
}

// As ReadStream, with the whole window in flight at once if the device has a queue.
absl::Status GroupScanner::ReadDeep(uint64_t lsn, std::span<std::byte> out) {
  if (out.size() <= kScanBytes) return ReadStream(medium_, lsn, out);
  if (queue_ == nullptr) {
    auto queue = medium_.device->NewQueue(kScanDepth);
    if (!queue.ok()) return ReadStream(medium_, lsn, out);
    queue_ = *std::move(queue);
  }
  const LogGeometry& g = medium_.geometry;
  IoWindow<int> window(kScanDepth);
  size_t at = 0;
  bool failed = false, missing = false;
  window.Run(
      *queue_,
      [&](IoRequest& request) {
        if (at == out.size() || failed || missing) return false;
        const std::optional<SegmentTable::Entry> entry = medium_.FindSegment(g.IndexOf(lsn + at));
        missing = !entry;
        if (missing) return false;
        const uint64_t rest = std::min(g.payload() - (lsn + at) % g.payload(), out.size() - at);
        request.op = IoRequest::Op::kRead;
        request.io_class = IoClass::kMeta;
        request.offset = g.Offset(entry->slot, lsn + at);
        request.length = static_cast<uint32_t>(std::min(rest, kScanBytes));
        request.buffer = out.data() + at;
        at += request.length;
        return true;
      },
      [&](const IoRequest& request, int) { failed = failed || !request.status.ok(); });
  // Retry without the queue: it may succeed, and otherwise the error names the position.
  if (failed) return ReadStream(medium_, lsn, out);
  return missing ? NoGroup(medium_, lsn + at) : absl::OkStatus();
}

absl::StatusOr<GroupScanner::Found> GroupScanner::Next() {
  const LogGeometry& g = medium_.geometry;
  const uint64_t end = std::min(medium_.ReadableEnd(position_), limit_);
  if (position_ >= end) return Found::kNothing;
  LATCHKEY_ASSIGN_OR_RETURN(const std::byte* bytes, Window(position_, g.block_bytes, end));
  const auto header = DecodeGroupHeader(bytes, medium_.database_id, position_, g.block_bytes);
  if (!header) return Found::kNothing;
  if (epoch_) {
    const uint64_t expected = *epoch_ + (header->begins_epoch ? 1 : 0);
    if (header->epoch > expected) return Found::kGap;
    if (header->epoch < expected) return Found::kNothing;
  }
  if (header->bytes > end - position_) return end == limit_ ? Found::kTorn : Found::kGap;
  LATCHKEY_ASSIGN_OR_RETURN(bytes, Window(position_, header->bytes, end));
  if (!IsGroupBodySound(*header, medium_.database_id, bytes) &&
      !LATCHKEY_CANARY("log-without-checksum")) {
    return Found::kTorn;
  }
  header_ = *header;
  group_ = bytes;
  LATCHKEY_RETURN_IF_ERROR(CheckRecords());
  epoch_ = header->epoch;
  position_ += header->bytes;
  return Found::kGroup;
}

absl::Status GroupScanner::CheckRecords() const {
  const uint64_t end = kGroupHeaderBytes + header_.record_bytes;
  uint64_t at = kGroupHeaderBytes;
  uint32_t records = 0;
  for (; at < end; ++records) {
    const std::span<const std::byte> record = RecordAt(header_, group_, at);
    if (record.empty()) break;
    at += kRecordHeaderBytes + record.size();
  }
  if (at == end && records == header_.records) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kDataLoss,
                    "{}: the group at position {} does not hold the {} records of {} bytes that it "
                    "claims; restore the database from a backup, or salvage it",
                    medium_.name, header_.lsn, header_.records, header_.record_bytes);
}

namespace {

// Scans the blocks of slots for the header of a group behind `end`.
class SlotSearch {
 public:
  SlotSearch(LogMedium& medium, uint64_t end, uint64_t epoch)
      : medium_(medium),
        end_(end),
        epoch_(epoch),
        buffer_(std::min<uint64_t>(kScanBytes, medium.geometry.segment_bytes)) {}

  /// Searches a slot from byte `begin` on. `torn_at`: the byte where the torn group begins, if it
  /// is in this slot.
  absl::StatusOr<std::optional<uint64_t>> Search(uint32_t slot, uint64_t begin,
                                                 std::optional<uint64_t> torn_at = {}) {
    const LogGeometry& g = medium_.geometry;
    for (uint64_t at = begin; at < g.segment_bytes; at += buffer_.size()) {
      const auto piece =
          buffer_.span().first(std::min<uint64_t>(buffer_.size(), g.segment_bytes - at));
      LATCHKEY_RETURN_IF_ERROR(
          medium_.device->Read(g.SlotOffset(slot) + at, piece, IoClass::kMeta));
      for (uint64_t i = 0; i < piece.size(); i += g.block_bytes) {
        const auto header =
            DecodeAnyGroupHeader(piece.data() + i, medium_.database_id, g.block_bytes);
        if (header && IsLater(*header, torn_at == at + i)) return std::optional(header->lsn);
      }
    }
    return std::optional<uint64_t>();
  }

  /// Searches for the first group in a slot, regardless of the slot's header: if the last write of
  /// the header was lost, it hides the groups in the slot. Reads at most one piece of the slot.
  absl::StatusOr<std::optional<uint64_t>> SearchFront(uint32_t slot) {
    const LogGeometry& g = medium_.geometry;
    for (const uint64_t bytes : {uint64_t{g.block_bytes}, buffer_.size() - g.block_bytes}) {
      const auto piece = buffer_.span().first(bytes);
      LATCHKEY_RETURN_IF_ERROR(
          medium_.device->Read(g.SlotOffset(slot) + g.block_bytes, piece, IoClass::kMeta));
      for (uint64_t i = 0; i < piece.size(); i += g.block_bytes) {
        const auto header =
            DecodeAnyGroupHeader(piece.data() + i, medium_.database_id, g.block_bytes);
        if (!header) continue;
        return IsLater(*header, /*is_torn_group=*/false) ? std::optional(header->lsn)
                                                         : std::optional<uint64_t>();
      }
    }
    return std::optional<uint64_t>();
  }

 private:
  // A group in the wrong place counts too: it also proves that the log went on.
  bool IsLater(const GroupHeader& header, bool is_torn_group) const {
    return header.epoch >= epoch_ && (is_torn_group ? header.lsn > end_ : header.lsn >= end_);
  }

  LogMedium& medium_;
  const uint64_t end_, epoch_;
  AlignedBuffer buffer_;
};

}  // namespace

absl::StatusOr<std::optional<uint64_t>> FindLaterGroup(LogMedium& medium, uint64_t end,
                                                       uint64_t epoch) {
  const LogGeometry& g = medium.geometry;
  SlotSearch search(medium, end, epoch);
  const uint64_t first = g.IndexOf(end);
  for (auto next = medium.NextSegment(first); next; next = medium.NextSegment(next->index + 1)) {
    const uint64_t torn_at = g.block_bytes + end % g.payload();
    LATCHKEY_ASSIGN_OR_RETURN(const auto later, next->index == first
                                                    ? search.Search(next->slot, torn_at, torn_at)
                                                    : search.Search(next->slot, g.block_bytes));
    if (later) return later;
  }
  for (const uint32_t slot : medium.DamagedSlots()) {
    LATCHKEY_ASSIGN_OR_RETURN(const auto later, search.Search(slot, g.block_bytes));
    if (later) return later;
  }
  for (const uint32_t slot : medium.SlotsBefore(first)) {
    LATCHKEY_ASSIGN_OR_RETURN(const auto later, search.SearchFront(slot));
    if (later) return later;
  }
  return std::optional<uint64_t>();
}

absl::StatusOr<std::optional<GroupHeader>> FindGroupBefore(LogMedium& medium, uint64_t lsn) {
  const LogGeometry& g = medium.geometry;
  AlignedBuffer buffer(std::min<uint64_t>(kBackwardBytes, g.segment_bytes));
  uint64_t end = g.RoundDown(lsn) + g.block_bytes;  // of the blocks still to look at
  const uint64_t lowest = end > kMaxGroupBytes ? end - kMaxGroupBytes : 0;
  while (end > lowest) {
    const uint64_t segment_start = g.StartOf(g.IndexOf(end - 1));
    const uint64_t begin = std::max(segment_start, end > buffer.size() ? end - buffer.size() : 0);
    if (!medium.FindSegment(g.IndexOf(begin))) break;
    const std::span<std::byte> piece = buffer.span().first(end - begin);
    LATCHKEY_RETURN_IF_ERROR(ReadStream(medium, begin, piece));
    for (uint64_t at = end - g.block_bytes; at + g.block_bytes > begin; at -= g.block_bytes) {
      const auto header =
          DecodeGroupHeader(piece.data() + (at - begin), medium.database_id, at, g.block_bytes);
      if (header) return header;
      if (at == begin) break;
    }
    end = begin;
  }
  return std::optional<GroupHeader>();
}

absl::Status LoadedGroup::Load(LogMedium& medium, uint64_t lsn) {
  bytes_ = AlignedBuffer();
  LATCHKEY_ASSIGN_OR_RETURN(const std::optional<GroupHeader> header, FindGroupBefore(medium, lsn));
  if (!header || lsn - header->lsn >= header->bytes) return NoGroup(medium, lsn);
  if (header->bytes > medium.ReadableEnd(header->lsn) - header->lsn) return NoGroup(medium, lsn);
  AlignedBuffer bytes(header->bytes);
  LATCHKEY_RETURN_IF_ERROR(ReadStream(medium, header->lsn, bytes.span()));
  if (!IsGroupBodySound(*header, medium.database_id, bytes.data())) return NoGroup(medium, lsn);
  header_ = *header;
  bytes_ = std::move(bytes);
  offsets_.clear();
  for (uint64_t at = kGroupHeaderBytes;;) {
    const std::span<const std::byte> record = RecordAt(header_, bytes_.data(), at);
    if (record.empty()) break;
    offsets_.push_back(static_cast<uint32_t>(at));
    at += kRecordHeaderBytes + record.size();
  }
  return absl::OkStatus();
}

std::span<const std::byte> LoadedGroup::Record(uint64_t lsn) const {
  const uint32_t offset = static_cast<uint32_t>(lsn - header_.lsn);
  if (!std::binary_search(offsets_.begin(), offsets_.end(), offset)) return {};
  return RecordAt(header_, bytes_.data(), offset);
}

}  // namespace latchkey
