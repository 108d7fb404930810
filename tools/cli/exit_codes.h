// The exit codes of the process: the one place that says what they mean.
#pragma once

#include <absl/status/status.h>

namespace latchkey {

enum ExitCode : int {
  kExitOk = 0,
  kExitFailure = 1,
  kExitUsage = 2,
  kExitInconsistent = 3,
  kExitInterrupted = 130,
};

/// For people: at the end of --help and of every manual page.
inline constexpr const char* kExitCodesText =
    "Exit codes:\n"
    "  0    done\n"
    "  1    it failed: a file, the device, space, a defect; get, del: no such key\n"
    "  2    wrong flags, or a file that is not what the verb reads; nothing was written\n"
    "  3    a consistency check failed, or the data of a database, backup or dump is damaged\n"
    "  130  interrupted by SIGINT or SIGTERM; partial results are written and marked";

/// The exit code of a command that ended with `status`.
inline ExitCode ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return kExitOk;
  if (absl::IsCancelled(status)) return kExitInterrupted;
  if (absl::IsDataLoss(status)) return kExitInconsistent;
  return absl::IsInvalidArgument(status) ? kExitUsage : kExitFailure;
}

}  // namespace latchkey
