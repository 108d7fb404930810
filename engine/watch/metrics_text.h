// The figures of a database as text for monitoring systems.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/latchkey.h"

namespace latchkey {

/// Prometheus's text format 0.0.4: each figure that is measured as latchkey_NAME, a counter with _total behind it,
/// durations in seconds; the latencies as the histogram latchkey_operation_seconds with the label `operation`, whose
/// bounds are powers of two nanoseconds.
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
