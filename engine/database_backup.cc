// Backups of an open database.
#include "engine/backup/backup_job.h"
#include "engine/database_impl.h"
#include "engine/folders.h"
#include "storage/base/status_macros.h"

namespace latchkey {

absl::StatusOr<BackupInfo> DatabaseImpl::Backup(const std::string& directory,
                                                const BackupOptions& options,
                                                const BackupSizing& sizing) {
  if (engine_log_ == nullptr) {
    return absl::FailedPreconditionError(
        "a database that is open without a log (durability none) cannot be backed up while it is "
        "used: open it with durability commit or group, or dump it");
  }
  if (!path_.empty() && LiesInFolder(directory, path_)) {
    return InvalidArgument("the backup {} would lie in the database {}: name another directory",
                           directory, path_);
  }
  if (backup_runs_.exchange(true)) {
    return absl::FailedPreconditionError(
        "another backup of this database is being made: wait for its end");
  }
  struct End {
    ~End() { runs.store(false); }
    std::atomic<bool>& runs;
  } end{backup_runs_};
  const BackupSource source{.runtime = runtime_,
                            .store = *store_,
                            .log = *engine_log_,
                            .checkpointer = *checkpointer_,
                            .loads = *bulk_loads_,
                            .database_id = database_id_,
                            .sizing = sizing};
  return BackupJob(source, options).Run(directory);
}

}  // namespace latchkey
