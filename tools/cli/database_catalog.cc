#include "tools/cli/database_catalog.h"

#include <filesystem>
#include <system_error>

#include "storage/base/status_macros.h"
#include "tools/cli/file_copy.h"
#include "tools/cli/file_failure.h"

namespace latchkey {
namespace {

namespace fs = std::filesystem;

absl::Status FromError(std::string_view what, const std::string& path, std::error_code error) {
  if (!error) return absl::OkStatus();
  return FileFailure(what, path, error.value());
}

bool IsDirectory(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

}  // namespace

bool DatabaseCatalog::HasLoad(const std::string& name) const { return IsDirectory(LoadPath(name)); }
bool DatabaseCatalog::HasRun(const std::string& name) const { return IsDirectory(RunPath(name)); }

absl::Status DatabaseCatalog::Remove(const std::string& path) const {
  std::error_code error;
  fs::remove_all(path, error);
  return FromError("remove", path, error);
}

absl::Status DatabaseCatalog::MakeFolder(const std::string& name) const {
  std::error_code error;
  fs::create_directories(root_ + "/" + name, error);
  return FromError("create", root_ + "/" + name, error);
}

absl::Status DatabaseCatalog::Prepare(
    const std::string& name, absl::FunctionRef<absl::Status(const std::string& path)> load) {
  if (HasLoad(name)) return absl::OkStatus();
  const std::string partial = LoadPath(name) + ".partial";
  LATCHKEY_RETURN_IF_ERROR(MakeFolder(name));
  LATCHKEY_RETURN_IF_ERROR(Remove(partial));
  if (absl::Status loaded = load(partial); !loaded.ok()) {
    Remove(partial).IgnoreError();
    if (!absl::IsCancelled(loaded)) return loaded;
    return absl::CancelledError(
        "interrupted while loading: the unfinished load was removed; run the command again");
  }
  std::error_code error;
  fs::rename(partial, LoadPath(name), error);
  return FromError("rename", partial, error);
}

absl::StatusOr<std::string> DatabaseCatalog::Restore(const std::string& name,
                                                     const std::atomic<bool>* stop) {
  const std::string partial = RunPath(name) + ".partial";
  LATCHKEY_RETURN_IF_ERROR(Remove(RunPath(name)));
  LATCHKEY_RETURN_IF_ERROR(Remove(partial));
  if (absl::Status copied = CopyDirectory(LoadPath(name), partial, stop); !copied.ok()) {
    Remove(partial).IgnoreError();
    return copied;
  }
  std::error_code error;
  fs::rename(partial, RunPath(name), error);
  LATCHKEY_RETURN_IF_ERROR(FromError("rename", partial, error));
  return RunPath(name);
}

absl::StatusOr<std::string> DatabaseCatalog::Empty(const std::string& name) {
  LATCHKEY_RETURN_IF_ERROR(MakeFolder(name));
  LATCHKEY_RETURN_IF_ERROR(Remove(RunPath(name)));
  return RunPath(name);
}

void DatabaseCatalog::DiscardRun(const std::string& name) { Remove(RunPath(name)).IgnoreError(); }

}  // namespace latchkey
