#include "tools/cli/db_open.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "engine/memory_plan.h"
#include "storage/base/status_macros.h"
#include "storage/page_format.h"
#include "tools/cli/database_marks.h"
#include "tools/cli/experiment.h"
#include "tools/cli/flag_values.h"
#include "tools/cli/settings.h"

namespace latchkey {
namespace {

absl::StatusOr<uint32_t> ParsePageSize(const std::string& text) {
  if (text == "auto") return 0;
  return ParsePowerOfTwo("page-size", text, kMinPageSize, kMaxPageSize, ", or auto");
}

/// A verb adds no log to a database without one.
absl::StatusOr<Durability> DurabilityOf(const DatabaseFlags& flags) {
  if (!flags.durability.empty()) return ParseDurability(flags.durability);
  std::error_code error;
  const bool logged = std::filesystem::exists(std::filesystem::path(flags.path) / "log.lk", error);
  return logged ? Durability::kCommit : Durability::kNone;
}

}  // namespace

absl::StatusOr<Options> DatabaseOptions(const DatabaseFlags& flags, Progress& progress) {
  Options options;
  LATCHKEY_ASSIGN_OR_RETURN(options.cache_bytes,
                            ParseMemory("cache-size", flags.cache_size, kLeastCacheBytes));
  LATCHKEY_ASSIGN_OR_RETURN(options.page_size, ParsePageSize(flags.page_size));
  LATCHKEY_ASSIGN_OR_RETURN(options.durability, DurabilityOf(flags));
  options.log_sink = LogToStderr(progress);
  return options;
}

absl::StatusOr<std::unique_ptr<Database>> OpenDatabase(const DatabaseFlags& flags, DatabaseUse use,
                                                       Progress& progress) {
  LATCHKEY_ASSIGN_OR_RETURN(Options options, DatabaseOptions(flags, progress));
  options.create_if_missing = use == DatabaseUse::kCreate;
  options.read_only = use == DatabaseUse::kRead;
  absl::StatusOr<std::unique_ptr<Database>> db = Database::Open(flags.path, options);
  if (!db.ok()) return AboutDatabase(flags.path, db.status());
  return db;
}

absl::StatusOr<Tree> PickTree(Database& db, const std::string& name, bool create) {
  if (!name.empty()) return db.OpenTree(name, create);
  const std::vector<std::string> names = db.ListTrees();
  if (names.size() == 1) return db.OpenTree(names.front(), /*create=*/false);
  if (names.empty()) return InvalidArgument("the database has no tree: name one with --tree");
  return InvalidArgument("the database has several trees: give --tree, one of {}",
                         fmt::join(names, ", "));
}

absl::Status CloseAfter(Database& db, absl::Status status) {
  const absl::Status closed = db.Close();
  return status.ok() ? closed : status;
}

absl::Status WithPath(const std::string& path, const absl::Status& status) {
  if (status.ok()) return status;
  const std::string message(status.message());
  if (message.find(path) != std::string::npos) return status;
  return MakeStatus(status.code(), "{}: {}", path, message);
}

absl::Status RefuseFile(const std::string& path, std::string_view what, absl::Status status) {
  std::error_code error;
  const auto found = std::filesystem::status(path, error);
  if (status.ok() || !std::filesystem::exists(found) || std::filesystem::is_directory(found)) {
    return status;
  }
  return InvalidArgument("{} is a file: give {}", path, what);
}

absl::Status AboutDatabase(const std::string& path, const absl::Status& status) {
  const absl::Status named =
      RefuseFile(path, "the directory of a database", WithPath(path, status));
  const std::string message(named.message());
  const bool may_tell_more = absl::IsFailedPrecondition(named) || absl::IsNotFound(named);
  const DatabaseMarks marks = may_tell_more ? FindMarks(path) : DatabaseMarks{};
  if (marks.foreign()) {
    return InvalidArgument(
        "{}; give the directory of a database, or if this was one, save its records with latchkey "
        "salvage --without-proof {} OUT",
        message, path);
  }
  const bool is_damaged = absl::IsDataLoss(named) || marks.damaged();
  if (!is_damaged) return named;
  if (message.find(" salvage") != std::string::npos) return absl::DataLossError(message);
  return MakeStatus(absl::StatusCode::kDataLoss,
                    "{}; restore a backup, or save the intact records with latchkey salvage {} OUT",
                    message, path);
}

}  // namespace latchkey
