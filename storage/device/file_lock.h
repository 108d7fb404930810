// FileLock: one writer per file in all processes, or several readers.
//
// It uses flock(2). An fcntl lock would vanish when the process closes *any* descriptor of the
// file. The kernel drops a flock with its last descriptor, so a killed process leaves no lock. A
// child of fork() has the descriptor, too, and would keep the lock. Therefore the process that took
// the lock unlocks it explicitly, and a child never does. A table of (device, inode, process)
// detects a second open within this process, under every path to the file. Nothing is written to
// the file or beside it.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "storage/runtime/runtime.h"

namespace latchkey {

/// Held from Acquire to destruction. Move-only. All actors may call Acquire at once.
class FileLock {
 public:
  enum class Mode { kShared, kExclusive };  ///< many readers, or one writer

  /// Locks the open file `fd` without waiting. FailedPrecondition when it is open elsewhere; the
  /// message names this process or the other one. `path` is for messages only.
  static absl::StatusOr<FileLock> Acquire(Runtime& runtime, int fd, const std::string& path,
                                          Mode mode);
  FileLock() = default;  ///< holds nothing
  FileLock(FileLock&& other) noexcept { *this = std::move(other); }
  FileLock& operator=(FileLock&& other) noexcept {
    std::swap(runtime_, other.runtime_);
    std::swap(fd_, other.fd_);
    std::swap(key_, other.key_);
    std::swap(mode_, other.mode_);
    return *this;
  }
  /// Gives the lock back. The owner closes the descriptor afterwards. In a child of the process
  /// that took the lock: nothing.
  ~FileLock();

 private:
  using Key = std::tuple<dev_t, ino_t, pid_t>;
  FileLock(Runtime& runtime, int fd, Key key, Mode mode)
      : runtime_(&runtime), fd_(fd), key_(key), mode_(mode) {}

  Runtime* runtime_ = nullptr;  // nullptr: holds nothing
  int fd_ = -1;                 // not owned
  Key key_;
  Mode mode_ = Mode::kShared;
};

/// The process that holds a flock on the file according to /proc/locks; nullopt when it is not
/// listed there (another pid namespace, or a file system with its own device numbers).
std::optional<pid_t> FlockHolder(dev_t device, ino_t inode);

}  // namespace latchkey
