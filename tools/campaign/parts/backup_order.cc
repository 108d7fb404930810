#include "tools/campaign/parts/backup_order.h"

#include <fmt/format.h>
#include <limits.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "engine/latchkey.h"
#include "storage/base/status_macros.h"
#include "storage/runtime/mutex.h"
#include "tools/campaign/power/file_calls.h"
#include "tools/campaign/shared/campaign_directory.h"

namespace latchkey {
namespace {

namespace fs = std::filesystem;

std::string PathOf(int fd) {
  char path[PATH_MAX];
  const ssize_t length = readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), path, sizeof(path));
  return {path, length > 0 ? static_cast<size_t>(length) : 0};
}

// Notes which files and names are not durable, and looks at them when a name is given.
class NameWatcher final : public FileCallWatcher {
 public:
  int Create(const char* path, absl::FunctionRef<int()> real) override {
    Note(&new_names_, fs::absolute(path));
    return real();
  }
  ssize_t Write(int fd, std::span<const std::byte>, uint64_t,
                absl::FunctionRef<ssize_t()> real) override {
    Note(&written_, PathOf(fd));
    return real();
  }
  int Submit(std::span<iocb* const> controls, absl::FunctionRef<int()> real) override {
    for (const iocb* control : controls) {
      if (control->aio_lio_opcode == IO_CMD_PWRITE) Note(&written_, PathOf(control->aio_fildes));
    }
    return real();
  }
  void Completed(std::span<const io_event>) override {}
  int Sync(int fd, absl::FunctionRef<int()> real) override {
    const std::string path = PathOf(fd);
    const int done = real();
    MutexLock lock(mutex_);
    written_.erase(path);
    std::erase_if(new_names_,
                  [&](const std::string& name) { return fs::path(name).parent_path() == path; });
    return done;
  }
  int Allocate(int fd, uint64_t, absl::FunctionRef<int()> real) override {
    Note(&written_, PathOf(fd));
    return real();
  }
  int Truncate(int fd, uint64_t, absl::FunctionRef<int()> real) override {
    Note(&written_, PathOf(fd));
    return real();
  }
  int Rename(const char* from, const char* to, absl::FunctionRef<int()> real) override {
    const fs::path old_name = fs::absolute(from), new_name = fs::absolute(to);
    // A manifest: all files of the directory. A database: all that is in it.
    const bool is_manifest = old_name.extension() == ".new";
    Look(is_manifest ? new_name.parent_path().string() : old_name.string(),
         is_manifest ? old_name.string() : "", new_name.string());
    return real();
  }
  int Remove(const char*, absl::FunctionRef<int()> real) override { return real(); }
  int MakeDirectory(const char* path, absl::FunctionRef<int()> real) override {
    Note(&new_names_, fs::absolute(path));
    return real();
  }

  absl::Status Result() {
    MutexLock lock(mutex_);
    if (!wrong_.empty()) return absl::InternalError(wrong_);
    return names_ >= 4 ? absl::OkStatus() : absl::InternalError("too few names were given");
  }

 private:
  void Note(std::set<std::string>* to, std::string path) {
    MutexLock lock(mutex_);
    to->insert(std::move(path));
  }

  // The name of `fresh` itself need not be durable: it goes. Locks hold nothing.
  void Look(const std::string& folder, const std::string& fresh, const std::string& name) {
    MutexLock lock(mutex_);
    ++names_;
    const auto matters = [&](const std::string& path) {
      return path.starts_with(folder + "/") && !path.ends_with("/lock.lkb") && fs::exists(path);
    };
    for (const std::string& path : written_) {
      if (matters(path)) wrong_ = name + " got its name while this was not synced: " + path;
    }
    for (const std::string& path : new_names_) {
      if (matters(path) && path != fresh) {
        wrong_ = name + " got its name while this name was not synced: " + path;
      }
    }
  }

  Mutex mutex_{ThreadRuntime()};
  std::set<std::string> written_, new_names_;  // guarded by mutex_, as is all below
  uint64_t names_ = 0;
  std::string wrong_;
};

absl::Status Fill(Database& db, const std::string& value) {
  LATCHKEY_ASSIGN_OR_RETURN(const Tree tree, db.OpenTree("tree"));
  WriteBatch batch;
  for (int i = 0; i < 500; ++i) batch.Put(tree, std::to_string(i), value);
  return db.Write(batch);
}

absl::Status BackUpAndRestore(const std::string& path) {
  Options options;
  options.cache_bytes = 4 << 20;
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<Database> db,
                            Database::Open(path + "/db", options));
  for (const bool incremental : {false, true}) {
    LATCHKEY_RETURN_IF_ERROR(Fill(*db, std::string(100, incremental ? 'i' : 'f')));
    BackupOptions backup;
    backup.incremental = incremental;
    LATCHKEY_RETURN_IF_ERROR(db->Backup(path + "/backups", backup).status());
    RestoreOptions restore;
    restore.database.cache_bytes = 4 << 20;
    LATCHKEY_RETURN_IF_ERROR(
        RestoreBackup(path + "/backups", path + (incremental ? "/copy2" : "/copy1"), restore));
  }
  return db->Close();
}

}  // namespace

absl::Status BackupsGetTheirNamesLast() {
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<CampaignDirectory> directory,
                            CampaignDirectory::Make(""));
  NameWatcher watcher;
  SetFileCallWatcher(&watcher);
  const absl::Status done = BackUpAndRestore(fs::absolute(directory->path()).string());
  SetFileCallWatcher(nullptr);
  LATCHKEY_RETURN_IF_ERROR(done);
  return watcher.Result();
}

}  // namespace latchkey
