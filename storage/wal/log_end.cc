#include "storage/wal/log_end.h"

#include <optional>

#include "storage/base/status_macros.h"
#include "storage/wal/log_reader.h"

namespace latchkey {
namespace {

// For a log that ends at `end->position` without a group of its own: epoch and start of the group
// that ends there.
absl::Status TakeEpochBefore(LogMedium& medium, LogEnd* end) {
  const uint64_t from = end->position;
  if (from == 0) return absl::OkStatus();
  LATCHKEY_ASSIGN_OR_RETURN(const std::optional<GroupHeader> before,
                            FindGroupBefore(medium, from - 1));
  if (!before || before->lsn + before->bytes != from) {
    return MakeStatus(
        absl::StatusCode::kDataLoss,
        "{}: no group begins or ends at position {}, where reading was to begin: it is "
        "damaged there or is an older copy; restore the database from a backup, or "
        "salvage it",
        medium.name, from);
  }
  end->last_group_start = before->lsn;
  end->epoch = before->epoch;
  return absl::OkStatus();
}

// Decides by the groups behind the end whether it is the end of the log or damage.
absl::Status CheckEnd(LogMedium& medium, const LogEnd& end, GroupScanner::Found why,
                      Lsn end_at_least) {
  std::optional<uint64_t> later;
  if (why == GroupScanner::Found::kGap) {
    later = end.position;
  } else {
    LATCHKEY_ASSIGN_OR_RETURN(later, FindLaterGroup(medium, end.position, end.epoch));
  }
  if (later) {
    return MakeStatus(absl::StatusCode::kDataLoss,
                      "{}: damaged at position {}: it goes on at position {}, so committed changes "
                      "would be lost; restore the database from a backup, or salvage it",
                      medium.name, end.position, *later);
  }
  if (end.position < Raw(end_at_least)) {
    return MakeStatus(
        absl::StatusCode::kDataLoss,
        "{}: ends at position {}, but the database has been at {}: it is damaged "
        "there or is an older copy; restore the database from a backup, or salvage it",
        medium.name, end.position, Raw(end_at_least));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LogEnd> FindLogEnd(LogMedium& medium, Lsn from, Lsn end_at_least) {
  const uint64_t begin = Raw(from);
  if (begin % medium.geometry.block_bytes != 0) {
    return InvalidArgument("{}: no group begins at position {}; give what group_start() told",
                           medium.name, begin);
  }
  LogEnd end{.starts = GroupStarts(GroupStartSpacing(medium.geometry))};
  GroupScanner scanner(medium, begin, UINT64_MAX);
  GroupScanner::Found found;
  while (true) {
    LATCHKEY_ASSIGN_OR_RETURN(found, scanner.Next());
    if (found != GroupScanner::Found::kGroup) break;
    end.last_group_start = scanner.header().lsn;
    end.starts.Add(end.last_group_start);
  }
  end.position = scanner.position();
  if (scanner.epoch()) {
    end.epoch = *scanner.epoch();
  } else {
    LATCHKEY_RETURN_IF_ERROR(TakeEpochBefore(medium, &end));
  }
  LATCHKEY_RETURN_IF_ERROR(CheckEnd(medium, end, found, end_at_least));
  return end;
}

}  // namespace latchkey
