// The verbs backup and restore, and verify of a backup.
#pragma once

#include <cstdint>
#include <string>

#include "tools/cli/db_open.h"

namespace latchkey {

struct BackupFlags {
  DatabaseFlags db;
  std::string directory;
  bool incremental = false;
  bool no_check = false;
  std::string max_mb_s;  ///< millions of bytes per second; empty: no limit
};
/// Backs the database up into the directory. Exit code 3: a page of it is damaged.
int BackupCommand(const BackupFlags& flags);

struct RestoreFlags {
  DatabaseFlags db;  ///< the new database
  std::string directory;
  std::string number = "0";  ///< of the backup; 0 = the newest
};
/// Exit code 3: the backup is damaged.
int RestoreCommand(const RestoreFlags& flags);

/// Whether `path` is a directory with files of a backup, and no database.
bool IsBackupDirectory(const std::string& path);
/// Reads and proves all backups in the directory. Exit code 3: damage.
int VerifyBackupCommand(const std::string& directory);

}  // namespace latchkey
