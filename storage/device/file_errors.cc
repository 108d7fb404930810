#include "storage/device/file_errors.h"

#include <cerrno>
#include <cstring>

#include "storage/base/status_macros.h"

namespace latchkey {

std::string ErrnoText(int errnum) {
  const char* text = strerrordesc_np(errnum);
  const char* name = strerrorname_np(errnum);
  if (text == nullptr || name == nullptr) return fmt::format("error {}", errnum);
  return fmt::format("{} ({})", text, name);
}

absl::StatusCode ErrnoCode(int errnum) {
  switch (errnum) {
    case ENOENT:
    case ENOTDIR:
      return absl::StatusCode::kNotFound;
    case EEXIST:
      return absl::StatusCode::kAlreadyExists;
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::StatusCode::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return absl::StatusCode::kResourceExhausted;
    case EISDIR:
    case ETXTBSY:
      return absl::StatusCode::kFailedPrecondition;
    case EINVAL:
    case ENAMETOOLONG:
    case ELOOP:
      return absl::StatusCode::kInvalidArgument;
    default:
      return absl::StatusCode::kUnavailable;
  }
}

absl::Status FileError(std::string_view action, std::string_view path, int errnum) {
  return MakeStatus(ErrnoCode(errnum), "cannot {} \"{}\": {}", action, path, ErrnoText(errnum));
}

absl::Status FileError(std::string_view action, std::string_view path, uint64_t offset,
                       uint64_t length, int errnum) {
  return MakeStatus(ErrnoCode(errnum), "cannot {} {} bytes at offset {} of \"{}\": {}", action,
                    length, offset, path, ErrnoText(errnum));
}

absl::Status NoProgress(std::string_view verb, std::string_view path, uint64_t offset,
                        uint64_t length) {
  if (verb == "read") {
    return MakeStatus(absl::StatusCode::kUnavailable,
                      "cannot read {} bytes at offset {} of \"{}\": the file ends there: something "
                      "else has truncated it, or the device fails",
                      length, offset, path);
  }
  return MakeStatus(absl::StatusCode::kUnavailable,
                    "cannot {} {} bytes at offset {} of \"{}\": no progress and no error", verb,
                    length, offset, path);
}

absl::Status ReadOnlyFile(std::string_view path) {
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    "\"{}\" was opened read-only; open it for writing", path);
}

}  // namespace latchkey
