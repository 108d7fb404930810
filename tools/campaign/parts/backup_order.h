// The order of system calls in which backups and restored databases get their names.
#pragma once

#include <absl/status/status.h>

namespace latchkey {

/// Makes a full and an incremental backup and restores them, in files. Internal: a manifest got its name
/// before every file of the backup and its name were durable, or a restored database before its files were.
absl::Status BackupsGetTheirNamesLast();

}  // namespace latchkey
