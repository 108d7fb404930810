// FileLock: one writer per file, in this process and among all.
//
// flock(2), not fcntl locks: those vanish when *any* descriptor of the file is closed in the
// process. The kernel drops a flock with its last descriptor, so a killed process leaves nothing
// behind. A table of (device, inode) beside it names a second open within this process, under every
// path that leads to the file. Nothing is written to the file or beside it.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>

#include "storage/runtime/runtime.h"

namespace latchkey {

/// Held from Acquire to destruction. Move-only; Acquire may be called from every actor at once.
class FileLock {
 public:
  enum class Mode { kShared, kExclusive };  ///< many readers, or one writer

  /// Locks the open file `fd` without waiting. FailedPrecondition when it is open elsewhere; the
  /// message says whether in this process or in which other. `path` is for messages only.
  static absl::StatusOr<FileLock> Acquire(Runtime& runtime, int fd, const std::string& path,
                                          Mode mode);
  FileLock() = default;  ///< holds nothing
  FileLock(FileLock&& other) noexcept { *this = std::move(other); }
  FileLock& operator=(FileLock&& other) noexcept {
    std::swap(runtime_, other.runtime_);
    std::swap(key_, other.key_);
    std::swap(mode_, other.mode_);
    return *this;
  }
  /// Forgets the table's entry. The flock itself goes when the owner closes the descriptor, which
  /// has to happen before.
  ~FileLock();

 private:
  using Key = std::pair<dev_t, ino_t>;
  FileLock(Runtime& runtime, Key key, Mode mode) : runtime_(&runtime), key_(key), mode_(mode) {}

  Runtime* runtime_ = nullptr;  // nullptr: holds nothing
  Key key_;
  Mode mode_ = Mode::kShared;
};

/// The process that holds a flock on the file, as /proc/locks tells; nullopt when it does not tell
/// (another pid namespace, or a file system with device numbers of its own).
std::optional<pid_t> FlockHolder(dev_t device, ino_t inode);

}  // namespace latchkey
