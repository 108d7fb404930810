// kill -9 on processes that back up a database while it is used, and on processes that restore it
// (README.md). Real threads, files and system calls.
//
// No check depends on time: a child that did no work is no failure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/runtime/runtime.h"
#include "tools/campaign/kills/kill_campaign.h"

namespace latchkey {

struct BackupKillOptions : KillRunOptions {
  BackupKillOptions() {
    threads = 2;
    max_run_ms = 120;
  }
};

struct BackupKillReport {
  uint64_t kills = 0;
  uint64_t in_restore = 0;  ///< of these, of a process that proved and restored backups
  uint64_t at_points = 0;   ///< by the child itself, at a named call
  uint64_t stores = 0;
  uint64_t sources_compared =
      0;                     ///< the used database, opened after a kill and compared as a whole
  uint64_t attempts = 0;     ///< calls of Backup
  uint64_t backups = 0;      ///< of these, calls that returned OK
  uint64_t resumed = 0;      ///< of these, with pages of an attempt that was killed
  uint64_t proven = 0;       ///< backups proven byte by byte
  uint64_t restored = 0;     ///< databases restored and compared as a whole
  uint64_t found_whole = 0;  ///< databases that a killed restore had just completed
  std::string wrong;  ///< the first mistake, with the flags that repeat its choices; empty: none
};

/// REQUIRES: this process has no other thread. Stops at the first mistake and keeps its files.
BackupKillReport RunBackupKills(Runtime& runtime, const BackupKillOptions& options);

/// The campaign `backup-kills`.
int RunBackupKillCampaign(const std::vector<std::string>& arguments);

}  // namespace latchkey
