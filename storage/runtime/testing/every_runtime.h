// The runtimes that a conformance test runs on.
#pragma once

#include <catch2/catch.hpp>
#include <functional>
#include <vector>

#include "storage/runtime/simulated_runtime.h"

namespace latchkey {

/// Calls `body` with ThreadRuntime on the calling thread, then as the main actor of simulations:
/// one calm, several with interruptions everywhere, one with a single processor.
inline void OnEveryRuntime(const std::function<void(Runtime&)>& body) {
  {
    INFO("on threads");
    body(ThreadRuntime());
  }
  std::vector<SimulationOptions> simulations(6);
  for (size_t i = 0; i < simulations.size(); ++i) {
    SimulationOptions& options = simulations[i];
    options.seed = i;
    options.max_back_offs = UINT32_MAX;
    if (i > 0) options.preempt_probability = 0.1 * static_cast<double>(i);
    if (i > 2) options.quantum = 0;
    if (i == 4) options.processors = 1;
  }
  for (const SimulationOptions& options : simulations) {
    INFO("simulated, seed " << options.seed);
    SimulatedRuntime runtime(options);
    const absl::Status ran = runtime.Run([&] { body(runtime); });
    INFO(ran.message());
    CHECK(ran.ok());
  }
}

}  // namespace latchkey
