// Named places at which a process kills itself with SIGKILL: just before the n-th system call of a
// kind on a file of a kind. Between them lies all that a killed process can leave in its files.
//
// The calls are caught by the linker (--wrap), so that the engine under test has no line for it.
//
//   POINT            BEFORE
//   data-write       a write of data.lk; of a batch that is submitted together, those in front of
//   it
//                    are on their way
//   log-write        the same of log.lk: group commit
//   map-write        the same of map.lk: the map journal
//   data-sync        a sync of data.lk (fsync, fdatasync); log-sync, map-sync: of the others
//   directory-sync   a sync of a directory: creation, and each open
//   grow             space for a file is allocated, or its size changed
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace latchkey {

struct KillPoint {
  std::string name;
  uint64_t at_call = 1;  ///< counted from 1, from when it is armed
};

/// The names above.
std::span<const char* const> KillPointNames();
/// From "NAME:N"; nullopt when that is no point.
std::optional<KillPoint> ParseKillPoint(std::string_view text);
std::string DescribeKillPoint(const KillPoint& point);

/// This process kills itself at `point`; it replaces the one before. REQUIRES: a name of the list.
void ArmKillPoint(const KillPoint& point);

}  // namespace latchkey
