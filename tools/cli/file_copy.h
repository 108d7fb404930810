// Copies of database directories, for runs that shall begin from an identical load.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <atomic>
#include <cstdint>
#include <string>

namespace latchkey {

/// Bytes that the files below `path` occupy on disk.
absl::StatusOr<uint64_t> DiskUsage(const std::string& path);

/// Copies the files below the directory `from` to `to`, which must not exist. Extents are shared
/// where the file system can (reflink); otherwise data is copied and holes stay holes. The copy is
/// synced and out of the page cache when this returns, so that a run finds a quiet device.
/// ResourceExhausted, before anything is written, when the file system has too little space;
/// Cancelled when `stop` is set (then `to` is incomplete).
absl::Status CopyDirectory(const std::string& from, const std::string& to,
                           const std::atomic<bool>* stop = nullptr);

}  // namespace latchkey
