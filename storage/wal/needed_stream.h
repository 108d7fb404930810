// NeededStream: which part of the stream the log must keep, and where groups begin in it.
//
// Invariant: the last durable group is kept. So the next open finds a group, and knows its epoch,
// even if the log ends directly behind it.
//
// Not thread-safe: the log's latch guards it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "storage/wal/log_end.h"
#include "storage/wal/log_format.h"
#include "storage/wal/segment_table.h"

namespace latchkey {

class NeededStream {
 public:
  explicit NeededStream(const LogGeometry& geometry)
      : geometry_(geometry), starts_(GroupStartSpacing(geometry)) {}

  /// The stream is needed from `from` on; a scan from there found `end`.
  void Set(uint64_t from, LogEnd end);
  /// Sets floor(), the oldest segment that is needed. Call it when writing begins.
  void SetFloor() { floor_ = geometry_.IndexOf(std::min(oldest_, last_group_start_)); }

  void AddGroup(uint64_t start) { starts_.Add(start); }
  /// As AddGroup; this start is remembered, so that the stream before it can be given up.
  void AddLandmark(uint64_t start) { starts_.AddSurely(start); }
  void SetLastDurableGroup(uint64_t start) { last_group_start_ = start; }
  /// The stream below `oldest_needed` is not needed any more. Returns by how many stream bytes
  /// floor() has moved on.
  uint64_t GiveUpBelow(uint64_t oldest_needed);

  /// The position where reading began, or the one that the last GiveUpBelow left.
  uint64_t oldest() const { return oldest_; }
  /// Index of the oldest segment that is needed.
  uint64_t floor() const { return floor_; }
  /// A start of a group at or shortly below `lsn`, which is below `end`; otherwise `end`.
  uint64_t GroupStart(uint64_t lsn, uint64_t end) const {
    return starts_.empty() || lsn >= end ? end : starts_.AtOrBelow(lsn);
  }

 private:
  const LogGeometry geometry_;
  uint64_t floor_ = 0;
  uint64_t oldest_ = 0;
  uint64_t last_group_start_ = 0;  // of the last durable group
  GroupStarts starts_;
};

}  // namespace latchkey
