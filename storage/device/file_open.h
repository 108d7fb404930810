// Opening a file as a device: create or find it, lock it, use O_DIRECT if the file system allows
// it, and sync it, because a killed process may have left writes that are not durable. Nothing is
// written into the file.
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
  /// Writes and Resize are refused, and Sync does nothing. Several read-only devices may share a
  /// file. Requires kMustExist. Changes nothing, not even by a sync.
  bool read_only = false;
  /// False: use the page cache, without a warning (for experiments).
  bool direct_io = true;
  /// False: a power loss may take the name of a new file, until the caller syncs the directory.
  bool lasting_name = true;
  /// The file counts only after FileDevice::Settle: until then Resize does not sync.
  bool staged = false;
  /// What the device's messages call the file: the path that it will have; "" = the present one.
  std::string name = {};
  LogSink log_sink = nullptr;
};

/// Owns a file descriptor and closes it. Move-only.
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
  FileDescriptor fd;
  FileLock lock;  // after fd: the lock is given back through the open descriptor
  bool created = false;
  bool direct_io = false;
  uint32_t logical_block = 512;  ///< bytes, a power of two
  uint64_t size_bytes = 0;       ///< rounded down to whole logical blocks
};

/// Makes the names in `directory` durable, if the file system supports that. PermissionDenied,
/// Unavailable: the file system's reason.
absl::Status SyncDirectory(const std::string& directory);

/// Errors as FileDevice::Open. If O_DIRECT was asked for and the file system refuses it, one
/// warning goes to the log sink.
absl::StatusOr<OpenFile> OpenDeviceFile(Runtime& runtime, const std::string& path,
                                        const FileDeviceOptions& options);

}  // namespace latchkey
