// The figures of a database as text for monitoring systems.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/latchkey.h"

namespace latchkey {

/// Prometheus's text format 0.0.4. Each measured figure is latchkey_NAME; the name of a counter ends in _total.
/// Durations are in seconds. The latencies are the histogram latchkey_operation_seconds; its label `operation` names the
/// operation, and its bounds are powers of two nanoseconds.
std::string PrometheusText(const std::vector<NamedStatistic>& figures,
                           const std::vector<OperationLatency>& latencies);

/// One object: "written_at", seconds since 1970; "statistics" has every figure by its name, null if it is not measured. "latencies" has, by operation,
/// `count`, and if it is not 0 `mean_s`, `p50_s`, `p90_s`, `p99_s`, `p999_s`, `longest_s` and `buckets`: pairs of the
/// most nanoseconds of a bucket and its count, ascending; the last most may be null, for no bound.
std::string JsonText(int64_t written_at, const std::vector<NamedStatistic>& figures,
                     const std::vector<OperationLatency>& latencies);

/// One of the two.
std::string MetricsText(MetricsFormat format, int64_t written_at, const Statistics& statistics,
                        const std::vector<OperationLatency>& latencies);

}  // namespace latchkey
