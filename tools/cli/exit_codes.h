// The exit codes of the process.
#pragma once

#include <absl/status/status.h>

namespace latchkey {

enum ExitCode : int {
  kExitOk = 0,
  kExitFailure = 1,        ///< a run failed: device, disk space, a bug
  kExitUsage = 2,          ///< invalid flags: nothing was written
  kExitInconsistent = 3,   ///< a consistency check failed
  kExitInterrupted = 130,  ///< SIGINT or SIGTERM: partial results written and marked
};

/// The exit code of a command that ended with `status`.
inline ExitCode ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return kExitOk;
  if (absl::IsCancelled(status)) return kExitInterrupted;
  return absl::IsInvalidArgument(status) ? kExitUsage : kExitFailure;
}

}  // namespace latchkey
