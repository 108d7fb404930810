#include "layout/checkpoint/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "layout/checkpoint/superblock.h"
#include "layout/map/write_again.h"
#include "storage/base/check.h"
#include "storage/base/status_macros.h"
#include "storage/page_format.h"

namespace latchkey {
namespace {

// The payload of the first page of each segment begins with the number of the chain's next segment.
constexpr size_t kLinkBytes = 8;
constexpr size_t kPayloadOffset = kPageHeaderSize;

// Position of a page in the checkpoint, which it carries as its page id.
PageId PositionOf(const StoreGeometry& geometry, size_t segment_index, uint32_t page) {
  return PageId{segment_index * geometry.pages_per_segment() + page};
}

uint32_t SequenceOf(uint64_t generation) { return static_cast<uint32_t>(generation); }

}  // namespace

uint64_t CheckpointWriter::BytesPerSegment(const StoreGeometry& geometry) {
  const uint64_t payload = geometry.page_size - kPayloadOffset;
  return geometry.pages_per_segment() * payload - kLinkBytes;
}

CheckpointWriter::CheckpointWriter(StoreCore& core, uint64_t generation,
                                   std::vector<SegmentId> segments)
    : core_(core),
      generation_(generation),
      segments_(std::move(segments)),
      buffer_(core.geometry.segment_size) {
  BeginPage();
}

void CheckpointWriter::BeginPage() {
  std::byte* page = buffer_.data() + size_t{page_} * core_.geometry.page_size;
  std::memset(page, 0, core_.geometry.page_size);
  PageHeader header{};
  header.lsn = generation_;
  header.page_type = static_cast<uint8_t>(PageType::kPageMap);
  std::memcpy(page, &header, sizeof(header));
  offset_ = kPayloadOffset;
  if (page_ != 0) return;
  const uint64_t next =
      segment_index_ + 1 < segments_.size() ? Raw(segments_[segment_index_ + 1]) : kNoSegment;
  std::memcpy(page + offset_, &next, sizeof(next));
  offset_ += kLinkBytes;
}

void CheckpointWriter::SealCurrentPage() {
  const uint32_t page_size = core_.geometry.page_size;
  SealPage({buffer_.data() + size_t{page_} * page_size, page_size},
           PositionOf(core_.geometry, segment_index_, page_), SequenceOf(generation_),
           core_.database_id);
}

absl::Status CheckpointWriter::Put(uint64_t word) {
  LATCHKEY_RETURN_IF_ERROR(PutShort(static_cast<uint32_t>(word)));
  return PutShort(static_cast<uint32_t>(word >> 32));
}

absl::Status CheckpointWriter::PutShort(uint32_t word) {
  const uint32_t page_size = core_.geometry.page_size;
  if (offset_ + sizeof(word) > page_size) {
    SealCurrentPage();
    if (++page_ == core_.geometry.pages_per_segment()) {
      LATCHKEY_RETURN_IF_ERROR(WriteSegment());
      ++segment_index_;
      if (is_chain_full()) {
        return MakeStatus(absl::StatusCode::kResourceExhausted,
                          "the checkpoint needs more than {} segments", segments_.size());
      }
      page_ = 0;
    }
    BeginPage();
  }
  std::memcpy(buffer_.data() + size_t{page_} * page_size + offset_, &word, sizeof(word));
  offset_ += sizeof(word);
  payload_bytes_ += sizeof(word);
  return absl::OkStatus();
}

absl::Status CheckpointWriter::WriteSegment() {
  LATCHKEY_CHECK(segment_index_ < segments_.size());
  const uint32_t pages = std::min(page_ + 1, core_.geometry.pages_per_segment());
  const size_t bytes = size_t{pages} * core_.geometry.page_size;
  bytes_written_ += bytes;
  return WriteRepeatedly([&] {
    return core_.device.Write(core_.geometry.OffsetOf(segments_[segment_index_]),
                              {buffer_.data(), bytes}, IoClass::kMeta);
  });
}

absl::Status CheckpointWriter::Finish() {
  SealCurrentPage();
  return WriteSegment();
}

CheckpointReader::CheckpointReader(StoreCore& core, uint32_t total, uint64_t generation,
                                   uint64_t first_segment)
    : core_(core),
      total_(total),
      generation_(generation),
      buffer_(core.geometry.segment_size),
      next_segment_(first_segment),
      page_(core.geometry.pages_per_segment()),
      offset_(core.geometry.page_size) {}

absl::Status CheckpointReader::ReadSegment() {
  if (next_segment_ >= total_ || segments_.size() > total_) {
    return MakeStatus(absl::StatusCode::kDataLoss, "the checkpoint chain leads to segment {} of {}",
                      next_segment_, total_);
  }
  segments_.push_back(SegmentId{static_cast<uint32_t>(next_segment_)});
  return core_.device.Read(core_.geometry.OffsetOf(segments_.back()), buffer_.span(),
                           IoClass::kMeta);
}

absl::Status CheckpointReader::OpenPage() {
  if (++page_ >= core_.geometry.pages_per_segment()) {
    LATCHKEY_RETURN_IF_ERROR(ReadSegment());
    page_ = 0;
  }
  const uint32_t page_size = core_.geometry.page_size;
  const std::byte* page = buffer_.data() + size_t{page_} * page_size;
  const absl::Status proof =
      VerifyPage({page, page_size}, PositionOf(core_.geometry, segments_.size() - 1, page_),
                 SequenceOf(generation_), core_.database_id);
  if (!proof.ok()) {
    return MakeStatus(absl::StatusCode::kDataLoss, "the checkpoint of generation {} is damaged: {}",
                      generation_, std::string(proof.message()));
  }
  offset_ = kPayloadOffset;
  if (page_ == 0) {
    std::memcpy(&next_segment_, page + offset_, sizeof(next_segment_));
    offset_ += kLinkBytes;
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> CheckpointReader::Next() {
  LATCHKEY_ASSIGN_OR_RETURN(const uint32_t lower, NextShort());
  LATCHKEY_ASSIGN_OR_RETURN(const uint32_t upper, NextShort());
  return uint64_t{upper} << 32 | lower;
}

absl::StatusOr<uint32_t> CheckpointReader::NextShort() {
  const uint32_t page_size = core_.geometry.page_size;
  if (offset_ + sizeof(uint32_t) > page_size) LATCHKEY_RETURN_IF_ERROR(OpenPage());
  uint32_t word = 0;
  std::memcpy(&word, buffer_.data() + size_t{page_} * page_size + offset_, sizeof(word));
  offset_ += sizeof(word);
  return word;
}

}  // namespace latchkey
