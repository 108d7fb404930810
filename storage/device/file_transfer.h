// Complete synchronous transfers on a file descriptor.
#pragma once

#include <absl/status/status.h>
#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>

#include "storage/device/file_errors.h"

namespace latchkey {

/// A transfer, and its name in messages.
struct FileTransfer {
  const char* verb;  ///< "read" or "write"
  const std::string& path;
  uint64_t offset;
  uint64_t length;
  uint32_t logical_block;
};

/// Calls `once(offset, done, length) -> ssize_t` (pread or pwrite of the rest; errno set when
/// negative) until all bytes are moved. Continues after interruptions, and after short results from
/// the last whole block. No progress is an error. `*done` receives the number of bytes moved.
template <typename Once>
absl::Status TransferAll(const FileTransfer& transfer, uint64_t* done, Once&& once) {
  *done = 0;
  while (true) {
    const ssize_t moved =
        once(transfer.offset + *done, *done, static_cast<size_t>(transfer.length - *done));
    if (moved < 0 && errno == EINTR) continue;
    const uint64_t offset = transfer.offset + *done;
    const uint64_t left = transfer.length - *done;
    if (moved < 0) return FileError(transfer.verb, transfer.path, offset, left, errno);
    const uint64_t progress = static_cast<uint64_t>(moved) & ~uint64_t{transfer.logical_block - 1};
    if (progress == 0) return NoProgress(transfer.verb, transfer.path, offset, left);
    *done += progress;
    if (*done == transfer.length) return absl::OkStatus();
  }
}

}  // namespace latchkey
