// What the results of every workload have in common: what was run and on what, what the engine
// counted meanwhile, how it ended; and the document around the results.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tpcc-lite/kv/kv_backends.h"
#include "tpcc-lite/report/json.h"
#include "tpcc-lite/report/table.h"
#include "tpcc-lite/workload/tpcc_result.h"

namespace latchkey {

/// Where and on what a combination runs.
struct EngineSettings {
  std::string engine;  ///< as on the command line: a key of KvBackends()
  KvTraits traits;
  KvOptions kv;
  std::string durability = "none";
};

/// Everything about one run that is known when it is over, but the workload's own figures.
struct MeasuredRun {
  EngineSettings settings;
  std::string backend_name;
  std::vector<std::string> warnings;
  std::optional<KvStatistics> begin;  ///< when the measured part began
  std::optional<KvStatistics> end;
  std::string error;  ///< why it failed; empty when it did not
};

/// The fields that say what was run: engine, techniques, device, sizes. A dimension that the engine
/// does not have is null.
Json DescribeSettings(const EngineSettings& settings);

/// What was counted between `begin` and `end`: the blocks buffer, layout_stats, io and space.
void AddStatistics(const MeasuredRun& run, Json& row);

/// engine_name, and how the run ended: interrupted, error, warnings.
void AddOutcome(const MeasuredRun& run, bool interrupted, Json& row);

/// p50, p95, p99, p99_9 and max; null each where nothing was measured.
Json LatencyToJson(const std::optional<LatencySummary>& latency);

/// An object with these fields, all null.
Json NullFields(std::initializer_list<const char*> names);

/// `figure` of the result; null where there is none.
template <typename Result, typename Figure>
Json FigureOf(const std::optional<Result>& result, const Figure& figure) {
  return result ? Json(figure(*result)) : Json(nullptr);
}

/// result->samples, each as `describe` says; empty where there is no result.
template <typename Result, typename Describe>
Json SamplesOf(const std::optional<Result>& result, const Describe& describe) {
  Json samples = Json::array();
  if (!result) return samples;
  for (const auto& sample : result->samples) samples.push_back(describe(sample));
  return samples;
}

/// The columns that say what was run.
std::vector<Column> SettingsColumns();
/// The same and `own` behind them: the table of a workload.
std::vector<Column> ColumnsWith(std::vector<Column> own);

/// {"schema", "build", "host", "results"}. `path`: whose file system the host block describes.
Json MakeDocument(std::string_view schema, const std::string& path, std::span<const Json> results);

}  // namespace latchkey
