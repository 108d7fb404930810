// From one combination of flags to what a run is given. Everything that can be refused is refused
// here, before anything is written.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>

#include "tools/cli/sweep.h"
#include "tpcc-lite/bench/kv_bench.h"
#include "tpcc-lite/report/measured_run.h"
#include "tpcc-lite/workload/tpcc_config.h"

namespace latchkey {

/// One combination, whatever it measures.
struct RunPlan {
  EngineSettings settings;
  std::string load_name;    ///< its directory below --db: equal for combinations that share a load
  uint64_t data_bytes = 0;  ///< keys and values of the load
  bool from_empty = false;  ///< there is no load: the run itself begins empty
};

/// One combination of `tpcc-lite`.
struct TpccPlan : RunPlan {
  TpccConfig config;
};

/// One combination of `bench`.
struct BenchPlan : RunPlan {
  KvBenchConfig config;
};

/// InvalidArgument naming the flag, the value, what is allowed.
absl::StatusOr<TpccPlan> PlanTpcc(const Combination& combination);
absl::StatusOr<BenchPlan> PlanBench(const Combination& combination);

/// What a load is opened with, whatever the run's cache: so that a load does not depend on it.
KvOptions LoadOptionsOf(const KvOptions& run, const std::string& path);

/// What --durability takes: the names of Durability's values.
const std::vector<std::string>& DurabilityNames();
absl::StatusOr<Durability> ParseDurability(const std::string& name);

/// "latchkey hylog u=0.8": how progress calls a combination.
std::string Label(const EngineSettings& settings);

}  // namespace latchkey
