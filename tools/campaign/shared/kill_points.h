// Named places at which a process kills itself with SIGKILL: just before the n-th system call of
// one kind on one kind of file. Between two such calls the files do not change.
//
// The linker intercepts the calls (power/file_calls.cc), so the engine under test needs no code for
// it.
//
//   POINT            BEFORE
//   data-write       a write of data.lk; of a batch that is submitted together, those in front of
//                    it are on their way
//   log-write        the same of log.lk: group commit
//   map-write        the same of map.lk: the map journal
//   data-sync        a sync of data.lk (fsync, fdatasync); log-sync, map-sync: of the others
//   directory-sync   a sync of a directory: creation, and each open
//   grow             space for a file is allocated, or its size changed
//   backup-write     a write of a file of a backup (*.lkb, *.lkb.new); backup-sync: a sync of one
//   rename           a file or directory gets its last name: manifests, restored databases
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

/// The names in the table above, without those that only a backup or a restore reaches.
std::span<const char* const> KillPointNames();
/// All of them.
std::span<const char* const> BackupKillPointNames();
/// Parses "NAME:N"; nullopt: no such point.
std::optional<KillPoint> ParseKillPoint(std::string_view text);
std::string DescribeKillPoint(const KillPoint& point);

/// This process kills itself at `point`, which replaces the point before. REQUIRES: a name of the
/// list.
void ArmKillPoint(const KillPoint& point);

// Called by power/file_calls.cc before each system call.
[[noreturn]] void KillThisProcess();
/// Whether a write to the file is the call at which this process kills itself.
bool IsArmedWrite(int fd);
void DieAtWrite(int fd);
void DieAtSync(int fd);
void DieAtGrowth();
void DieAtRename();

}  // namespace latchkey
