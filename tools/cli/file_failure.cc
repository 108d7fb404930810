#include "tools/cli/file_failure.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include "storage/base/status_macros.h"
#include "storage/device/file_errors.h"

namespace latchkey {
namespace {

std::string_view RemedyFor(int errnum) {
  switch (errnum) {
    case ENOENT:
    case ENOTDIR:
      return "check that the file and its folder exist";
    case EEXIST:
      return "remove it, or give another path";
    case EACCES:
    case EPERM:
    case EROFS:
      return "give a path that this user may read and write";
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return "free some space, or give a path on another file system";
    case EISDIR:
      return "give a file in place of this folder";
    case EMFILE:
    case ENFILE:
      return "allow more open files (ulimit -n)";
    default:
      return "check the path and its device, then try again";
  }
}

}  // namespace

absl::Status FileFailure(std::string_view action, std::string_view path, int errnum) {
  const absl::Status error = FileError(action, path, errnum);
  return MakeStatus(error.code(), "{}; {}", std::string(error.message()), RemedyFor(errnum));
}

absl::StatusOr<std::string> ReadWholeFile(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return FileFailure("read", path, EISDIR);
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  if (in.is_open() && !in.bad()) return text;
  return FileFailure("read", path, errno != 0 ? errno : EIO);
}

}  // namespace latchkey
