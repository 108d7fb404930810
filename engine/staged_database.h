// A database that a restore or a salvage makes: it gets its name only when it is whole.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <memory>
#include <optional>
#include <string>

#include "storage/device/file_open.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// The database grows in PATH.SUFFIX/db, which gets the name PATH at the end. A lock file beside db
/// tells what a killed process left from what a process that runs is making. Not thread-safe.
class StagedDatabase {
 public:
  /// Removes what is left of an earlier one. `suffix`: "restoring"; `maker`: "a restore"; `source`:
  /// the directory that it reads.
  ///   AlreadyExists       `path` is there and not an empty directory, or PATH.SUFFIX holds files
  ///                       of others
  ///   FailedPrecondition  `path` is a mount point, or a link to nothing
  ///   InvalidArgument     `source` lies in PATH.SUFFIX
  static absl::StatusOr<std::unique_ptr<StagedDatabase>> Make(Runtime& runtime,
                                                              const std::string& path,
                                                              const std::string& suffix,
                                                              const std::string& maker,
                                                              const std::string& source);
  /// Removes PATH.SUFFIX with all that is in it.
  ~StagedDatabase();
  StagedDatabase(const StagedDatabase&) = delete;
  StagedDatabase& operator=(const StagedDatabase&) = delete;

  /// The directory to make the database in.
  std::string directory() const { return root_ + "/db"; }
  /// Gives the database its name, durably. REQUIRES: it is closed.
  absl::Status Publish();

 private:
  StagedDatabase(std::string path, const std::string& suffix);

  std::string path_, root_;
  bool owns_ = false;
  std::optional<OpenFile> lock_;
};

}  // namespace latchkey
