#include "storage/wal/group_writer.h"

#include <algorithm>

#include "storage/base/canary.h"
#include "storage/base/check.h"
#include "storage/base/status_macros.h"

namespace latchkey {

constexpr size_t kMostInFlight = 64;

void GroupWriter::Allocate(const LogMedium& medium, uint32_t group_bytes) {
  const LogGeometry& g = medium.geometry;
  header_block_ = AlignedBuffer(g.block_bytes);
  early_blocks_ = AlignedBuffer(SegmentsAhead(g) * g.block_bytes);
  // The segments that one group can touch, and those behind it.
  const size_t segments = group_bytes / g.payload() + 2 + SegmentsAhead(g);
  needed_headers_.reserve(segments);
  early_headers_.reserve(segments);
  placed_.reserve(segments);
  const size_t depth = std::min(segments, kMostInFlight);
  window_ = std::make_unique<IoWindow<int>>(depth);
  if (auto queue = medium.device->NewQueue(static_cast<uint32_t>(depth)); queue.ok()) {
    queue_ = *std::move(queue);
  }
}

void GroupWriter::Plan(LogMedium& medium, const GroupBuffer& group) {
  const LogGeometry& g = medium.geometry;
  const uint64_t last = g.IndexOf(group.end() - 1);
  needed_headers_.clear();
  early_headers_.clear();
  for (uint64_t index = g.IndexOf(group.start); index <= last + SegmentsAhead(g); ++index) {
    const bool has_slot = medium.table.Assign(index);
    LATCHKEY_CHECK(has_slot || index > last);  // reserved bytes have slots
    if (!has_slot) break;
    const SegmentTable::Entry entry = *medium.table.Find(index);
    if (entry.is_header_durable) continue;
    (index <= last ? needed_headers_ : early_headers_).push_back({index, entry.slot});
  }
}

absl::Status GroupWriter::Write(LogMedium& medium, GroupBuffer& group) {
  SealGroup({.lsn = group.start,
             .epoch = epoch_,
             .begins_epoch = group.begins_epoch,
             .bytes = group.bytes,
             .record_bytes = group.used - static_cast<uint32_t>(kGroupHeaderBytes),
             .records = group.records},
            medium.database_id, group.memory.data());
  for (const NewHeader& h : needed_headers_) {
    LATCHKEY_RETURN_IF_ERROR(WriteHeaderAtOnce(medium, h));
  }
  if (LATCHKEY_CANARY("log-tail-rewritten")) {
    LATCHKEY_RETURN_IF_ERROR(WriteTailAgain(medium, group.start));
  }
  if (!needed_headers_.empty()) LATCHKEY_RETURN_IF_ERROR(medium.device->Sync());
  placed_.clear();
  AddBody(medium, group);
  AddEarlyHeaders(medium);
  LATCHKEY_RETURN_IF_ERROR(WritePlaced(medium));
  if (LATCHKEY_CANARY("ack-before-flush")) return absl::OkStatus();
  return medium.SyncGroup();
}

void GroupWriter::AddBody(LogMedium& medium, GroupBuffer& group) {
  const LogGeometry& g = medium.geometry;
  for (uint32_t done = 0; done < group.bytes;) {
    const uint64_t lsn = group.start + done;
    const uint64_t length = std::min<uint64_t>(group.bytes - done, g.payload() - lsn % g.payload());
    const uint32_t slot = medium.FindSegment(g.IndexOf(lsn))->slot;
    placed_.push_back({g.Offset(slot, lsn), group.memory.span().subspan(done, length)});
    done += static_cast<uint32_t>(length);
  }
}

void GroupWriter::AddEarlyHeaders(const LogMedium& medium) {
  const size_t block = medium.geometry.block_bytes;
  std::span<std::byte> rest = early_blocks_.span();
  for (const NewHeader& header : early_headers_) {
    EncodeSegmentHeader({.slot = header.slot, .index = header.index, .epoch = epoch_},
                        medium.database_id, rest.data());
    placed_.push_back({medium.geometry.SlotOffset(header.slot), rest.first(block)});
    rest = rest.subspan(block);
  }
}

absl::Status GroupWriter::WritePlaced(LogMedium& medium) {
  absl::Status status;
  if (placed_.size() == 1 || queue_ == nullptr) {
    for (const PlacedBytes& part : placed_) {
      LATCHKEY_RETURN_IF_ERROR(medium.device->Write(part.offset, part.bytes, IoClass::kMeta));
    }
    return status;
  }
  size_t next = 0;
  window_->Run(
      *queue_,
      [&](IoRequest& request) {
        if (next == placed_.size()) return false;
        request.op = IoRequest::Op::kWrite;
        request.io_class = IoClass::kMeta;
        request.offset = placed_[next].offset;
        request.length = static_cast<uint32_t>(placed_[next].bytes.size());
        request.buffer = placed_[next].bytes.data();
        ++next;
        return true;
      },
      [&](const IoRequest& request, int) { status.Update(request.status); });
  return status;
}

absl::Status GroupWriter::WriteHeaderAtOnce(LogMedium& medium, const NewHeader& header) {
  EncodeSegmentHeader({.slot = header.slot, .index = header.index, .epoch = epoch_},
                      medium.database_id, header_block_.data());
  return medium.device->Write(medium.geometry.SlotOffset(header.slot), header_block_.span(),
                              IoClass::kMeta);
}

// For a canary only: writes the block before `end` again, like a log that fills up its last block
// with the next group.
absl::Status GroupWriter::WriteTailAgain(LogMedium& medium, uint64_t end) {
  const LogGeometry& g = medium.geometry;
  if (end < g.block_bytes) return absl::OkStatus();
  const uint64_t tail = end - g.block_bytes;
  LATCHKEY_RETURN_IF_ERROR(ReadStream(medium, tail, header_block_.span()));
  return medium.device->Write(g.Offset(medium.FindSegment(g.IndexOf(tail))->slot, tail),
                              header_block_.span(), IoClass::kMeta);
}

uint64_t GroupWriter::Finish(LogMedium& medium) {
  for (const NewHeader& h : needed_headers_) medium.table.SetHeaderDurable(h.index);
  for (const NewHeader& h : early_headers_) medium.table.SetHeaderDurable(h.index);
  return needed_headers_.empty() ? 1 : 2;
}

}  // namespace latchkey
