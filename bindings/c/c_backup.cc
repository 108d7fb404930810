// lk_backup, lk_list_backups, lk_check_backups, lk_backups_* and lk_restore_backup.
#include <string>
#include <utility>
#include <vector>

#include "bindings/c/c_border.h"

namespace latchkey::c {
namespace {

static_assert(LK_BACKUP_CHECKPOINT == static_cast<int>(BackupPhase::kCheckpoint) &&
              LK_BACKUP_PAGES == static_cast<int>(BackupPhase::kPages) &&
              LK_BACKUP_LOG == static_cast<int>(BackupPhase::kLog) &&
              LK_BACKUP_CHECK == static_cast<int>(BackupPhase::kCheck));

BackupProgressFn ProgressOf(lk_backup_progress_function function, void* context) {
  if (function == nullptr) return nullptr;
  return [function, context](const BackupProgress& progress) {
    const lk_backup_progress told = {static_cast<uint32_t>(sizeof told),
                                     static_cast<int32_t>(progress.phase), progress.done,
                                     progress.total, progress.bytes};
    return function(context, &told) == 0;
  };
}

lk_code WriteInfo(const BackupInfo& info, lk_backup_info* to, lk_error* error) {
  const lk_backup_info told = {
      0,          info.number,        info.id,    info.parent_id, info.database_id,
      info.pages, info.resumed_pages, info.bytes, info.log_bytes};
  return WriteStruct(told, "lk_backup_info", to, error);
}

lk_code KeepBackups(absl::StatusOr<std::vector<BackupInfo>> found, lk_backups* backups,
                    lk_error* error) {
  if (!found.ok()) return Fail(error, found.status());
  return MakeHandle(backup_lists, "backups", &backups->id, error, *std::move(found));
}

lk_code ReadRestoreOptions(const lk_restore_options* given, RestoreOptions* options,
                           lk_error* error) {
  lk_restore_options known = LK_RESTORE_OPTIONS_INIT;
  const lk_code read = ReadStruct(given, "lk_restore_options", &known, error);
  if (read != LK_OK) return read;
  options->number = known.number;
  options->verify = known.skip_verify == 0;
  options->progress = ProgressOf(known.progress, known.context);
  if (known.database.id == 0) return kOk;
  return With(option_sets, "options", known.database.id, error, [&](Options& found) {
    options->database = found;
    return kOk;
  });
}

}  // namespace
}  // namespace latchkey::c

using namespace latchkey;     // NOLINT: the functions below are C's, outside every namespace
using namespace latchkey::c;  // NOLINT

extern "C" {

lk_code lk_backup(lk_db db, const char* directory, const lk_backup_options* options,
                  lk_backup_info* info, lk_error* error) {
  return WithDatabase(db, error, [&](Database& database) {
    if (directory == nullptr) return FailNull(error, "directory");
    if (info != nullptr) {  // a wrong struct is refused before the work
      const lk_code fit = WriteInfo({}, info, error);
      if (fit != LK_OK) return fit;
    }
    lk_backup_options known = LK_BACKUP_OPTIONS_INIT;
    const lk_code read = ReadStruct(options, "lk_backup_options", &known, error);
    if (read != LK_OK) return read;
    const absl::StatusOr<BackupInfo> made =
        database.Backup(directory, {.incremental = known.incremental != 0,
                                    .max_bytes_per_second = known.max_bytes_per_second,
                                    .check = known.skip_check == 0,
                                    .progress = ProgressOf(known.progress, known.context)});
    if (!made.ok()) return Fail(error, made.status());
    return info == nullptr ? kOk : WriteInfo(*made, info, error);
  });
}

lk_code lk_list_backups(const char* directory, lk_backups* backups, lk_error* error) {
  if (backups == nullptr) return FailNull(error, "backups");
  backups->id = 0;
  if (directory == nullptr) return FailNull(error, "directory");
  return Guarded(error, [&] { return KeepBackups(ListBackups(directory), backups, error); });
}

lk_code lk_check_backups(const char* directory, const lk_backup_check_options* options,
                         lk_backups* backups, lk_error* error) {
  if (backups == nullptr) return FailNull(error, "backups");
  backups->id = 0;
  if (directory == nullptr) return FailNull(error, "directory");
  return Guarded(error, [&] {
    lk_backup_check_options known = LK_BACKUP_CHECK_OPTIONS_INIT;
    const lk_code read = ReadStruct(options, "lk_backup_check_options", &known, error);
    if (read != LK_OK) return read;
    return KeepBackups(
        CheckBackups(directory, {.number = known.number,
                                 .progress = ProgressOf(known.progress, known.context)}),
        backups, error);
  });
}

size_t lk_backups_count(lk_backups backups) {
  const std::vector<BackupInfo>* found = backup_lists.Find(backups.id);
  return found == nullptr ? 0 : found->size();
}

lk_code lk_backups_at(lk_backups backups, size_t index, lk_backup_info* info, lk_error* error) {
  if (info == nullptr) return FailNull(error, "info");
  return With(backup_lists, "backups", backups.id, error, [&](std::vector<BackupInfo>& found) {
    if (index >= found.size()) {
      return Fail(error, LK_NOT_FOUND, "no backup has this index: give less than lk_backups_count");
    }
    return WriteInfo(found[index], info, error);
  });
}

lk_code lk_backups_release(lk_backups backups, lk_error* error) {
  return Release(backup_lists, "backups", backups.id, error);
}

lk_code lk_restore_backup(const char* directory, const char* path,
                          const lk_restore_options* options, lk_error* error) {
  if (directory == nullptr) return FailNull(error, "directory");
  if (path == nullptr) return FailNull(error, "path");
  return Guarded(error, [&] {
    RestoreOptions restore;
    const lk_code read = ReadRestoreOptions(options, &restore, error);
    return read != LK_OK ? read : Report(error, RestoreBackup(directory, path, restore));
  });
}

}  // extern "C"
