// The files of a database's directory: their names, the meaning of their presence, and how a new
// database gets its name in one step. A refused open leaves the directory as it was.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <memory>
#include <string>
#include <vector>

#include "storage/base/log_sink.h"
#include "storage/device/block_device.h"
#include "storage/device/file_device.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

class DatabaseFiles {
 public:
  DatabaseFiles(Runtime& runtime, std::string path, LogSink log_sink)
      : runtime_(runtime), path_(std::move(path)), log_sink_(std::move(log_sink)) {}
  /// Unless FinishOpening was called, removes the files that this object has created.
  ~DatabaseFiles();
  DatabaseFiles(const DatabaseFiles&) = delete;
  DatabaseFiles& operator=(const DatabaseFiles&) = delete;

  /// Looks at the directory, creates it if need be, and removes what an interrupted creation has
  /// left. AlreadyExists, NotFound: as the two options ask. FailedPrecondition: the directory holds
  /// a log or a journal without the data file that it belongs to, or the data file is a link to
  /// nothing or too small. InvalidArgument: the path is empty.
  absl::Status Prepare(bool create_if_missing, bool error_if_exists);
  /// For an open that changes nothing: the files are opened read-only. NotFound: there is no database.
  /// Other errors as Prepare.
  absl::Status PrepareForReading();
  /// REQUIRES: Prepare or PrepareForReading.
  bool exists() const { return exists_; }
  bool has_log() const;
  bool has_journal() const;

  /// `staged`: a new file gets a temporary name until FinishOpening; otherwise it is data.lk at
  /// once.
  absl::StatusOr<std::unique_ptr<BlockDevice>> OpenData(bool staged);
  absl::StatusOr<std::unique_ptr<BlockDevice>> OpenLog();
  /// REQUIRES: OpenLog follows before the journal is used.
  absl::StatusOr<std::unique_ptr<BlockDevice>> OpenJournal();
  /// An empty file without a name. It is gone when its device is destroyed or the process ends.
  /// Removes a named one that an earlier process has left.
  absl::StatusOr<std::unique_ptr<BlockDevice>> OpenSpill();

  /// The files of a new database with a log are staged: nothing counts before FinishOpening. From now
  /// on they need no syncs.
  void DeferSyncs();
  /// The open has succeeded: created files stay. Those of a new database become durable, then its
  /// data.lk.new durably becomes data.lk. REQUIRES: the devices of this object exist.
  absl::Status FinishOpening();

 private:
  std::string File(const char* name) const;
  absl::Status RefuseTinyData() const;
  absl::Status RemoveLeftovers();
  absl::StatusOr<std::unique_ptr<BlockDevice>> OpenFile(const std::string& file, bool must_be_new,
                                                        bool staged = false,
                                                        bool lasting_name = true);
  absl::StatusOr<std::unique_ptr<BlockDevice>> OpenForReading(const std::string& file,
                                                              bool is_missing);

  Runtime& runtime_;
  const std::string path_;
  const LogSink log_sink_;
  bool exists_ = false;
  bool for_reading_ = false;
  std::vector<std::string> created_;  // in order; the directory too if it is new
  std::vector<FileDevice*> staged_;
  bool defers_syncs_ = false;
};

}  // namespace latchkey
