// CheckBackups, ListBackups and RestoreBackup of the public interface.
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "engine/backup/backup_check.h"
#include "engine/backup/backup_directory.h"
#include "engine/database_impl.h"
#include "engine/folders.h"
#include "engine/latchkey.h"
#include "engine/open_store.h"
#include "engine/staged_database.h"
#include "storage/base/out_of_memory.h"
#include "storage/base/status_macros.h"
#include "storage/device/file_device.h"
#include "storage/device/file_errors.h"
#include "storage/wal/log_piece.h"

namespace latchkey {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<uint32_t> ChosenBackup(const BackupDirectory& directory, uint32_t number) {
  const auto newest = static_cast<uint32_t>(directory.finished().size());
  if (number <= newest) return number == 0 ? newest : number;
  return InvalidArgument(
      "there is no backup {} in the directory: give 1 to {}, or 0 for the newest", number, newest);
}

std::vector<BackupInfo> InfosOf(const BackupDirectory& directory, uint32_t count) {
  std::vector<BackupInfo> infos;
  for (uint32_t i = 0; i < count; ++i) infos.push_back(directory.finished()[i].Info());
  return infos;
}

class RestoreJob {
 public:
  RestoreJob(Runtime& runtime, const BackupDirectory& directory, uint32_t number,
             const RestoreOptions& options)
      : runtime_(runtime),
        directory_(directory),
        number_(number),
        backup_(directory.finished()[number - 1]),
        options_(options) {}

  absl::Status Run(const std::string& path) {
    LATCHKEY_ASSIGN_OR_RETURN(const uint64_t database_id, WritePages(path));
    LATCHKEY_RETURN_IF_ERROR(WriteLog(path, database_id));
    return Recover(path);
  }

 private:
  absl::Status GoOn() {
    if (!options_.progress || options_.progress(progress_)) return absl::OkStatus();
    return absl::CancelledError("the restore was interrupted: nothing was restored");
  }

  absl::StatusOr<uint64_t> WritePages(const std::string& path) {
    Options options = options_.database;
    options.durability = Durability::kNone;  // the files count once the restore is over
    options.torn_write_protection = TornWriteProtection::kDoublewrite;
    options.page_size = backup_.page_size;
    options.create_if_missing = true;
    LATCHKEY_ASSIGN_OR_RETURN(const ResolvedOptions resolved, ResolveOptions(options));
    DatabaseDevices devices;
    LATCHKEY_ASSIGN_OR_RETURN(
        devices.data,
        FileDevice::Open(runtime_, path + "/data.lk", {.creation = FileCreation::kMustBeNew}));
    LATCHKEY_ASSIGN_OR_RETURN(OpenedStore opened,
                              OpenStoreOver(runtime_, std::move(devices), resolved, nullptr));
    PageStore& store = *opened.store;
    progress_ = {.phase = BackupPhase::kPages, .total = TotalBytes()};
    {
      LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<PageWriter> writer, store.NewWriter(64));
      std::vector<bool> done(PageIds());
      // The newest image of each page counts.
      for (uint32_t backup = number_; backup >= 1; --backup) {
        const BackupManifest& manifest = directory_.finished()[backup - 1];
        for (auto file = static_cast<uint32_t>(manifest.page_files.size()); file >= 1; --file) {
          LATCHKEY_RETURN_IF_ERROR(WriteFile(manifest, file, store, *writer, done));
        }
      }
      LATCHKEY_RETURN_IF_ERROR(writer->Wait(0));
    }
    LATCHKEY_RETURN_IF_ERROR(store.Checkpoint(EncodeClientRoot(backup_.root), /*clean=*/true));
    return opened.database_id;
  }

  absl::Status WriteFile(const BackupManifest& manifest, uint32_t number, PageStore& store,
                         PageWriter& writer, std::vector<bool>& done) {
    LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<PageFileReader> file,
                              OpenPageFile(runtime_, directory_, manifest, number));
    for (const BackupPageEntry& entry : file->entries()) {
      if (entry.page >= done.size()) return WrongFile(manifest, number);
    }
    uint64_t hash = 0;
    const absl::Status written = file->ForEachImage(
        [&](const BackupPageEntry& entry, std::span<const std::byte> image) -> absl::Status {
          progress_.done += image.size();
          if (progress_.done % kBackupPieceBytes < image.size()) LATCHKEY_RETURN_IF_ERROR(GoOn());
          if (done[entry.page]) return absl::OkStatus();
          done[entry.page] = true;
          progress_.bytes += image.size();
          LATCHKEY_RETURN_IF_ERROR(store.AdoptPage(PageId{entry.page}));
          const PageWrite write{.id = PageId{entry.page}, .data = image.data()};
          size_t accepted = 0;
          return writer.Submit({&write, 1}, &accepted);
        },
        &hash);
    LATCHKEY_RETURN_IF_ERROR(written);
    if (hash != manifest.page_files[number - 1].hash) return WrongFile(manifest, number);
    for (const BackupPageEntry& gone : file->entries().subspan(file->images())) {
      done[gone.page] = true;
    }
    return absl::OkStatus();
  }

  absl::Status WrongFile(const BackupManifest& manifest, uint32_t number) const {
    return MakeStatus(absl::StatusCode::kDataLoss,
                      "{} is damaged: it is not what its manifest says; use an earlier backup",
                      directory_.PathOf(manifest.page_files[number - 1].name));
  }

  uint64_t TotalBytes() const {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < number_; ++i) {
      bytes += directory_.finished()[i].pages * backup_.page_size;
    }
    return bytes;
  }
  uint64_t PageIds() const {
    uint64_t ids = 0;
    for (uint32_t i = 0; i < number_; ++i) ids = std::max(ids, directory_.finished()[i].page_ids);
    return ids;
  }

  absl::Status WriteLog(const std::string& path, uint64_t database_id) {
    progress_ = {.phase = BackupPhase::kLog};
    LATCHKEY_RETURN_IF_ERROR(GoOn());
    LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<BackupLogReader> reader,
                              BackupLogReader::Open(runtime_, directory_, backup_));
    LATCHKEY_ASSIGN_OR_RETURN(
        std::unique_ptr<FileDevice> device,
        FileDevice::Open(runtime_, path + "/log.lk", {.creation = FileCreation::kMustBeNew}));
    LogOptions log;
    log.database_id = database_id;
    const auto read = [&](Lsn lsn, std::span<std::byte> out) { return reader->Read(lsn, out); };
    return ImportLog(runtime_, std::move(device), log,
                     {.database_id = backup_.database_id,
                      .shape = backup_.log_shape,
                      .from = backup_.root.scan_from,
                      .to = backup_.root.end,
                      .read = read});
  }

  // The copy is what a crash would have left; from here on it is a database that was closed.
  absl::Status Recover(const std::string& path) {
    progress_ = {.phase = BackupPhase::kCheck};
    LATCHKEY_RETURN_IF_ERROR(GoOn());
    Options options = options_.database;
    options.create_if_missing = false;
    options.error_if_exists = false;
    options.in_memory_device = false;
    options.page_size = 0;
    if (options.durability == Durability::kNone) options.durability = Durability::kCommit;
    LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<DatabaseImpl> database,
                              DatabaseImpl::Open(runtime_, path, options));
    const absl::Status sound = options_.verify ? database->Verify() : absl::OkStatus();
    const absl::Status closed = database->Close();
    return sound.ok() ? closed : sound;
  }

  Runtime& runtime_;
  const BackupDirectory& directory_;
  const uint32_t number_;
  const BackupManifest& backup_;
  const RestoreOptions& options_;
  BackupProgress progress_;
};

absl::Status Restore(const std::string& directory_path, const std::string& path,
                     const RestoreOptions& options) {
  Runtime& runtime = ThreadRuntime();
  if (LiesInFolder(path, directory_path) || LiesInFolder(directory_path, path)) {
    return InvalidArgument("{} and {} lie in each other: restore to another place", path,
                           directory_path);
  }
  LATCHKEY_ASSIGN_OR_RETURN(const BackupDirectory directory,
                            BackupDirectory::OpenToRead(runtime, directory_path));
  LATCHKEY_ASSIGN_OR_RETURN(const uint32_t number, ChosenBackup(directory, options.number));
  LATCHKEY_ASSIGN_OR_RETURN(
      const std::unique_ptr<StagedDatabase> staged,
      StagedDatabase::Make(runtime, path, "restoring", "a restore", directory_path));
  LATCHKEY_RETURN_IF_ERROR(
      RestoreJob(runtime, directory, number, options).Run(staged->directory()));
  return staged->Publish();
}

}  // namespace

absl::StatusOr<std::vector<BackupInfo>> CheckBackups(const std::string& path,
                                                     const BackupCheckOptions& options) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::vector<BackupInfo>> {
    Runtime& runtime = ThreadRuntime();
    LATCHKEY_ASSIGN_OR_RETURN(const BackupDirectory directory,
                              BackupDirectory::OpenToRead(runtime, path));
    LATCHKEY_ASSIGN_OR_RETURN(const uint32_t number, ChosenBackup(directory, options.number));
    BackupProgress progress{.phase = BackupPhase::kCheck};
    for (const BackupInfo& info : InfosOf(directory, number)) progress.total += info.bytes;
    for (uint32_t i = 0; i < number; ++i) {
      LATCHKEY_RETURN_IF_ERROR(CheckBackupFiles(
          runtime, directory, directory.finished()[i], [&](uint64_t bytes) -> absl::Status {
            progress.done = progress.bytes += bytes;
            if (!options.progress || options.progress(progress)) return absl::OkStatus();
            return absl::CancelledError("interrupted: nothing is proven; check again");
          }));
    }
    return InfosOf(directory, number);
  });
}

absl::StatusOr<std::vector<BackupInfo>> ListBackups(const std::string& path) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::vector<BackupInfo>> {
    LATCHKEY_ASSIGN_OR_RETURN(const BackupDirectory directory,
                              BackupDirectory::OpenToRead(ThreadRuntime(), path));
    return InfosOf(directory, static_cast<uint32_t>(directory.finished().size()));
  });
}

absl::Status RestoreBackup(const std::string& directory, const std::string& path,
                           const RestoreOptions& options) {
  return CatchOutOfMemory([&] { return Restore(directory, path, options); });
}

}  // namespace latchkey
