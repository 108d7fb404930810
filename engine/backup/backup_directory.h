// The directory of a series of backups: the full one, and the incremental ones that build on it.
//
//   backup-0001.lkb             manifest of backup 1; the backup counts once this file is there
//   backup-0001-pages-0001.lkb  its page files
//   backup-0001-log.lkb         the log from its first point to its end
//   begun.lkb                   mark of the backup that is being made; removed when that is finished
//   lock.lkb                    locked while one is being made
//
// Invariant: a file of a backup without a manifest is there only while begun.lkb names that backup.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/backup/backup_manifest.h"
#include "engine/backup/page_file.h"
#include "storage/device/file_open.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// Not thread-safe.
class BackupDirectory {
 public:
  /// Opens it to add a backup: creates it if it is missing, and locks it. AlreadyExists: it holds
  /// files of others. FailedPrecondition: another process is making a backup in it. DataLoss: a
  /// manifest is damaged or missing.
  static absl::StatusOr<BackupDirectory> OpenToWrite(Runtime& runtime, const std::string& path);
  /// NotFound: no finished backup. DataLoss: a manifest is damaged or missing.
  static absl::StatusOr<BackupDirectory> OpenToRead(Runtime& runtime, const std::string& path);

  /// The finished backups, oldest first: each the child of the one before.
  const std::vector<BackupManifest>& finished() const { return finished_; }
  /// The mark of the backup that was begun and not finished.
  const std::optional<BackupManifest>& begun() const { return begun_; }

  std::string PageFileName(uint32_t backup, uint32_t file) const;
  std::string LogFileName(uint32_t backup) const;
  std::string PathOf(const std::string& name) const;

  /// Removes what was begun: its mark goes last.
  absl::Status RemoveBegun();
  /// Removes the page files of `begun` behind the first `kept`, and its log.
  absl::Status RemoveFilesBehind(const BackupManifest& begun, uint32_t kept);
  /// Marks the backup as begun; durable on return.
  absl::Status Begin(const BackupManifest& begun);
  /// Gives the backup its manifest: it counts from now on, durably.
  absl::Status Publish(const BackupManifest& manifest);

 private:
  BackupDirectory(Runtime& runtime, std::string path) : runtime_(runtime), path_(std::move(path)) {}
  std::string ManifestName(uint32_t backup) const;
  absl::Status ReadManifests();
  absl::Status ReadBegun();
  /// DataLoss: there are files of the next backup, but neither its manifest nor its mark.
  absl::Status RefuseFilesWithoutManifest() const;
  absl::Status RefuseForeign() const;
  absl::Status Remove(const std::string& name) const;

  Runtime& runtime_;
  std::string path_;
  std::optional<OpenFile> lock_;
  std::vector<BackupManifest> finished_;
  std::optional<BackupManifest> begun_;
};

/// The header of a file of `backup`; `number`: counted from 1 for each kind.
BackupFileHeader HeaderOf(const BackupManifest& backup, BackupFileHeader::Kind kind,
                          uint32_t number);

/// Opens a page file of a backup. `file`: from 1.
absl::StatusOr<std::unique_ptr<PageFileReader>> OpenPageFile(Runtime& runtime,
                                                             const BackupDirectory& directory,
                                                             const BackupManifest& backup,
                                                             uint32_t file);

}  // namespace latchkey
