// LiveView: what a run has done in its last second, as lines for a terminal (--live).
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "tpcc-lite/kv/kv_backend.h"
#include "tpcc-lite/workload/tpcc_result.h"

namespace latchkey {

struct LiveSample {
  double end_s = 0;    ///< since the measured part began
  double seconds = 0;  ///< of the sample
  double rate = 0;     ///< per second
  std::optional<LatencySummary> latency_us;
};

/// Turns samples into lines; knows nothing of terminals. Draws the last samples of the rate and of the 99th
/// percentile as bars, and, for engines that tell it, pool, space, device and log.
class LiveView {
 public:
  /// `title`: of the run; `unit`: of the rate, "transactions".
  LiveView(std::string title, std::string unit)
      : title_(std::move(title)), unit_(std::move(unit)) {}

  /// The lines from this sample on, none longer than `columns`. `figures`: at the end of the sample.
  std::vector<std::string> Add(const LiveSample& sample, const KvStatistics& figures,
                               size_t columns);

 private:
  void AddEngine(const Statistics& from, const Statistics& to, double seconds,
                 std::vector<std::string>& lines) const;

  const std::string title_, unit_;
  std::deque<double> rates_, p99s_;  // the newest last
  std::optional<Statistics> before_;
};

/// The newest `width` of `values` as bars of one column each, in eighths of the largest of them.
std::string Sparkline(const std::deque<double>& values, size_t width);

}  // namespace latchkey
