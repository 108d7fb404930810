#include "engine/backup/backup_directory.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "storage/base/status_macros.h"
#include "storage/device/file_errors.h"

namespace latchkey {
namespace {

namespace fs = std::filesystem;

constexpr char kBegunFile[] = "begun.lkb", kLockFile[] = "lock.lkb";
constexpr size_t kMostManifestBytes = size_t{64} << 20;

bool IsOurs(const std::string& name) {
  return name == kBegunFile || name == kLockFile || name.ends_with(".lkb.new") ||
         (name.starts_with("backup-") && name.ends_with(".lkb"));
}

absl::StatusOr<std::vector<std::string>> NamesIn(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  if (error) return FileError("list", path, error.value());
  std::ranges::sort(names);
  return names;
}

absl::Status AboutFile(const std::string& path, const absl::Status& status) {
  return MakeStatus(status.code(), "{}: {}", path, std::string(status.message()));
}

}  // namespace

std::string BackupDirectory::PathOf(const std::string& name) const {
  return (fs::path(path_) / name).string();
}
std::string BackupDirectory::ManifestName(uint32_t backup) const {
  return fmt::format("backup-{:04}.lkb", backup);
}
std::string BackupDirectory::PageFileName(uint32_t backup, uint32_t file) const {
  return fmt::format("backup-{:04}-pages-{:04}.lkb", backup, file);
}
std::string BackupDirectory::LogFileName(uint32_t backup) const {
  return fmt::format("backup-{:04}-log.lkb", backup);
}

absl::StatusOr<BackupDirectory> BackupDirectory::OpenToWrite(Runtime& runtime,
                                                             const std::string& path) {
  BackupDirectory directory(runtime, path);
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    if (fs::exists(path, error)) {
      return InvalidArgument("{} is a file: name a directory for the backup", path);
    }
    if (!fs::create_directory(path, error)) {
      return FileError("create the directory", path, error.value());
    }
    LATCHKEY_RETURN_IF_ERROR(SyncDirectory(path + "/.."));
  }
  LATCHKEY_RETURN_IF_ERROR(directory.RefuseForeign());
  LATCHKEY_ASSIGN_OR_RETURN(
      directory.lock_, OpenDeviceFile(runtime, directory.PathOf(kLockFile), {.direct_io = false}));
  LATCHKEY_RETURN_IF_ERROR(directory.ReadManifests());
  LATCHKEY_RETURN_IF_ERROR(directory.ReadBegun());
  return directory;
}

absl::StatusOr<BackupDirectory> BackupDirectory::OpenToRead(Runtime& runtime,
                                                            const std::string& path) {
  BackupDirectory directory(runtime, path);
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    return MakeStatus(absl::StatusCode::kNotFound, "there is no directory {} with backups", path);
  }
  LATCHKEY_RETURN_IF_ERROR(directory.ReadManifests());
  LATCHKEY_RETURN_IF_ERROR(directory.RefuseFilesWithoutManifest());
  if (!directory.finished_.empty()) return directory;
  const bool begun = fs::exists(directory.PathOf(kBegunFile), error);
  return MakeStatus(absl::StatusCode::kNotFound, "there is no finished backup in {}{}", path,
                    begun ? ": the first one was not finished; run the backup again" : "");
}

absl::Status BackupDirectory::RefuseForeign() const {
  LATCHKEY_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(path_));
  for (const std::string& name : names) {
    if (IsOurs(name)) continue;
    return MakeStatus(absl::StatusCode::kAlreadyExists,
                      "{} is not empty, and \"{}\" in it is no part of a backup: name an empty "
                      "directory or a new one",
                      path_, name);
  }
  return absl::OkStatus();
}

absl::Status BackupDirectory::ReadManifests() {
  LATCHKEY_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(path_));
  for (uint32_t number = 1;; ++number) {
    const std::string path = PathOf(ManifestName(number));
    absl::StatusOr<std::string> text = ReadSmallFile(path, kMostManifestBytes);
    if (absl::IsNotFound(text.status())) break;
    if (!text.ok()) return text.status();
    absl::StatusOr<BackupManifest> manifest = DecodeManifest(*text, /*finished=*/true);
    if (!manifest.ok()) return AboutFile(path, manifest.status());
    const uint64_t parent = finished_.empty() ? 0 : finished_.back().id;
    if (manifest->number != number || manifest->parent_id != parent ||
        (number > 1 && manifest->database_id != finished_.front().database_id) ||
        (number > 1 && manifest->page_size != finished_.front().page_size)) {
      return MakeStatus(absl::StatusCode::kDataLoss,
                        "{} does not continue backup {} of this directory: put the files of one "
                        "series together",
                        path, number - 1);
    }
    finished_.push_back(*std::move(manifest));
  }
  // A manifest behind a gap: the backups from the gap on cannot be used.
  for (const std::string& name : names) {
    if (name.size() == ManifestName(1).size() && name.starts_with("backup-") &&
        name.ends_with(".lkb") && name > ManifestName(static_cast<uint32_t>(finished_.size()))) {
      return MakeStatus(absl::StatusCode::kDataLoss,
                        "{} is missing, but {} is there: put it back, or remove the backups behind",
                        PathOf(ManifestName(static_cast<uint32_t>(finished_.size()) + 1)), name);
    }
  }
  return absl::OkStatus();
}

absl::Status BackupDirectory::ReadBegun() {
  const std::string path = PathOf(kBegunFile);
  absl::StatusOr<std::string> text = ReadSmallFile(path, kMostManifestBytes);
  if (!text.ok() && !absl::IsNotFound(text.status())) return text.status();
  if (text.ok()) {
    absl::StatusOr<BackupManifest> begun = DecodeManifest(*text, /*finished=*/false);
    if (!begun.ok()) return AboutFile(path, begun.status());
    if (begun->number <= finished_.size()) return Remove(kBegunFile);  // it was finished
    begun_ = *std::move(begun);
  }
  return RefuseFilesWithoutManifest();
}

// A reader may meet a backup that is being made. Its mark comes before its files, and goes once the
// manifest is there or the files are gone. So the files are looked for first and once more between
// two looks for the mark: another backup may have begun.
absl::Status BackupDirectory::RefuseFilesWithoutManifest() const {
  LATCHKEY_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(path_));
  const auto next = static_cast<uint32_t>(finished_.size() + 1);
  const std::string prefix = fmt::format("backup-{:04}-", next);
  std::error_code error;
  for (const std::string& name : names) {
    if (!name.starts_with(prefix)) continue;
    const auto is_explained = [&] {
      return fs::exists(PathOf(kBegunFile), error) || fs::exists(PathOf(ManifestName(next)), error);
    };
    if (is_explained() || !fs::exists(PathOf(name), error) || is_explained()) continue;
    return MakeStatus(absl::StatusCode::kDataLoss,
                      "{} holds {} and not the manifest {} of that backup: put the manifest back, "
                      "or remove the files of that backup",
                      path_, name, ManifestName(next));
  }
  return absl::OkStatus();
}

absl::Status BackupDirectory::Remove(const std::string& name) const {
  std::error_code error;
  fs::remove(PathOf(name), error);
  return error ? FileError("remove", PathOf(name), error.value()) : absl::OkStatus();
}

absl::Status BackupDirectory::RemoveFilesBehind(const BackupManifest& begun, uint32_t kept) {
  LATCHKEY_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(path_));
  const std::string prefix = fmt::format("backup-{:04}-", begun.number);
  for (const std::string& name : names) {
    bool keep = !name.starts_with(prefix);
    for (uint32_t file = 1; file <= kept && !keep; ++file) {
      keep = name == PageFileName(begun.number, file);
    }
    if (!keep) LATCHKEY_RETURN_IF_ERROR(Remove(name));
  }
  return SyncDirectory(path_);
}

absl::Status BackupDirectory::RemoveBegun() {
  if (!begun_) return absl::OkStatus();
  LATCHKEY_RETURN_IF_ERROR(RemoveFilesBehind(*begun_, 0));
  LATCHKEY_RETURN_IF_ERROR(Remove(kBegunFile));
  begun_.reset();
  return SyncDirectory(path_);
}

absl::Status BackupDirectory::Begin(const BackupManifest& begun) {
  LATCHKEY_RETURN_IF_ERROR(
      ReplaceBackupFile(runtime_, PathOf(kBegunFile), EncodeManifest(begun, /*finished=*/false)));
  begun_ = begun;
  return absl::OkStatus();
}

absl::Status BackupDirectory::Publish(const BackupManifest& manifest) {
  // The names of its files, before the one that says that they are all there.
  LATCHKEY_RETURN_IF_ERROR(SyncDirectory(path_));
  LATCHKEY_RETURN_IF_ERROR(ReplaceBackupFile(runtime_, PathOf(ManifestName(manifest.number)),
                                             EncodeManifest(manifest, /*finished=*/true)));
  finished_.push_back(manifest);
  begun_.reset();
  Remove(kBegunFile).IgnoreError();  // the next backup removes it
  return absl::OkStatus();
}

BackupFileHeader HeaderOf(const BackupManifest& backup, BackupFileHeader::Kind kind,
                          uint32_t number) {
  return {.kind = kind,
          .backup_id = backup.id,
          .database_id = backup.database_id,
          .page_size = backup.page_size,
          .number = number};
}

absl::StatusOr<std::unique_ptr<PageFileReader>> OpenPageFile(Runtime& runtime,
                                                             const BackupDirectory& directory,
                                                             const BackupManifest& backup,
                                                             uint32_t file) {
  return PageFileReader::Open(runtime,
                              directory.PathOf(directory.PageFileName(backup.number, file)),
                              HeaderOf(backup, BackupFileHeader::Kind::kPages, file));
}

}  // namespace latchkey
