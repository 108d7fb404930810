// RocksDB's statuses and slices as ours, and back.
#pragma once

#include <absl/status/status.h>
#include <absl/strings/string_view.h>
#include <rocksdb/slice.h>
#include <rocksdb/status.h>

#include <string>
#include <string_view>

namespace latchkey {

inline absl::string_view Abseil(const std::string& text) { return {text.data(), text.size()}; }
/// An empty view may have a null address, which RocksDB would pass to memcmp.
inline ROCKSDB_NAMESPACE::Slice ToSlice(std::string_view text) {
  return text.empty() ? ROCKSDB_NAMESPACE::Slice("", 0)
                      : ROCKSDB_NAMESPACE::Slice(text.data(), text.size());
}
inline std::string_view ToView(const ROCKSDB_NAMESPACE::Slice& slice) {
  return {slice.data(), slice.size()};
}

/// Maps conflicts, deadlocks and lock time-outs to one retryable error: Aborted.
inline absl::Status ToStatus(const ROCKSDB_NAMESPACE::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const std::string message = "rocksdb: " + status.ToString();
  if (status.IsNotFound()) return absl::NotFoundError(Abseil(message));
  if (status.IsBusy() || status.IsTryAgain() || status.IsTimedOut() || status.IsAborted()) {
    return absl::AbortedError(Abseil(message));
  }
  if (status.IsCorruption()) return absl::DataLossError(Abseil(message));
  if (status.IsNoSpace()) return absl::ResourceExhaustedError(Abseil(message));
  if (status.IsInvalidArgument()) return absl::InvalidArgumentError(Abseil(message));
  if (status.IsIOError()) return absl::UnavailableError(Abseil(message));
  return absl::InternalError(Abseil(message));
}

}  // namespace latchkey
