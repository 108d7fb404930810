#include "engine/database_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "storage/base/canary.h"
#include "storage/base/status_macros.h"
#include "storage/device/file_device.h"
#include "storage/device/file_errors.h"
#include "storage/device/file_open.h"
#include "storage/device/memory_device.h"

namespace latchkey {
namespace {

constexpr char kDataFile[] = "data.lk", kStagedFile[] = "data.lk.new";
constexpr char kLogFile[] = "log.lk", kJournalFile[] = "map.lk";
constexpr char kSpillFile[] = "spill.lk";

bool Exists(const std::string& file) {
  std::error_code error;
  return std::filesystem::exists(file, error);
}

absl::Status NoPath() {
  return InvalidArgument("the path of the database is empty: name a directory");
}

// Whether the data file exists. An error if this user may not look, or if the name is a link to a
// file that is missing.
absl::StatusOr<bool> FindDataFile(const std::string& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (std::filesystem::exists(status)) return true;
  if (status.type() != std::filesystem::file_type::not_found) {
    return FileError("look for the data file", file, error.value());
  }
  if (!std::filesystem::is_symlink(std::filesystem::symlink_status(file, error))) return false;
  return MakeStatus(
      absl::StatusCode::kFailedPrecondition,
      "{} is a link to a file that is not there: put that file back, or remove the link", file);
}

}  // namespace

std::string DatabaseFiles::File(const char* name) const {
  return (std::filesystem::path(path_) / name).string();
}

DatabaseFiles::~DatabaseFiles() {
  // Removes the other files first, then the mark of the unfinished creation, then the
  // directory.
  std::error_code error;
  const auto remove = [&](const std::string& file) { std::filesystem::remove(file, error); };
  for (const std::string& file : created_) {
    if (file != path_ && file != File(kStagedFile)) remove(file);
  }
  if (created_.size() > 1) SyncDirectory(path_).IgnoreError();
  for (const std::string& name : {File(kStagedFile), path_}) {
    if (std::ranges::find(created_, name) != created_.end()) remove(name);
  }
}

bool DatabaseFiles::has_log() const { return Exists(File(kLogFile)); }

bool DatabaseFiles::has_journal() const { return Exists(File(kJournalFile)); }

absl::Status DatabaseFiles::Prepare(bool create_if_missing, bool error_if_exists) {
  if (path_.empty()) return NoPath();
  LATCHKEY_ASSIGN_OR_RETURN(exists_, FindDataFile(File(kDataFile)));
  if (exists_ && error_if_exists) {
    return MakeStatus(absl::StatusCode::kAlreadyExists, "there is a database at {} already", path_);
  }
  if (exists_) return RefuseTinyData();
  if (!Exists(File(kStagedFile)) && (has_log() || has_journal())) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "{} has {} but no {}: put the data file back, or remove the directory", path_,
                      has_log() ? kLogFile : kJournalFile, kDataFile);
  }
  if (!create_if_missing) {
    return MakeStatus(absl::StatusCode::kNotFound, "there is no database at {}", path_);
  }
  std::error_code error;
  const bool is_there = std::filesystem::is_directory(path_, error);
  if (!is_there && !std::filesystem::create_directory(path_, error)) {
    return MakeStatus(absl::StatusCode::kInvalidArgument,
                      "the database directory {} cannot be created: {}", path_,
                      error ? error.message() : "a file of that name is in the way");
  }
  // The directory's own name must be durable before anything in the directory is acknowledged. If
  // the directory existed, a killed process may have created it. The sync may fail, because the
  // parent directory may be one that this process cannot open.
  if (is_there) {
    SyncDirectory(path_ + "/..").IgnoreError();
    return RemoveLeftovers();
  }
  created_.push_back(path_);
  if (LATCHKEY_CANARY("new-directory-not-synced")) return absl::OkStatus();
  return SyncDirectory(path_ + "/..");
}

absl::Status DatabaseFiles::PrepareForReading() {
  for_reading_ = true;
  if (path_.empty()) return NoPath();
  LATCHKEY_ASSIGN_OR_RETURN(exists_, FindDataFile(File(kDataFile)));
  if (exists_) return RefuseTinyData();
  return MakeStatus(absl::StatusCode::kNotFound, "there is no database at {}", path_);
}

// A device has whole blocks only. It would take such a file for an empty one and overwrite it. An
// empty file is a new database, but not beside a log: a creation names the data file last.
absl::Status DatabaseFiles::RefuseTinyData() const {
  constexpr uint64_t kLargestBlock = 4096;
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(File(kDataFile), error);
  const bool is_new = bytes == 0 && !has_log() && !has_journal();
  if (error || is_new || bytes >= kLargestBlock) return absl::OkStatus();  // the open tells
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    "{} has {} bytes and so is no data file, or what is left of one: name another "
                    "database, restore it from a backup, or remove the directory if nothing was "
                    "ever in it",
                    File(kDataFile), bytes);
}

absl::Status DatabaseFiles::RemoveLeftovers() {
  const std::string staged = File(kStagedFile);
  if (!Exists(staged)) return absl::OkStatus();
  // Fails if another process is creating the database at this moment.
  LATCHKEY_RETURN_IF_ERROR(OpenFile(staged, /*must_be_new=*/false).status());
  for (const char* name : {kLogFile, kJournalFile, kStagedFile}) {  // the mark goes last
    std::error_code error;
    if (name == kStagedFile) LATCHKEY_RETURN_IF_ERROR(SyncDirectory(path_));
    std::filesystem::remove(File(name), error);
    if (error) {
      return MakeStatus(absl::StatusCode::kFailedPrecondition,
                        "{} is left from a creation that was cut short and cannot be removed: {}",
                        File(name), error.message());
    }
  }
  return SyncDirectory(path_);
}

absl::StatusOr<std::unique_ptr<BlockDevice>> DatabaseFiles::OpenFile(const std::string& file,
                                                                     bool must_be_new, bool staged,
                                                                     bool lasting_name) {
  if (for_reading_) return OpenForReading(file, must_be_new);
  auto device = FileDevice::Open(
      runtime_, file,
      {.creation = must_be_new ? FileCreation::kMustBeNew : FileCreation::kMustExist,
       .lasting_name = lasting_name,
       .staged = staged,
       .name = file == File(kStagedFile) ? File(kDataFile) : "",
       .log_sink = log_sink_});
  if (must_be_new && device.ok()) created_.push_back(file);
  if (staged && device.ok()) {
    staged_.push_back(device->get());
    if (defers_syncs_) staged_.back()->DeferSyncs();
  }
  return device;
}

void DatabaseFiles::DeferSyncs() {
  defers_syncs_ = true;
  for (FileDevice* device : staged_) device->DeferSyncs();
}

// A file that is missing, and that the database need not have, is empty.
absl::StatusOr<std::unique_ptr<BlockDevice>> DatabaseFiles::OpenForReading(const std::string& file,
                                                                           bool is_missing) {
  if (is_missing) return MemoryDevice::Create(runtime_, {.name = file});
  return FileDevice::Open(
      runtime_, file,
      {.creation = FileCreation::kMustExist, .read_only = true, .log_sink = log_sink_});
}

absl::StatusOr<std::unique_ptr<BlockDevice>> DatabaseFiles::OpenData(bool staged) {
  if (exists_ || !staged) return OpenFile(File(kDataFile), !exists_);
  return OpenFile(File(kStagedFile), /*must_be_new=*/true, /*staged=*/true);
}

absl::StatusOr<std::unique_ptr<BlockDevice>> DatabaseFiles::OpenLog() {
  const bool is_new = !has_log();
  return OpenFile(File(kLogFile), is_new, /*staged=*/is_new && !exists_);
}

// If the log is missing, too, OpenLog follows and makes both names durable.
absl::StatusOr<std::unique_ptr<BlockDevice>> DatabaseFiles::OpenJournal() {
  const bool is_new = !has_journal();
  return OpenFile(File(kJournalFile), is_new, /*staged=*/is_new && !exists_,
                  /*lasting_name=*/has_log());
}

absl::StatusOr<std::unique_ptr<BlockDevice>> DatabaseFiles::OpenSpill() {
  const std::string file = File(kSpillFile);
  std::error_code error;
  std::filesystem::remove(file, error);  // if that fails, the open reports it
  auto device = FileDevice::Open(
      runtime_, file,
      {.creation = FileCreation::kMustBeNew, .lasting_name = false, .log_sink = log_sink_});
  if (device.ok()) std::filesystem::remove(file, error);
  return device;
}

absl::Status DatabaseFiles::FinishOpening() {
  const bool is_staged = std::ranges::find(created_, File(kStagedFile)) != created_.end();
  for (FileDevice* device : staged_) LATCHKEY_RETURN_IF_ERROR(device->Settle());
  staged_.clear();
  created_.clear();
  if (!is_staged) return absl::OkStatus();
  std::error_code error;
  std::filesystem::rename(File(kStagedFile), File(kDataFile), error);
  if (error) {
    return MakeStatus(absl::StatusCode::kUnavailable, "{} cannot be renamed to {}: {}",
                      File(kStagedFile), kDataFile, error.message());
  }
  if (LATCHKEY_CANARY("rename-not-synced")) return absl::OkStatus();
  return SyncDirectory(path_);
}

}  // namespace latchkey
