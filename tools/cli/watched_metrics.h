// WatchedMetrics: what a running program publishes of its database, read by another one.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "tools/cli/live_view.h"

namespace latchkey {

struct WatchedMetrics {
  /// Counts of latencies by the most nanoseconds of their bucket; UINT64_MAX: no bound.
  using Buckets = std::map<uint64_t, uint64_t>;

  int64_t written_at = 0;  ///< seconds since 1970
  LiveFigures figures;
  std::map<std::string, Buckets> latencies;  ///< by operation
};

/// Reads the text of MetricsFormat::kJson. InvalidArgument: it is another one.
absl::StatusOr<WatchedMetrics> ParseMetrics(const std::string& text);

/// Percentiles of what `to` counts more than `from`, upper bounds of their buckets; nullopt: nothing.
std::optional<LatencySummary> Between(const WatchedMetrics::Buckets& from,
                                      const WatchedMetrics::Buckets& to);

/// What happened between two readings that are `seconds` apart, with commits as the rate.
LiveSample SampleBetween(const WatchedMetrics& from, const WatchedMetrics& to, double seconds);

}  // namespace latchkey
