#include "engine/staged_database.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "engine/folders.h"
#include "storage/base/status_macros.h"
#include "storage/device/file_errors.h"

namespace latchkey {

namespace fs = std::filesystem;

namespace {

// The path that a rename can replace: links and "." are followed.
absl::StatusOr<std::string> ReplaceablePath(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    if (!fs::is_symlink(fs::symlink_status(path, error))) return path;
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "{} is a link to nothing: name a new directory", path);
  }
  if (!fs::is_directory(path, error) || !fs::is_empty(path, error)) {
    return MakeStatus(absl::StatusCode::kAlreadyExists,
                      "{} is there and not an empty directory: name another one", path);
  }
  const std::string real = fs::canonical(path, error).string();
  struct stat own = {}, parent = {};
  if (error || stat(real.c_str(), &own) != 0 || stat((real + "/..").c_str(), &parent) != 0) {
    return FileError("look at the directory", path, error ? error.value() : errno);
  }
  if (own.st_dev == parent.st_dev && own.st_ino != parent.st_ino) return real;
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    "{} is a mount point: name a new directory in it", path);
}

}  // namespace

StagedDatabase::StagedDatabase(std::string path, const std::string& suffix)
    : path_(std::move(path)) {
  while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
  root_ = path_ + '.' + suffix;
}

absl::StatusOr<std::unique_ptr<StagedDatabase>> StagedDatabase::Make(Runtime& runtime,
                                                                     const std::string& path,
                                                                     const std::string& suffix,
                                                                     const std::string& maker,
                                                                     const std::string& source) {
  std::error_code error;
  LATCHKEY_ASSIGN_OR_RETURN(const std::string replaced, ReplaceablePath(path));
  std::unique_ptr<StagedDatabase> staged(new StagedDatabase(replaced, suffix));
  if (LiesInFolder(source, staged->root_)) {
    return InvalidArgument("{} lies in {}, which {} would remove: move it away first", source,
                           staged->root_, maker);
  }
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
  if (error) return FileError("remove the directory", staged->directory(), error.value());
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
