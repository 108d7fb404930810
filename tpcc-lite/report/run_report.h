// One TPC-C-lite run as a result of the document "latchkey.run/1", and the table's columns. The
// common part of all results is in measured_run.h.
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

/// One element of results[]. Every field of the schema is present; null: not measured.
Json RunToJson(const RunRecord& record);

/// Figures whose medians and spreads are reported if a run is repeated. The first one determines
/// the median repetition.
std::span<const std::string> RunFigures();

std::span<const Column> RunColumns();

}  // namespace latchkey
