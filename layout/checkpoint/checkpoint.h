// Checkpoint of page map and segment table: a chain of segments, each a run of sealed pages. A page
// of the checkpoint has its position in the checkpoint as page id, and the generation as LSN. See
// FORMAT.md.
//
// Payload: one word per page id, 4 bytes for a free one and 8 for others, then one 8-byte entry per
// segment. The segments of the previous checkpoint become free only after the superblock that names the
// new one is durable.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <vector>

#include "layout/store_core.h"
#include "storage/device/aligned_buffer.h"

namespace latchkey {

/// Writes words of 4 and 8 bytes through a segment buffer into the given segments, in the given
/// order.
class CheckpointWriter {
 public:
  CheckpointWriter(StoreCore& core, uint64_t generation, std::vector<SegmentId> segments);
  /// ResourceExhausted: the segments are full (is_chain_full). REQUIRES: the last call was OK.
  absl::Status Put(uint64_t word);
  absl::Status PutShort(uint32_t word);
  /// Writes the rest of the buffer. REQUIRES: the last call.
  absl::Status Finish();
  /// Payload bytes that one segment takes; a multiple of 8.
  static uint64_t BytesPerSegment(const StoreGeometry& geometry);
  uint64_t bytes_written() const { return bytes_written_; }
  /// Bytes of the words.
  uint64_t payload_bytes() const { return payload_bytes_; }
  /// Index of the segment that is being filled, or whose write failed.
  size_t segment_index() const { return segment_index_; }
  /// Whether the words did not fit into the segments.
  bool is_chain_full() const { return segment_index_ == segments_.size(); }

 private:
  void BeginPage();
  void SealCurrentPage();
  absl::Status WriteSegment();

  StoreCore& core_;
  const uint64_t generation_;
  const std::vector<SegmentId> segments_;
  AlignedBuffer buffer_;
  size_t segment_index_ = 0;
  uint32_t page_ = 0;  // within the segment
  size_t offset_ = 0;  // of the next word within the page
  uint64_t bytes_written_ = 0;
  uint64_t payload_bytes_ = 0;
};

/// Reads the words of a checkpoint back and checks every page. DataLoss names the damage.
class CheckpointReader {
 public:
  /// `total`: segments of the file. The chain begins at `first_segment`.
  CheckpointReader(StoreCore& core, uint32_t total, uint64_t generation, uint64_t first_segment);
  absl::StatusOr<uint64_t> Next();
  absl::StatusOr<uint32_t> NextShort();
  /// The segments read so far.
  const std::vector<SegmentId>& segments() const { return segments_; }

 private:
  absl::Status ReadSegment();
  absl::Status OpenPage();

  StoreCore& core_;
  const uint32_t total_;
  const uint64_t generation_;
  AlignedBuffer buffer_;
  uint64_t next_segment_;
  std::vector<SegmentId> segments_;
  uint32_t page_;
  size_t offset_;
};

}  // namespace latchkey
