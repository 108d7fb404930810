// One TPC-C-lite run as a result of the document "latchkey.run/1", and the table's columns. What
// the results of every workload have in common is in measured_run.h.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "tpcc-lite/report/measured_run.h"
#include "tpcc-lite/workload/consistency.h"
#include "tpcc-lite/workload/tpcc_config.h"
#include "tpcc-lite/workload/tpcc_result.h"

namespace latchkey {

inline constexpr std::string_view kRunSchema = "latchkey.run/1";

struct RunRecord : MeasuredRun {
  TpccConfig config;
  std::optional<TpccResult> result;  ///< nullopt: it failed, see `error`
  std::optional<ConsistencyReport> consistency;
};

/// One element of results[]: every field of the schema, null where nothing was measured.
Json RunToJson(const RunRecord& record);

/// Figures whose medians and spreads are reported when a run is repeated; the first decides which
/// repetition is the median one.
std::span<const std::string> RunFigures();

std::span<const Column> RunColumns();

}  // namespace latchkey
