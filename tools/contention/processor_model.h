// The model of a machine with P processors: the pool emulator, with the schemes' own classes, on a
// simulated runtime whose processors, locks and cache lines have costs.
//
// A processor serves one thread at a time, first come, first served. A hot word (lock, clock hand,
// top of a free list, page word) knows which processor wrote it last; another one waits for the
// transfer of its cache line, and the transfers of one word happen one after the other. What the model
// leaves out: reads of shared lines, reference bytes, the memory's bandwidth, different distances
// between processors.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>

#include "tools/contention/model_costs.h"
#include "tools/contention/pool_emulator.h"

namespace latchkey {

struct ProcessorModelConfig {
  /// Of the emulator: `times` and `costs` do not count, except for times.threads and times.stop.
  PoolEmulatorConfig emulator;
  uint32_t processors = 1;
  /// Accesses that the processors would make in the measured time if nothing was contended, at
  /// least; as many more again in the tenth of it before.
  uint64_t accesses = 1'000'000;
  ModelCosts costs = DefaultModelCosts();
};

struct ProcessorModelResult {
  PoolEmulatorResult emulated;          ///< in virtual time
  double accesses_per_wall_second = 0;  ///< of the simulation itself, with its warm-up
};

/// Errors as RunPoolEmulator. Internal: a deadlock of the policy. The same configuration gives the
/// same `emulated`.
absl::StatusOr<ProcessorModelResult> RunProcessorModel(const ProcessorModelConfig& config);

}  // namespace latchkey
