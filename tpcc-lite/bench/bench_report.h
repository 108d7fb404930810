// One KV benchmark run as a result of the document "latchkey.bench/1".
#pragma once

#include <optional>
#include <span>
#include <string>

#include "tpcc-lite/bench/device_rate.h"
#include "tpcc-lite/bench/kv_bench.h"
#include "tpcc-lite/bench/reopen.h"
#include "tpcc-lite/report/measured_run.h"

namespace latchkey {

inline constexpr std::string_view kBenchSchema = "latchkey.bench/1";

struct BenchRecord : MeasuredRun {
  KvBenchConfig config;
  std::optional<KvBenchResult> result;
  /// KvWorkload::device_rate, measured before the database was opened and after it was closed.
  std::optional<DeviceRate> device_rate;
  std::optional<ReopenResult> reopen;  ///< KvWorkload::reopen, in place of `result`
};

/// One element of results[]. Every field is present; null: not measured.
Json BenchToJson(const BenchRecord& record);

/// As RunFigures in run_report.h.
std::span<const std::string> BenchFigures();
std::span<const Column> BenchColumns();

}  // namespace latchkey
