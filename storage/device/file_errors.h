// Errors of the operating system as Status, with the file, the place and the system's text.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace latchkey {

/// "No space left on device (ENOSPC)". Thread-safe, unlike strerror.
std::string ErrnoText(int errnum);

/// The status code of an errno: a full disk is ResourceExhausted, a failing device Unavailable, a
/// missing file NotFound, a forbidden one PermissionDenied.
absl::StatusCode ErrnoCode(int errnum);

/// `cannot ACTION "PATH": TEXT`.
absl::Status FileError(std::string_view action, std::string_view path, int errnum);

/// `cannot ACTION LENGTH bytes at offset OFFSET of "PATH": TEXT`.
absl::Status FileError(std::string_view action, std::string_view path, uint64_t offset,
                       uint64_t length, int errnum);

/// Unavailable: a transfer that the system ended without an error and without progress. For a read
/// the message says that the file is shorter than before. `verb` is "read" or "write".
absl::Status NoProgress(std::string_view verb, std::string_view path, uint64_t offset,
                        uint64_t length);

/// FailedPrecondition: a write to a file that was opened read-only.
absl::Status ReadOnlyFile(std::string_view path);

}  // namespace latchkey
