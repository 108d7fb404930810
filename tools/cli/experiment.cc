#include "tools/cli/experiment.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>

#include "tools/cli/signals.h"
#include "tools/cli/sweep.h"
#include "tpcc-lite/report/environment.h"
#include "tpcc-lite/report/spread.h"
#include "tpcc-lite/report/steadiness.h"

namespace latchkey {
namespace {

bool Stopped() { return StopRequested().load(std::memory_order_relaxed); }

bool Violated(const Json& row) { return !ValueAt(row, "/consistency/violated").empty(); }

/// A run that was interrupted before its measured part has no figure: null, not 0.
bool NeverMeasured(const Json& row, std::span<const std::string> figures) {
  return row.at("interrupted").get<bool>() &&
         std::all_of(figures.begin(), figures.end(),
                     [&](const std::string& figure) { return ValueAt(row, figure).is_null(); });
}

}  // namespace

Json CombineRuns(const std::vector<Json>& repetitions, std::span<const std::string> figures) {
  std::vector<Json> good;
  for (const Json& repetition : repetitions) {
    const bool counts = repetition.at("error").is_null() && !NeverMeasured(repetition, figures);
    if (counts) good.push_back(repetition);
  }
  Json row = CombineRepetitions(good.empty() ? repetitions : good, figures);
  for (const Json& repetition : repetitions) {
    if (repetition.at("interrupted").get<bool>()) row["interrupted"] = true;
    if (!repetition.at("error").is_null()) row["error"] = repetition.at("error");
    if (Violated(repetition)) row["consistency"] = repetition.at("consistency");
  }
  if (good.empty() && row["error"].is_null()) row["error"] = "not run: interrupted; run it again";
  AddSteadiness(row, figures.front());
  return row;
}

SweepOutcome RunSweep(size_t combinations, uint32_t repeat, std::span<const std::string> figures,
                      RunOne run_one) {
  SweepOutcome outcome;
  std::vector<std::vector<Json>> repetitions(combinations);
  const std::vector<ScheduledRun> schedule = ScheduleInterleaved(combinations, repeat);
  for (size_t i = 0; i < schedule.size() && !Stopped(); ++i) {
    const std::string position =
        schedule.size() > 1 ? fmt::format("{}/{} ", i + 1, schedule.size()) : std::string();
    Json row = run_one(schedule[i].combination, position);
    outcome.failed |= !row.at("error").is_null();
    outcome.inconsistent |= Violated(row);
    repetitions[schedule[i].combination].push_back(std::move(row));
  }
  outcome.interrupted = Stopped();
  for (const std::vector<Json>& rows : repetitions) {
    if (rows.empty()) {
      ++outcome.not_run;
    } else {
      outcome.rows.push_back(CombineRuns(rows, figures));
    }
  }
  return outcome;
}

ExitCode ExitCodeOf(const SweepOutcome& outcome) {
  if (outcome.interrupted) return kExitInterrupted;
  if (outcome.inconsistent) return kExitInconsistent;
  return outcome.failed ? kExitFailure : kExitOk;
}

int FailWith(const absl::Status& status) {
  spdlog::error("{}", std::string(status.message()));
  return ExitCodeOf(status);
}

int FinishSweep(const ExperimentFlags& flags, const SweepOutcome& outcome, std::string_view schema,
                std::span<const Column> columns) {
  Results results;
  results.schema = schema;
  results.database_path = flags.database_path;
  results.rows = outcome.rows;
  results.columns = columns;
  results.interrupted = outcome.interrupted;
  results.not_run = outcome.not_run;
  const absl::Status written = WriteResults(flags.output, results);
  return written.ok() ? ExitCodeOf(outcome) : FailWith(written);
}

std::function<void(LogSeverity, std::string_view)> LogToStderr(Progress& progress) {
  return [&progress](LogSeverity severity, std::string_view message) {
    if (severity == LogSeverity::kDebug || severity == LogSeverity::kInfo) return;
    progress.Clear();
    spdlog::log(severity == LogSeverity::kWarning ? spdlog::level::warn : spdlog::level::err, "{}",
                message);
  };
}

bool FitsCache(const EngineSettings& settings, uint64_t data_bytes) {
  return settings.traits.cache && data_bytes <= settings.kv.cache_bytes;
}

std::vector<std::string> WarningsOf(const EngineSettings& settings, const KvBackend* backend,
                                    const std::string& database_path, uint64_t data_bytes) {
  std::vector<std::string> warnings = BuildWarnings();
  if (backend != nullptr) {
    for (std::string& warning : backend->Warnings()) warnings.push_back(std::move(warning));
  }
  if (!settings.kv.in_files()) return warnings;
  const std::optional<bool> direct = SupportsDirectIo(database_path);
  if (!direct) {
    warnings.push_back(fmt::format(
        "--db={}: no file can be created there to try O_DIRECT; give a folder that can be written",
        database_path));
  } else if (!*direct) {
    warnings.push_back(
        fmt::format("--db={}: its file system refuses O_DIRECT, so the page cache hides the "
                    "device; give a folder on another file system",
                    database_path));
  }
  if (FitsCache(settings, data_bytes)) {
    warnings.push_back(
        fmt::format("the database ({} bytes) fits the cache ({} bytes): these figures measure "
                    "memory more than the device; give a smaller --cache-size",
                    data_bytes, settings.kv.cache_bytes));
  }
  return warnings;
}

absl::StatusOr<std::unique_ptr<KvBackend>> OpenBackend(const std::string& engine,
                                                       const KvOptions& options) {
  return KvBackends().Find(engine)->open(options);
}

}  // namespace latchkey
