// The new database of a salvage, filled by batches.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/latchkey.h"

namespace latchkey {

/// Not thread-safe.
class SalvageOutput {
 public:
  explicit SalvageOutput(Database& db) : db_(db) {}

  /// Records go to this tree from now on.
  absl::Status Begin(const std::string& name);
  absl::Status Put(std::string_view key, std::string_view value);
  /// Whether or not it is there.
  absl::Status Remove(std::string_view key);
  /// Whether the key is there; then `value` is its value.
  absl::StatusOr<bool> Get(std::string_view key, std::string* value);
  /// Unless the key is there already. True when it was put.
  absl::StatusOr<bool> Add(std::string_view key, std::string_view value);
  /// Commits what is open.
  absl::Status Flush();

 private:
  absl::Status CountBytes(size_t bytes);

  Database& db_;
  Tree tree_;
  std::optional<Transaction> transaction_;
  size_t open_bytes_ = 0;
};

}  // namespace latchkey
