// The end of a log: the first position where no sound group of the newest epoch follows. If a later
// group lies behind it, the position is not the end but damage (FORMAT.md, "What a reader
// accepts").
//
// Thread-safety: a pure function and a value.
#pragma once

#include <absl/status/statusor.h>

#include <algorithm>
#include <cstdint>

#include "storage/base/ids.h"
#include "storage/wal/log_format.h"
#include "storage/wal/log_medium.h"
#include "storage/wal/segment_table.h"

namespace latchkey {

/// Distance of the known starts of groups: small enough to find a group by a short scan, and large
/// enough that a GiB of log takes no more than some 16 thousand entries.
inline uint64_t GroupStartSpacing(const LogGeometry& geometry) {
  return std::min<uint64_t>(64u << 10, geometry.payload() / 8);
}

struct LogEnd {
  uint64_t position = 0;          ///< one past the last group
  uint64_t epoch = 0;             ///< of the last group; 0 = there is none
  uint64_t last_group_start = 0;  ///< of the last group
  GroupStarts starts;             ///< of the groups that were scanned
};

/// As Log::FindEnd. Changes nothing.
absl::StatusOr<LogEnd> FindLogEnd(LogMedium& medium, Lsn from, Lsn end_at_least);

}  // namespace latchkey
