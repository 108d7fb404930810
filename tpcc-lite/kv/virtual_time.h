// Latchkey in virtual time: a database on simulated disks under a SimulatedRuntime. Only this file
// of tpcc-lite opens a database otherwise than by the engine's public header.
//
// Virtual time passes in the disks, as their model says, and for KvOptions::cpu_per_operation in
// every operation of a session. The rest of the engine, page cleaners included, takes none. The
// data lies on the disks that the options name. Log and map journal each have a disk of the same
// kind of their own, so that they do not compete with the data (thesis 4.2.1: a disk for the log).
#pragma once

#include <absl/status/statusor.h>

#include <memory>

#include "storage/runtime/simulated_runtime.h"
#include "tpcc-lite/kv/kv_backend.h"

namespace latchkey {

/// Options for a runtime in which only devices and sleeps take time: equal seeds give equal histories.
SimulationOptions VirtualTimeOptions(uint64_t seed);

/// Opens an empty database on the simulated devices of `options`; its content is lost with it.
/// Every begin, get, put, insert, delete, scan, commit and rollback of its sessions first takes
/// options.cpu_per_operation. REQUIRES: options.device is simulated, and *options.runtime is a
/// SimulatedRuntime in its Run. Errors as Database::Open.
absl::StatusOr<std::unique_ptr<KvBackend>> OpenInVirtualTime(const KvOptions& options,
                                                             const Options& engine_options);

}  // namespace latchkey
