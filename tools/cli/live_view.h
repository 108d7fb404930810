// LiveView: what a database has done in its last second, as lines for a terminal (--live, stat --watch).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/latchkey.h"
#include "tpcc-lite/workload/tpcc_result.h"

namespace latchkey {

/// The figures that are measured, by their names in Statistics.
using LiveFigures = std::map<std::string, double, std::less<>>;
LiveFigures FiguresOf(const Statistics& statistics);

struct LiveSample {
  double end_s = 0;    ///< since the first one began
  double seconds = 0;  ///< of the sample
  double rate = 0;     ///< per second
  std::optional<LatencySummary> latency_us;
  std::vector<std::pair<std::string, LatencySummary>> more_us = {};  ///< of these operations
};

/// From a sample of a workload's result, with the units that were completed in it.
template <typename Sample>
LiveSample LiveSampleOf(const Sample& sample, uint64_t completed) {
  return {.end_s = sample.end_s,
          .seconds = sample.seconds,
          .rate = sample.seconds > 0 ? static_cast<double>(completed) / sample.seconds : 0,
          .latency_us = sample.latency_us};
}

/// Turns samples into lines; knows nothing of terminals. Draws the last samples of the rate and of the 99th
/// percentile as bars, and, for engines that tell it, pool, space, device and log.
class LiveView {
 public:
  /// `title`: of the run; `unit`: of the rate, "transactions".
  LiveView(std::string title, std::string unit)
      : title_(std::move(title)), unit_(std::move(unit)) {}

  /// The lines from this sample on, none longer than `columns`. `figures`: at the end of the sample; empty: the
  /// engine has none.
  std::vector<std::string> Add(const LiveSample& sample, LiveFigures figures, size_t columns);

 private:
  const std::string title_, unit_;
  std::deque<double> rates_, p99s_;  // the newest last
  LiveFigures before_;
};

/// The newest `width` of `values` as bars of one column each, in eighths of the largest of them.
std::string Sparkline(const std::deque<double>& values, size_t width);

}  // namespace latchkey
