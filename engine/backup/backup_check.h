// The proof of a backup's files: size, checksum, every page, every group of the log.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

#include <cstdint>

#include "engine/backup/backup_directory.h"

namespace latchkey {

/// DataLoss names the file. `go_on(bytes)` is called as reading proceeds; its error ends the check.
absl::Status CheckBackupFiles(Runtime& runtime, const BackupDirectory& directory,
                              const BackupManifest& backup,
                              absl::FunctionRef<absl::Status(uint64_t bytes)> go_on);

/// Calls `visit(header, group)` for each group of the backup's log; see ForEachGroup and ImportLog.
class BackupLogReader {
 public:
  static absl::StatusOr<std::unique_ptr<BackupLogReader>> Open(Runtime& runtime,
                                                               const BackupDirectory& directory,
                                                               const BackupManifest& backup);
  /// As LogPiece::read.
  absl::Status Read(Lsn lsn, std::span<std::byte> out);

 private:
  BackupLogReader(std::unique_ptr<BackupFileReader> file, Lsn from)
      : file_(std::move(file)), from_(from), window_(kBackupPieceBytes) {}
  const std::unique_ptr<BackupFileReader> file_;
  const Lsn from_;
  AlignedBuffer window_;
  uint64_t begin_ = 0, end_ = 0;  // file offsets of the window
};

}  // namespace latchkey
