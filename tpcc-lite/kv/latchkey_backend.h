// Latchkey itself behind the KvBackend interface: one named tree per table.
#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <string>
#include <vector>

#include "tpcc-lite/kv/kv_backend.h"

namespace latchkey {

/// Snapshot isolation; persistent in files, empty at first on every other device. Errors as
/// Database::Open.
absl::StatusOr<std::unique_ptr<KvBackend>> OpenLatchkeyBackend(const KvOptions& options);

/// Over a database that is open already; the tables are created when missing.
absl::StatusOr<std::unique_ptr<KvBackend>> NewLatchkeyBackend(
    std::unique_ptr<Database> database, const std::vector<std::string>& tables);

}  // namespace latchkey
