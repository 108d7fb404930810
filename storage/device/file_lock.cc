#include "storage/device/file_lock.h"

#include <absl/container/flat_hash_map.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>

#include "storage/base/status_macros.h"
#include "storage/device/file_errors.h"
#include "storage/runtime/mutex.h"

namespace latchkey {
namespace {

constexpr int kWriter = -1;

// The files open in this process, each with its number of readers, or kWriter. After a fork the
// child has a copy of its parent's entries, which do not count for the child.
class OpenFiles {
 public:
  using Key = std::tuple<dev_t, ino_t, pid_t>;

  bool Add(Runtime& runtime, Key key, FileLock::Mode mode) {
    SpinLatchGuard guard(latch_, runtime);
    int& holders = holders_[key];
    const bool free = mode == FileLock::Mode::kExclusive ? holders == 0 : holders != kWriter;
    if (free) holders = mode == FileLock::Mode::kExclusive ? kWriter : holders + 1;
    return free;
  }
  void Remove(Runtime& runtime, Key key, FileLock::Mode mode) {
    SpinLatchGuard guard(latch_, runtime);
    const auto it = holders_.find(key);
    if (mode == FileLock::Mode::kExclusive || --it->second == 0) holders_.erase(it);
  }

 private:
  SpinLatch latch_;
  absl::flat_hash_map<Key, int> holders_;
};

OpenFiles& Table() {
  static OpenFiles* table = new OpenFiles;  // never destroyed: devices may outlive statics
  return *table;
}

absl::Status OpenElsewhere(const std::string& path, const std::string& where) {
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    "\"{}\" is open in {}; close it there first", path, where);
}

}  // namespace

std::optional<pid_t> FlockHolder(dev_t device, ino_t inode) {
  const std::unique_ptr<FILE, int (*)(FILE*)> locks(std::fopen("/proc/locks", "re"), std::fclose);
  if (locks == nullptr) return std::nullopt;
  char line[256];
  while (std::fgets(line, sizeof(line), locks.get()) != nullptr) {
    // "7: FLOCK  ADVISORY  WRITE 4711 fe:00:131077 0 EOF"; waiters have "->" after the number.
    int pid;
    unsigned int major_number, minor_number;
    unsigned long inode_number;
    if (std::sscanf(line, "%*d: FLOCK %*s %*s %d %x:%x:%lu", &pid, &major_number, &minor_number,
                    &inode_number) != 4) {
      continue;
    }
    if (inode_number == inode && makedev(major_number, minor_number) == device && pid > 0) {
      return pid;
    }
  }
  return std::nullopt;
}

absl::StatusOr<FileLock> FileLock::Acquire(Runtime& runtime, int fd, const std::string& path,
                                           Mode mode) {
  struct stat info;
  if (fstat(fd, &info) != 0) return FileError("examine", path, errno);
  const Key key(info.st_dev, info.st_ino, getpid());
  if (!Table().Add(runtime, key, mode)) return OpenElsewhere(path, "this process");
  FileLock lock(runtime, fd, key, mode);
  const int operation = mode == Mode::kExclusive ? LOCK_EX : LOCK_SH;
  int rc;
  do {
    rc = flock(fd, operation | LOCK_NB);
  } while (rc != 0 && errno == EINTR);
  if (rc == 0) return lock;
  if (errno != EWOULDBLOCK) return FileError("lock", path, errno);
  const auto holder = FlockHolder(info.st_dev, info.st_ino);
  return OpenElsewhere(path, holder ? fmt::format("process {}", *holder) : "another process");
}

FileLock::~FileLock() {
  // The flock belongs to the descriptor's open file, which a child of fork() shares.
  if (runtime_ == nullptr || std::get<pid_t>(key_) != getpid()) return;
  flock(fd_, LOCK_UN);
  Table().Remove(*runtime_, key_, mode_);
}

}  // namespace latchkey
