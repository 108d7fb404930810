#include "engine/staged_database.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "storage/base/status_macros.h"
#include "storage/device/file_errors.h"

namespace latchkey {

namespace fs = std::filesystem;

StagedDatabase::StagedDatabase(std::string path, const std::string& suffix)
    : path_(std::move(path)) {
  while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
  root_ = path_ + '.' + suffix;
}

absl::StatusOr<std::unique_ptr<StagedDatabase>> StagedDatabase::Make(Runtime& runtime,
                                                                     const std::string& path,
                                                                     const std::string& suffix,
                                                                     const std::string& maker) {
  std::error_code error;
  if (fs::exists(path, error) && (!fs::is_directory(path, error) || !fs::is_empty(path, error))) {
    return MakeStatus(absl::StatusCode::kAlreadyExists,
                      "{} is there and not an empty directory: name another one", path);
  }
  std::unique_ptr<StagedDatabase> staged(new StagedDatabase(path, suffix));
  const std::string lock = staged->root_ + "/lock.lkb";
  if (!fs::create_directory(staged->root_, error)) {
    if (error) return FileError("create the directory", staged->root_, error.value());
    if (!fs::is_empty(staged->root_, error) && !fs::exists(lock, error)) {
      return MakeStatus(absl::StatusCode::kAlreadyExists,
                        "{}, which {} needs for itself, holds something else: move it away",
                        staged->root_, maker);
    }
  }
  LATCHKEY_ASSIGN_OR_RETURN(staged->lock_, OpenDeviceFile(runtime, lock, {.direct_io = false}));
  staged->owns_ = true;
  fs::remove_all(staged->directory(), error);
  if (!fs::create_directory(staged->directory(), error)) {
    return FileError("create the directory", staged->directory(), error.value());
  }
  return staged;
}

StagedDatabase::~StagedDatabase() {
  std::error_code ignored;
  if (owns_) fs::remove_all(root_, ignored);
}

absl::Status StagedDatabase::Publish() {
  LATCHKEY_RETURN_IF_ERROR(SyncDirectory(directory()));
  LATCHKEY_RETURN_IF_ERROR(SyncDirectory(root_));
  std::error_code error;
  fs::rename(directory(), path_, error);
  if (error) return FileError("rename the finished database to", path_, error.value());
  return SyncDirectory((fs::path(path_) / "..").string());
}

}  // namespace latchkey
