// The value flags of the experiment verbs: what exists, its default, its help.
#pragma once

#include <absl/status/statusor.h>

#include <map>
#include <span>
#include <string>
#include <vector>

#include "tools/cli/sweep.h"

namespace latchkey {

struct FlagSpec {
  std::string name;  ///< without dashes
  std::string default_value;
  std::string help;
};

/// Engines, techniques and devices: what every experiment can vary. The order is that of the sweep:
/// the engine changes slowest.
std::vector<FlagSpec> EngineFlags();
/// `tpcc-lite`: EngineFlags and the workload's own.
std::vector<FlagSpec> TpccFlags();
/// `bench`: EngineFlags and the workload's own.
std::vector<FlagSpec> BenchFlags();

/// Every flag of an experiment as it was written, list and all.
using FlagTexts = std::map<std::string, std::string>;

/// The combinations that the flags ask for, each resolved for its engine: what it has no dimension
/// for is absent (see KvTraits). InvalidArgument for an unknown engine, which lists the known.
absl::StatusOr<std::vector<Combination>> ExpandFlags(std::span<const FlagSpec> specs,
                                                     const FlagTexts& texts);

/// "latchkey, memory, rocksdb": the engines of this build.
std::string KnownEngines();

}  // namespace latchkey
