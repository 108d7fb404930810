// Opening the database that a verb works on.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>

#include "engine/latchkey.h"
#include "tools/cli/progress.h"

namespace latchkey {

/// The flags of every verb that opens a database.
struct DatabaseFlags {
  std::string path;
  std::string cache_size = "256MiB";
  std::string page_size = "auto";  ///< of a database that is created
  std::string durability;          ///< empty: logged if it has a log
};

/// What the flags say; InvalidArgument names the flag.
absl::StatusOr<Options> DatabaseOptions(const DatabaseFlags& flags, Progress& progress);

/// Opens the database; its warnings become log lines. Errors as Database::Open says, with the path
/// in front.
absl::StatusOr<std::unique_ptr<Database>> OpenDatabase(const DatabaseFlags& flags, bool create,
                                                       Progress& progress);

/// The tree of that name. An empty name: the only tree of the database; InvalidArgument with the
/// names when there are several.
absl::StatusOr<Tree> PickTree(Database& db, const std::string& name, bool create);

/// Closes the database whatever `status` is, and returns the first error of the two.
absl::Status CloseAfter(Database& db, absl::Status status);

/// "/path/db: message", of the same code.
absl::Status WithPath(const std::string& path, const absl::Status& status);

}  // namespace latchkey
