// GroupPrice: the bytes that a record reserves besides its own, so that there is room for the
// header and the padding of its group. GroupSpace says which records pay.
//
// Thread-safety: immutable.
#pragma once

#include <cstddef>
#include <cstdint>

#include "storage/wal/log.h"
#include "storage/wal/log_format.h"

namespace latchkey {

class GroupPrice {
 public:
  GroupPrice(GroupSpace space, const LogGeometry& geometry)
      : is_shared_(space == GroupSpace::kShared),
        overhead_(kGroupHeaderBytes + geometry.block_bytes - 1),
        share_(is_shared_ ? overhead_ / kRecordsPerGroup + 1 : overhead_) {}

  bool is_shared() const { return is_shared_; }
  /// The most that a group takes besides its records: header and padding.
  uint64_t overhead() const { return overhead_; }
  /// As Log::RecordSpace and Log::PaidGroupSpace.
  uint64_t RecordSpace(size_t size) const {
    const uint64_t bytes = kRecordHeaderBytes + size;
    return bytes + (is_shared_ ? bytes / kShareOfBytes : 0) + share_;
  }
  uint64_t PaidGroupSpace() const { return is_shared_ ? overhead_ : 0; }
  /// The part of a reservation that a record takes for good.
  uint64_t OwnSpace(size_t size) const {
    return is_shared_ ? RecordSpace(size) : kRecordHeaderBytes + size;
  }
  /// The part of a reservation that pays for a whole group. It is released if another record has
  /// paid for that group. `paid`: bytes that the record reserved besides RecordSpace, for a group
  /// of its own.
  uint64_t WholeGroup(uint64_t paid) const { return is_shared_ ? paid : share_; }

 private:
  // Number of records that together pay for one unpaid flush. Callers that obey scarce() flush less
  // often than once in 32 records: a flush for one page makes all other dirty pages writable too,
  // and a usable cache has at least 32 frames.
  static constexpr uint64_t kRecordsPerGroup = 32;
  // If a half of the buffer is sealed because the next record does not fit, both together are at
  // least 64 blocks. A sixteenth of their bytes pays for both groups.
  static constexpr uint64_t kShareOfBytes = 16;

  const bool is_shared_;
  const uint64_t overhead_;
  const uint64_t share_;  // part of RecordSpace: bytes that a record pays for its group
};

}  // namespace latchkey
