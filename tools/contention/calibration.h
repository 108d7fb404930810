// Measures on this machine what the processor model charges (model_costs.h).
#pragma once

#include <absl/status/statusor.h>

#include <atomic>
#include <string>
#include <vector>

#include "tools/contention/access_pattern.h"
#include "tools/contention/model_costs.h"

namespace latchkey {

struct CalibrationConfig {
  std::vector<std::string> algorithms;  ///< names of ReplacementAlgorithms()
  AccessPatternChoice accesses;         ///< needs no trace
  uint64_t pages = 20'000;              ///< all in the pool, except to measure misses
  /// Each figure is the median of so many short measurements. Where two threads take turns, there are
  /// ten times as many, but none begins after .3 s. Of wake-ups there are four times as many.
  uint32_t repetitions = 50;
  const std::atomic<bool>* stop = nullptr;  ///< ends the calibration early; may be nullptr
};

/// Takes some seconds, and needs two processors that are otherwise idle. InvalidArgument: an
/// algorithm that a pool cannot run, or too few pages. Unavailable: the machine is too busy.
/// Cancelled: stopped.
absl::StatusOr<ModelCosts> Calibrate(const CalibrationConfig& config);

}  // namespace latchkey
