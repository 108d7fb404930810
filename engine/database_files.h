// The files of a database's directory: which there are, what their presence means, and how a new
// database gets its name in one step. An open that is refused leaves the directory as it was.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <memory>
#include <string>
#include <vector>

#include "storage/base/log_sink.h"
#include "storage/device/block_device.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

class DatabaseFiles {
 public:
  DatabaseFiles(Runtime& runtime, std::string path, LogSink log_sink)
      : runtime_(runtime), path_(std::move(path)), log_sink_(std::move(log_sink)) {}
  /// Without FinishOpening: takes away what this has created.
  ~DatabaseFiles();
  DatabaseFiles(const DatabaseFiles&) = delete;
  DatabaseFiles& operator=(const DatabaseFiles&) = delete;

  /// Looks at the directory, creates it if need be, and takes away what a creation that was cut
  /// short has left. AlreadyExists, NotFound: as the two options ask. FailedPrecondition: a log or
  /// journal lies there without the data that it belongs to.
  absl::Status Prepare(bool create_if_missing, bool error_if_exists);
  /// REQUIRES: Prepare.
  bool exists() const { return exists_; }
  bool has_log() const;
  bool has_journal() const;

  /// `staged`: under a name that FinishCreation replaces; else a new file is data.lk at once.
  absl::StatusOr<std::unique_ptr<BlockDevice>> OpenData(bool staged);
  absl::StatusOr<std::unique_ptr<BlockDevice>> OpenLog();
  absl::StatusOr<std::unique_ptr<BlockDevice>> OpenJournal();

  /// The open has succeeded: what was created stays, and the data.lk.new of a new database becomes
  /// data.lk, durably.
  absl::Status FinishOpening();

 private:
  std::string File(const char* name) const;
  absl::Status RefuseTinyData() const;
  absl::Status RemoveLeftovers();
  absl::Status SyncDirectory();
  absl::StatusOr<std::unique_ptr<BlockDevice>> OpenFile(const std::string& file, bool must_be_new);

  Runtime& runtime_;
  const std::string path_;
  const LogSink log_sink_;
  bool exists_ = false;
  std::vector<std::string> created_;  // in order; with the directory, if that is new
};

}  // namespace latchkey
