// GroupWriter: writes one sealed group to the device, and the headers of the segments it touches.
//
// Invariants
//  1. A segment's header is durable before a group lies in the segment. Otherwise a crash could
//     undo the header, and an open would miss the group or take it for damage.
//  2. Writing a group takes no memory after Allocate.
//
// The parts of a group, one for each segment, and the headers written ahead are in flight together:
// a group of 1 MiB touches nine segments of 128 KiB.
//
// Thread-safety: one thread at a time, the leader. Plan and Finish need the log's latch. Write
// waits for the device, and its caller must not hold the latch.
#pragma once

#include <absl/status/status.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "storage/base/thread_annotations.h"
#include "storage/device/aligned_buffer.h"
#include "storage/device/io_window.h"
#include "storage/wal/log_buffer.h"
#include "storage/wal/log_medium.h"

namespace latchkey {

class GroupWriter {
 public:
  /// Allocates what groups of at most `group_bytes` need. Throws when memory runs out. A device
  /// without another queue gets one write after the other.
  void Allocate(const LogMedium& medium, uint32_t group_bytes);
  /// The epoch of the groups to be written.
  void SetEpoch(uint64_t epoch) { epoch_ = epoch; }
  uint64_t epoch() const { return epoch_; }

  /// Gives a slot to every segment that `group` touches, and to a few segments behind them. The
  /// headers of the latter are written with this group, so they need no sync of their own later.
  void Plan(LogMedium& medium, const GroupBuffer& group) LATCHKEY_REQUIRES(medium.latch);
  /// Writes the planned group and syncs.
  absl::Status Write(LogMedium& medium, GroupBuffer& group);
  /// The group is durable. Returns the number of syncs that it took.
  uint64_t Finish(LogMedium& medium) LATCHKEY_REQUIRES(medium.latch);

  /// A group also writes the headers of this many segments behind its own. So a next group of at most
  /// 1 MiB writes no header before its records. A log of very small segments has few slots: it gets
  /// fewer.
  static uint64_t SegmentsAhead(const LogGeometry& geometry) {
    constexpr uint64_t kGroup = uint64_t{1} << 20, kBytesPerSegment = 16 << 10, kMost = 8;
    const uint64_t segment = geometry.segment_bytes;
    return std::clamp<uint64_t>(std::min(kGroup / segment, segment / kBytesPerSegment), 1, kMost);
  }

 private:
  struct NewHeader {
    uint64_t index;
    uint32_t slot;
  };

  struct PlacedBytes {
    uint64_t offset;  // on the device
    std::span<std::byte> bytes;
  };
  absl::Status WriteHeaderAtOnce(LogMedium& medium, const NewHeader& header);
  void AddBody(LogMedium& medium, GroupBuffer& group);
  void AddEarlyHeaders(const LogMedium& medium);
  absl::Status WritePlaced(LogMedium& medium);
  absl::Status WriteTailAgain(LogMedium& medium, uint64_t end);

  uint64_t epoch_ = 0;
  AlignedBuffer header_block_, early_blocks_;
  std::vector<NewHeader> needed_headers_, early_headers_;
  std::vector<PlacedBytes> placed_;  // of the group that is written
  std::unique_ptr<IoQueue> queue_;   // null: one write after the other
  std::unique_ptr<IoWindow<int>> window_;
};

}  // namespace latchkey
