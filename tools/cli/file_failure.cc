#include "tools/cli/file_failure.h"

#include <cerrno>
#include <string>

#include "storage/base/status_macros.h"
#include "storage/device/file_errors.h"
#include "tools/cli/stoppable_file.h"

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
  constexpr size_t kMostBytes = size_t{1} << 30, kPart = size_t{1} << 20;
  LATCHKEY_ASSIGN_OR_RETURN(StoppableFile file, StoppableFile::Open(path));
  std::string text;
  for (;;) {
    const size_t before = text.size();
    text.resize(before + kPart);
    LATCHKEY_ASSIGN_OR_RETURN(const size_t got, file.Read(text.data() + before, kPart));
    text.resize(before + got);
    if (got == 0) return text;
    if (text.size() > kMostBytes) {
      return InvalidArgument("{} has more than {} bytes: give a result file",
                             path == "-" ? "stdin" : path, kMostBytes);
    }
  }
}

}  // namespace latchkey
