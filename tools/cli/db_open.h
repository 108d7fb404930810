// Opens the database of a verb.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

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

/// The options that the flags describe. InvalidArgument names the flag.
absl::StatusOr<Options> DatabaseOptions(const DatabaseFlags& flags, Progress& progress);

enum class DatabaseUse {
  kRead,    ///< Options::read_only: beside other readers, and nothing changes
  kWrite,   ///< of a database that is there
  kCreate,  ///< created if it is missing
};

/// Opens the database. Its warnings become log lines. Errors as Database::Open, with the path in
/// front.
absl::StatusOr<std::unique_ptr<Database>> OpenDatabase(const DatabaseFlags& flags, DatabaseUse use,
                                                       Progress& progress);

/// The tree with this name. An empty name: the only tree of the database. InvalidArgument with the
/// names: there are several trees.
absl::StatusOr<Tree> PickTree(Database& db, const std::string& name, bool create);

/// Closes the database, whether or not `status` is OK. Returns the first error of the two.
absl::Status CloseAfter(Database& db, absl::Status status);

/// "/path/db: message", with the same code.
absl::Status WithPath(const std::string& path, const absl::Status& status);
/// InvalidArgument in place of the error `status` if a file is at `path`, where `what` should be,
/// e.g. "the directory of a database".
absl::Status RefuseFile(const std::string& path, std::string_view what, absl::Status status);
/// WithPath, and the error tells a mistake of the user from damage (DatabaseMarks).
/// InvalidArgument: `path` is a file, or its data file is foreign.
/// DataLoss: `status` is, or the data file is damaged. The message also names salvage.
absl::Status AboutDatabase(const std::string& path, const absl::Status& status);

}  // namespace latchkey
