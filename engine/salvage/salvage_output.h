// The new database of a salvage, filled in batches.
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

  /// Directs the following records to this tree.
  absl::Status Begin(const std::string& name);
  absl::Status Put(std::string_view key, std::string_view value);
  /// Removes the key if it is there.
  absl::Status Remove(std::string_view key);
  /// Returns whether the key is there. If it is, `value` gets its value.
  absl::StatusOr<bool> Get(std::string_view key, std::string* value);
  /// Adds the record unless the key is there already. Returns whether it did.
  absl::StatusOr<bool> Add(std::string_view key, std::string_view value);
  /// Commits the open batch.
  absl::Status Flush();

 private:
  absl::Status CountBytes(size_t bytes);

  Database& db_;
  Tree tree_;
  std::optional<Transaction> transaction_;
  size_t open_bytes_ = 0;
};

}  // namespace latchkey
