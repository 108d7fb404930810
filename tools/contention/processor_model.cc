#include "tools/contention/processor_model.h"

#include <algorithm>
#include <cmath>

#include "storage/base/status_macros.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey {
namespace {

Nanos Rounded(double nanoseconds) { return static_cast<Nanos>(std::llround(nanoseconds)); }

SimulationOptions MachineOf(const ProcessorModelConfig& config) {
  SimulationOptions machine;
  machine.seed = config.emulator.seed;
  machine.step_cost = 0;  // only what is charged takes time
  machine.quantum = 1;
  machine.processors = config.processors;
  machine.first_come_first_served = true;
  // With a processor for each thread only the actor that measures waits for one.
  const bool shared = config.emulator.times.threads > config.processors;
  machine.time_slice = shared ? 3 * kNanosPerMilli : 10 * kNanosPerMicro;
  machine.transfer_cost = Rounded(config.costs.transfer);
  machine.sleep_cost = Rounded(config.costs.sleep);
  machine.wake_cost = Rounded(config.costs.wake);
  machine.switch_cost = Rounded(config.costs.switching);
  machine.first_spin = std::max<Nanos>(1, Rounded(config.costs.spin));
  machine.max_back_offs = UINT32_MAX;
  machine.may_be_abandoned = true;
  return machine;
}

}  // namespace

absl::StatusOr<ProcessorModelResult> RunProcessorModel(const ProcessorModelConfig& config) {
  PoolEmulatorConfig emulator = config.emulator;
  emulator.costs = &config.costs;
  LATCHKEY_RETURN_IF_ERROR(CheckPoolEmulator(emulator));
  const double access = std::max(1.0, static_cast<double>(emulator.work) + config.costs.access);
  emulator.times.duration =
      static_cast<Nanos>(access * static_cast<double>(config.accesses) /
                         std::min(config.processors, emulator.times.threads)) +
      1;
  emulator.times.warmup = emulator.times.duration / 10;
  SimulatedRuntime machine(MachineOf(config));
  absl::StatusOr<PoolEmulatorResult> emulated = absl::InternalError("the model did not run");
  LATCHKEY_RETURN_IF_ERROR(machine.Run([&] { emulated = RunPoolEmulator(machine, emulator); }));
  LATCHKEY_RETURN_IF_ERROR(emulated.status());
  const double seconds =
      static_cast<double>(ThreadRuntime().Now() - emulated->filled_at) / kNanosPerSecond;
  const auto accesses = static_cast<double>(emulated->hits + emulated->misses);
  return ProcessorModelResult{.emulated = *emulated,
                              .accesses_per_wall_second = 1.1 * accesses / seconds};
}

}  // namespace latchkey
