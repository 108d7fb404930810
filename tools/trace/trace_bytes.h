// The bytes of a trace's file, plain or compressed by zstd; the first bytes tell.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

#include <string>
#include <string_view>

namespace latchkey {

/// Calls `take` for one portion after another. The first portion has 8 bytes or more unless the
/// trace is shorter. Ends at the first error of `take` and returns it. `path` may be a pipe; "-" is
/// stdin. NotFound or another error of the system: the file cannot be read. Cancelled: the user
/// asked the program to stop. InvalidArgument: it cannot be decompressed; the message has the
/// position and the reason.
absl::Status ReadTraceBytes(const std::string& path,
                            absl::FunctionRef<absl::Status(std::string_view)> take);

}  // namespace latchkey
