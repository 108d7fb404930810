// Copies database directories, so that runs begin from identical loads.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <atomic>
#include <cstdint>
#include <string>

namespace latchkey {

/// Bytes that the files below `path` occupy on disk.
absl::StatusOr<uint64_t> DiskUsage(const std::string& path);

/// Copies the files below the directory `from` to `to`, which must not exist. If the file system
/// supports it, extents are shared (reflink); otherwise data is copied and holes stay holes. At the
/// return the copy is synced and dropped from the page cache, so that a run finds an idle device.
/// ResourceExhausted: the file system has too little space; nothing was written. Cancelled: `stop`
/// was set; `to` is incomplete.
absl::Status CopyDirectory(const std::string& from, const std::string& to,
                           const std::atomic<bool>* stop = nullptr);

}  // namespace latchkey
