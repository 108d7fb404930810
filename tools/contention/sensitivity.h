// Which statements about a processor model turn when one of its costs is halved or doubled.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tools/contention/processor_model.h"

namespace latchkey {

/// A policy on so many processors. All models of an analysis have the same costs.
struct LabelledModel {
  std::string policy;
  ProcessorModelConfig config;
};

struct Statement {
  enum class Kind : uint8_t { kFaster, kHundredTimesFewerContentions };

  Kind kind;
  size_t subject, object;  ///< indexes of two models with as many processors
  uint32_t processors;
  bool holds;                           ///< with the costs as they are
  std::vector<std::string> depends_on;  ///< the costs that turn it, "transfer halved"

  /// "pgbat-pre is faster than pg2q".
  std::string Text(std::span<const LabelledModel> models) const;
};

/// Two statements for each pair of models with as many processors: which one makes more accesses in
/// a second, and whether the one with fewer contentions has a hundred times fewer. The second is
/// left out if neither has any. Runs every model twice for each cost, and calls `progress(share)`
/// before each run. Errors as RunProcessorModel. Cancelled: stopped by config.emulator.times.stop.
absl::StatusOr<std::vector<Statement>> AnalyseSensitivity(
    std::span<const LabelledModel> models, absl::FunctionRef<void(double share)> progress);

}  // namespace latchkey
