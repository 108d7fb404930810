// Runs one operation list on one database and on an ordered map.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <string>

#include "tools/campaign/model/model_configurations.h"
#include "tools/campaign/model/model_operations.h"

namespace latchkey {

struct ModelResult {
  /// Internal: the database and the map differ; other codes: an error of the database.
  absl::Status status;
  size_t failed_at = 0;  ///< the operation, when status is not OK
  uint64_t history = 0;  ///< hash of everything that the operations returned
  uint64_t operations = 0, reopens = 0, scanned = 0;
  uint64_t power_losses = 0;
  /// Commits undone by a power loss, as Durability::kGroup allows. The history is then that of
  /// another list.
  uint64_t lost_commits = 0;
};

/// `path`: place of the database. Nothing is there before the run or after it.
ModelResult RunModelList(const ModelList& list, const std::string& path,
                         const ModelConfiguration& configuration);

}  // namespace latchkey
