// What the experiment verbs share: running a sweep, repetition by repetition, row by row.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>

#include <span>
#include <string>
#include <vector>

#include "tools/cli/exit_codes.h"
#include "tools/cli/flags.h"
#include "tools/cli/output.h"
#include "tools/cli/progress.h"
#include "tools/cli/signals.h"
#include "tpcc-lite/report/measured_run.h"

namespace latchkey {

/// The flags of an experiment that are not swept.
struct ExperimentFlags {
  std::string database_path = "latchkey-db";
  uint32_t repeat = 1;
  bool keep = false;   ///< keep the database of every run, not only where there is one combination
  bool check = false;  ///< check consistency after every run (tpcc-lite)
  OutputFlags output;
};

/// One run gives one row; `position` ("3/12 ") begins its progress messages. The row has "error"
/// set when the run failed, and "interrupted" when it was cut short.
using RunOne = absl::FunctionRef<Json(size_t combination, const std::string& position)>;

/// What a sweep gave.
struct SweepOutcome {
  std::vector<Json> rows;  ///< one per combination that ran, repetitions combined
  bool interrupted = false;
  bool failed = false;        ///< some run failed: its row says why
  bool inconsistent = false;  ///< some check failed
};

/// Runs `combinations` x `repeat` interleaved, until a stop is requested.
SweepOutcome RunSweep(size_t combinations, uint32_t repeat, std::span<const std::string> figures,
                      RunOne run_one);

/// How a sweep's process exits: interrupted before inconsistent before failed.
ExitCode ExitCodeOf(const SweepOutcome& outcome);

/// Logs why a command failed; how it exits.
int FailWith(const absl::Status& status);

/// Writes the results of a sweep; how the command exits.
int FinishSweep(const ExperimentFlags& flags, const SweepOutcome& outcome, std::string_view schema,
                std::span<const Column> columns);

/// The plans of all combinations of `texts`, in order; the first that cannot be is the error.
template <typename Plan>
absl::StatusOr<std::vector<Plan>> MakePlans(std::span<const FlagSpec> specs, const FlagTexts& texts,
                                            absl::StatusOr<Plan> (*plan_one)(const Combination&)) {
  absl::StatusOr<std::vector<Combination>> combinations = ExpandFlags(specs, texts);
  if (!combinations.ok()) return combinations.status();
  std::vector<Plan> plans;
  for (const Combination& combination : *combinations) {
    absl::StatusOr<Plan> plan = plan_one(combination);
    if (!plan.ok()) return plan.status();
    plan->config.stop = &StopRequested();
    plans.push_back(*std::move(plan));
  }
  return plans;
}

/// The engine's messages as log lines.
std::function<void(LogSeverity, std::string_view)> LogToStderr(Progress& progress);

/// Whether data of `data_bytes` stays in the engine's cache.
bool FitsCache(const EngineSettings& settings, uint64_t data_bytes);

/// What makes a row incomparable, whatever it measured: this build, the device, the cache.
/// `data_bytes`: keys and values of the data.
std::vector<std::string> WarningsOf(const EngineSettings& settings, const KvBackend* backend,
                                    const std::string& database_path, uint64_t data_bytes);

/// Opens the backend of `settings` (its factory's errors as they are).
absl::StatusOr<std::unique_ptr<KvBackend>> OpenBackend(const std::string& engine,
                                                       const KvOptions& options);

}  // namespace latchkey
