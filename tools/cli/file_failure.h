// Errors of the operating system on files, with what the user can do about them.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <string>
#include <string_view>

namespace latchkey {

/// `cannot ACTION "PATH": TEXT; REMEDY`, with the code of FileError. `path` may be "stdout".
absl::Status FileFailure(std::string_view action, std::string_view path, int errnum);

/// The bytes of the file `path`; "-" is stdin. Errors as StoppableFile; InvalidArgument: more than
/// 1 GiB.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path);

}  // namespace latchkey
