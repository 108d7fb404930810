// Copies the log into a file of a backup, from the backup's first point on, while it is written.
// What is copied need not be kept by the database, so a long backup does not let the log grow.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>

#include "engine/backup/backup_file.h"
#include "engine/backup/page_file.h"
#include "engine/log/checkpointer.h"
#include "storage/wal/log.h"

namespace latchkey {

/// Not thread-safe.
class LogCopier {
 public:
  /// Begins at `from`, from where `checkpointer` holds the log.
  static absl::StatusOr<std::unique_ptr<LogCopier>> Create(Runtime& runtime,
                                                           const std::string& path,
                                                           const BackupFileHeader& header, Log& log,
                                                           Checkpointer& checkpointer, Lsn from);
  /// Copies the groups that are durable now.
  absl::Status CopyDurable();
  /// The end of what is copied, between two groups.
  Lsn position() const { return Lsn{position_}; }
  /// The file is durable on return.
  absl::Status Finish() { return file_->Finish(); }
  uint64_t bytes() const { return file_->bytes(); }
  /// REQUIRES: Finish.
  BackupManifest::File Describe(std::string name) const {
    return {std::move(name), file_->bytes(), file_->hash()};
  }

 private:
  LogCopier(std::unique_ptr<BackupFileWriter> file, Log& log, Checkpointer& checkpointer, Lsn from)
      : file_(std::move(file)),
        log_(log),
        checkpointer_(checkpointer),
        buffer_(kBackupPieceBytes),
        position_(Raw(from)),
        kept_from_(Raw(from)) {}

  const std::unique_ptr<BackupFileWriter> file_;
  Log& log_;
  Checkpointer& checkpointer_;
  AlignedBuffer buffer_;
  uint64_t position_;   // LSN
  uint64_t kept_from_;  // LSN from which the checkpointer keeps the log
};

}  // namespace latchkey
