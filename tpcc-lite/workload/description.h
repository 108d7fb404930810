// Writes the one row of `meta`. tpcc_driver.h reads it.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>

#include "tpcc-lite/kv/kv_backend.h"
#include "tpcc-lite/workload/tpcc_driver.h"

namespace latchkey {

absl::Status WriteTpccDescription(KvBackend& backend, const TpccDescription& description);

/// Counts a run: from then on the database is no longer as loaded. Returns the number of the run,
/// from 1. FailedPrecondition after 65,535 runs, the most that HISTORY's keys can hold.
absl::StatusOr<uint16_t> BeginTpccRun(KvBackend& backend);

}  // namespace latchkey
