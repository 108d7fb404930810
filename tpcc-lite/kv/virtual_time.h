// Latchkey in virtual time: a database on simulated disks under a SimulatedRuntime. The one place
// of tpcc-lite that reaches below the engine's public header.
//
// What takes time there: the disks, as their model says, and KvOptions::cpu_per_operation for every
// operation of a session. Everything else of the engine, its cleaners included, takes none. The
// data lies on the disks that the options name; log and map journal each have one disk of the same
// kind to themselves, so that they do not compete with the data (thesis 4.2.1: a disk for the log).
#pragma once

#include <absl/status/statusor.h>

#include <memory>

#include "storage/runtime/simulated_runtime.h"
#include "tpcc-lite/kv/kv_backend.h"

namespace latchkey {

/// For the runtime that `options` are run on: same seed, same history.
SimulationOptions VirtualTimeOptions(const KvOptions& options);

/// An empty database on the simulated devices of `options`; its content goes with it. Every begin,
/// get, put, insert, delete, scan, commit and rollback of its sessions takes
/// options.cpu_per_operation first. REQUIRES: options.device is simulated and *options.runtime a
/// SimulatedRuntime in its Run. Errors as Database::Open.
absl::StatusOr<std::unique_ptr<KvBackend>> OpenInVirtualTime(const KvOptions& options,
                                                             const Options& engine_options);

}  // namespace latchkey
