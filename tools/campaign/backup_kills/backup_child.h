// The children of the campaign backup-kills: one backs up the store while its threads work, the other
// proves and restores the backups.
#pragma once

#include <absl/status/status.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "tools/campaign/kills/kill_child.h"

namespace latchkey {

/// Notes about a series of backups, in memory shared with the parent process.
struct BackupNotes {
  static constexpr uint32_t kMostBackups = 6;  ///< then the series is thrown away

  struct Backup {
    /// Newest transaction of each thread that was acknowledged before the attempt began.
    std::atomic<uint64_t> acknowledged[KillNotes::kMostThreads];
  };
  Backup backups[kMostBackups + 1];   ///< by number, from 1
  std::atomic<uint32_t> finished{0};  ///< the call for the backup of this number has returned OK

  // Counts over all series.
  std::atomic<uint64_t> attempts{0}, backups_made{0}, resumed{0};
  std::atomic<uint64_t> proven{0}, restored{0}, found_whole{0};

  /// A new series begins.
  void Reset();
};

/// KillLife::beside: adds backups to the series in `directory` until it has kMostBackups.
/// `dies_after_one`: the process kills itself when the call for a backup has returned OK.
absl::Status BackUpBeside(Database& db, const std::string& directory, uint32_t threads,
                          const KillNotes& kills, BackupNotes& notes, bool dies_after_one);

struct RestoreLife {
  std::string directory;  ///< of the backups
  std::string copy;       ///< path of the restored database
  uint64_t seed = 1;      ///< of the store's transactions
  uint64_t life_seed = 1;
  uint32_t threads = 1;
};
/// The body of a child. First compares what a restore that was killed has left at `copy`. Then proves all
/// backups, restores one of them, compares it, and removes it. Returns 0, or 1 after kFailed.
int RunRestoreLife(const RestoreLife& life, KillNotes& kills, BackupNotes& notes);

}  // namespace latchkey
