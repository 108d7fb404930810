// From one combination of flags to the settings of a run. Everything that can be refused is refused
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

/// One combination of any workload.
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

/// InvalidArgument names the flag, the value and the allowed values.
absl::StatusOr<TpccPlan> PlanTpcc(const Combination& combination);
absl::StatusOr<BenchPlan> PlanBench(const Combination& combination);

/// Options for making a load. They do not depend on the run's cache, so neither does the load.
KvOptions LoadOptionsOf(const KvOptions& run, const std::string& path);

/// What --durability takes: a name of Durabilities().
absl::StatusOr<Durability> ParseDurability(const std::string& name);

/// What --segment-size takes: bytes, a multiple of the page size from 64 KiB to 64 MiB; 0 for "auto".
absl::StatusOr<uint32_t> ParseSegmentSize(const std::string& text, uint32_t page_size);

/// Name of a combination in progress messages: "latchkey hylog u=0.8".
std::string Label(const EngineSettings& settings);

}  // namespace latchkey
