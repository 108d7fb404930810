// The verbs backup and restore, and verify of a backup.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "storage/base/status_macros.h"
#include "tools/cli/database_marks.h"
#include "tools/cli/db_backup.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/experiment.h"
#include "tools/cli/flag_values.h"
#include "tools/cli/signals.h"

namespace latchkey {
namespace {

BackupProgressFn ShowOn(Progress& progress) {
  return [&progress](const BackupProgress& now) {
    static constexpr const char* kPhases[] = {"checkpoint", "pages", "log", "reading it back"};
    std::string text = kPhases[static_cast<size_t>(now.phase)];
    if (now.total > 0) text += fmt::format(": {} %", now.done * 100 / now.total);
    progress.Show(fmt::format("{}, {} MiB", text, now.bytes / kMiB));
    return !StopRequested().load(std::memory_order_relaxed);
  };
}

std::string Describe(const BackupInfo& info) {
  return fmt::format("backup {} ({}): {} pages, {} bytes, {} of them of the log", info.number,
                     info.parent_id == 0 ? "full" : "incremental", info.pages, info.bytes,
                     info.log_bytes);
}

absl::Status Backup(const BackupFlags& flags) {
  Progress progress;
  BackupOptions options;
  options.incremental = flags.incremental;
  options.check = !flags.no_check;
  options.progress = ShowOn(progress);
  if (!flags.max_mb_s.empty()) {
    LATCHKEY_ASSIGN_OR_RETURN(const uint64_t rate,
                              ParseCount("max-mb-s", flags.max_mb_s, 1, UINT64_MAX / kBytesPerMb));
    options.max_bytes_per_second = rate * kBytesPerMb;
  }
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<Database> db,
                            OpenDatabase(flags.db, DatabaseUse::kWrite, progress));
  const auto run = [&]() -> absl::Status {
    LATCHKEY_ASSIGN_OR_RETURN(const BackupInfo info, db->Backup(flags.directory, options));
    progress.Clear();
    spdlog::info("{}", Describe(info));
    return absl::OkStatus();
  };
  return CloseAfter(*db, AboutDatabase(flags.db.path, run()));
}

absl::Status RefuseDatabase(const std::string& directory, absl::Status status) {
  if (!absl::IsNotFound(status) || !FindMarks(directory).ours) return status;
  return InvalidArgument("{} is a database: give the directory of its backups", directory);
}

absl::Status Restore(const RestoreFlags& flags) {
  Progress progress;
  RestoreOptions options;
  LATCHKEY_ASSIGN_OR_RETURN(const uint64_t number,
                            ParseCount("number", flags.number, 0, UINT32_MAX));
  options.number = static_cast<uint32_t>(number);
  options.progress = ShowOn(progress);
  LATCHKEY_ASSIGN_OR_RETURN(options.database, DatabaseOptions(flags.db, progress));
  LATCHKEY_RETURN_IF_ERROR(RefuseFile(
      flags.directory, "a directory of backups",
      RefuseDatabase(
          flags.directory,
          WithPath(flags.directory, RestoreBackup(flags.directory, flags.db.path, options)))));
  progress.Clear();
  spdlog::info("restored and verified: {}", flags.db.path);
  return absl::OkStatus();
}

absl::Status VerifyBackup(const std::string& directory) {
  Progress progress;
  BackupCheckOptions options;
  options.progress = ShowOn(progress);
  const absl::StatusOr<std::vector<BackupInfo>> backups = CheckBackups(directory, options);
  if (!backups.ok()) return WithPath(directory, backups.status());
  progress.Clear();
  std::string text;
  for (const BackupInfo& info : *backups) text += Describe(info) + '\n';
  text +=
      "proven: every file's checksum, every page, every group of the log, the order of the "
      "backups\nsound\n";
  std::fputs(text.c_str(), stdout);
  return absl::OkStatus();
}

}  // namespace

int BackupCommand(const BackupFlags& flags) { return Finish(Backup(flags)); }
int RestoreCommand(const RestoreFlags& flags) { return Finish(Restore(flags)); }

bool IsBackupDirectory(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::exists(fs::path(path) / "data.lk", error)) return false;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".lkb") return true;
  }
  return false;
}

int VerifyBackupCommand(const std::string& directory) { return Finish(VerifyBackup(directory)); }

}  // namespace latchkey
