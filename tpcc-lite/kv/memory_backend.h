// A backend for tests: ordered maps in memory, one transaction at a time.
#pragma once

#include <absl/status/statusor.h>

#include <memory>

#include "tpcc-lite/kv/kv_backend.h"

namespace latchkey {

/// Serial: Begin waits until the transactions of all other sessions have ended, so one actor must
/// not hold two open transactions. Never returns Aborted. Loses its content at Close; ignores the
/// path.
absl::StatusOr<std::unique_ptr<KvBackend>> OpenMemoryBackend(const KvOptions& options);

}  // namespace latchkey
