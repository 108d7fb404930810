// A backend for tests: ordered maps in memory, one transaction at a time.
#pragma once

#include <absl/status/statusor.h>

#include <memory>

#include "tpcc-lite/kv/kv_backend.h"

namespace latchkey {

/// Serial: Begin waits until every other session's transaction is over, so one actor must not hold
/// two open transactions. Never ends in Aborted. Forgets everything at Close; ignores the path.
absl::StatusOr<std::unique_ptr<KvBackend>> OpenMemoryBackend(const KvOptions& options);

}  // namespace latchkey
