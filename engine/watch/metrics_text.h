// The figures of a database as text for monitoring systems.
#pragma once

#include <string>
#include <vector>

#include "engine/latchkey.h"

namespace latchkey {

/// Prometheus's text format 0.0.4: each figure that is measured as latchkey_NAME, a counter with _total behind it,
/// durations in seconds; the latencies as the histogram latchkey_operation_seconds with the label `operation`, whose
/// bounds are powers of two nanoseconds.
std::string PrometheusText(const std::vector<NamedStatistic>& figures,
                           const std::vector<OperationLatency>& latencies);

/// One object: "statistics" has every figure by its name, null if it is not measured. "latencies" has, by operation,
/// `count`, and if it is not 0 `mean_s`, `p50_s`, `p90_s`, `p99_s`, `p999_s` and `longest_s`.
std::string JsonText(const std::vector<NamedStatistic>& figures,
                     const std::vector<OperationLatency>& latencies);

}  // namespace latchkey
