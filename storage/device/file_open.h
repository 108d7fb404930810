// Opening a file as a device: create or find, lock, take O_DIRECT if the file system lets us, and
// make durable what a crashed predecessor left. Nothing is written into the file.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <utility>

#include "storage/base/log_sink.h"
#include "storage/device/file_lock.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

enum class FileCreation {
  kMustExist,  ///< NotFound otherwise
  kIfMissing,
  kMustBeNew,  ///< AlreadyExists otherwise
};

struct FileDeviceOptions {
  FileCreation creation = FileCreation::kIfMissing;
  /// Writes and Resize are refused, Sync does nothing; several read-only devices may share a file.
  /// Needs kMustExist. Changes nothing, not even by syncing.
  bool read_only = false;
  /// False: through the page cache, without a warning (for experiments).
  bool direct_io = true;
  LogSink log_sink = nullptr;
};

/// Closes a file descriptor at the end. Move-only.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor();
  int get() const { return fd_; }

 private:
  int fd_;
};

struct OpenFile {
  FileLock lock;  // before fd: the table's entry goes after the descriptor that holds the flock
  FileDescriptor fd;
  bool created = false;
  bool direct_io = false;
  uint32_t logical_block = 512;  ///< bytes, a power of two
  uint64_t size_bytes = 0;       ///< rounded down to whole logical blocks
};

/// Errors as FileDevice::Open. One warning goes to the log sink when O_DIRECT was asked for and is
/// not to be had.
absl::StatusOr<OpenFile> OpenDeviceFile(Runtime& runtime, const std::string& path,
                                        const FileDeviceOptions& options);

}  // namespace latchkey
