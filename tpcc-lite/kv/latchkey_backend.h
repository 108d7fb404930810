// Latchkey behind the KvBackend interface: one named tree per table.
#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <string>
#include <vector>

#include "tpcc-lite/kv/kv_backend.h"

namespace latchkey {

/// Snapshot isolation. Files are persistent; every other device is empty at first. Errors as
/// Database::Open.
absl::StatusOr<std::unique_ptr<KvBackend>> OpenLatchkeyBackend(const KvOptions& options);

/// A backend over an open database. Missing tables are created.
absl::StatusOr<std::unique_ptr<KvBackend>> NewLatchkeyBackend(
    std::unique_ptr<Database> database, const std::vector<std::string>& tables);

}  // namespace latchkey
