// Runs one operation list on one database, beside an ordered map.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <string>

#include "tools/campaign/model_configurations.h"
#include "tools/campaign/model_operations.h"

namespace latchkey {

struct ModelResult {
  /// Internal: the database did not do what the map did; other codes: the database's own error.
  absl::Status status;
  size_t failed_at = 0;  ///< the operation, when status is not OK
  uint64_t history = 0;  ///< hash of everything that the operations returned
  uint64_t operations = 0, reopens = 0, scanned = 0;
  uint64_t power_losses = 0;
  /// That a power loss took back, as Durability::kGroup allows: the history is then that of another
  /// list.
  uint64_t lost_commits = 0;
};

/// `path`: where the database goes; nothing is there before, and nothing is left behind.
ModelResult RunModelList(const ModelList& list, const std::string& path,
                         const ModelConfiguration& configuration);

}  // namespace latchkey
