// The one row of `meta`, written: what tpcc_driver.h offers to read.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>

#include "tpcc-lite/kv/kv_backend.h"
#include "tpcc-lite/workload/tpcc_driver.h"

namespace latchkey {

absl::Status WriteTpccDescription(KvBackend& backend, const TpccDescription& description);

/// Counts a run: from then on the database is one that has been run over. Returns the run's number,
/// from 1; FailedPrecondition after 65,535 runs (HISTORY's keys have no room for more).
absl::StatusOr<uint16_t> BeginTpccRun(KvBackend& backend);

}  // namespace latchkey
