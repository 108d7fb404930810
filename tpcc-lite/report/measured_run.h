// The common part of the results of every workload: settings and device, the engine's counters, the
// outcome; and the document around the results.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tpcc-lite/kv/backup_beside.h"
#include "tpcc-lite/kv/kv_backends.h"
#include "tpcc-lite/kv/snapshot_beside.h"
#include "tpcc-lite/report/json.h"
#include "tpcc-lite/report/table.h"
#include "tpcc-lite/workload/tpcc_result.h"

namespace latchkey {

/// Settings and device of a combination.
struct EngineSettings {
  std::string engine;  ///< as on the command line: one of KvBackends()
  KvTraits traits;
  KvOptions kv;
  std::string durability = "none";
  std::optional<HeldSnapshots> snapshot;  ///< held beside the run; nullopt: the engine holds none
  std::optional<bool> backup;             ///< made beside the run; nullopt: the engine makes none
};

/// All data of one finished run except the workload's own figures.
struct MeasuredRun {
  EngineSettings settings;
  std::string backend_name;
  std::vector<std::string> warnings;
  std::optional<KvStatistics> begin;  ///< when the measured part began
  std::optional<KvStatistics> end;
  std::vector<KvStatistics> samples;            ///< at the end of each sample of the result
  std::optional<HeldSnapshotResult> snapshots;  ///< nullopt: none was held
  std::optional<BackupBesideResult> backups;    ///< nullopt: none was made
  std::string error;                            ///< the reason of a failure; empty: none
};

/// The fields for engine, techniques, device and sizes. null: the engine does not have the
/// dimension.
Json DescribeSettings(const EngineSettings& settings);

/// Adds the differences of counters between `begin` and `end`: the blocks buffer, layout_stats, io
/// and space.
void AddStatistics(const MeasuredRun& run, Json& row);

/// Adds engine_name and the outcome of the run: held_snapshots, backups, interrupted, error, warnings.
void AddOutcome(const MeasuredRun& run, bool interrupted, Json& row);

/// p50, p95, p99, p99_9 and max; each null if nothing was measured.
Json LatencyToJson(const std::optional<LatencySummary>& latency);

/// An object with these fields, all null.
Json NullFields(std::initializer_list<const char*> names);

/// `figure` of the result; null if there is no result.
template <typename Result, typename Figure>
Json FigureOf(const std::optional<Result>& result, const Figure& figure) {
  return result ? Json(figure(*result)) : Json(nullptr);
}

/// Adds to each sample the buffer pool's figures within it: see tpcc-lite/README.md.
void AddBufferSamples(const MeasuredRun& run, Json& samples);

/// result->samples, each formatted by `describe`, with the figures of the pool within the sample;
/// empty if there is no result.
template <typename Result, typename Describe>
Json SamplesOf(const std::optional<Result>& result, const MeasuredRun& run,
               const Describe& describe) {
  Json samples = Json::array();
  if (!result) return samples;
  for (const auto& sample : result->samples) samples.push_back(describe(sample));
  AddBufferSamples(run, samples);
  return samples;
}

/// The columns for settings.
std::vector<Column> SettingsColumns();
/// The columns for settings, then those of `own`, then the error: the table of a workload.
std::vector<Column> ColumnsWith(std::vector<std::vector<Column>> own);

/// {"schema", "build", "host", "results"}. The host block describes the file system of `path`.
Json MakeDocument(std::string_view schema, const std::string& path, std::span<const Json> results);

}  // namespace latchkey
