// The common part of the experiment verbs: runs a sweep, repetition by repetition, row by row.
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

inline constexpr uint64_t kDefaultTraceLimit = 50'000'000;

/// The flags of an experiment that are not swept.
struct ExperimentFlags {
  std::string database_path = "latchkey-db";
  uint32_t repeat = 1;
  bool keep = false;   ///< keep the database of every run, not only where there is one combination
  bool check = false;  ///< check consistency after every run (tpcc-lite)
  bool live = false;   ///< show each second's figures on a terminal
  bool dry_run = false;               ///< print what would run, and write nothing
  std::string trace;                  ///< file for the fixes of the one run; empty: none
  uint64_t trace_limit = kDefaultTraceLimit;  ///< records of the trace
  OutputFlags output;
};

/// One run gives one row. `position` ("3/12 ") is the prefix of its progress messages. The row has
/// "error" if the run failed, and "interrupted" if it was stopped early.
using RunOne = absl::FunctionRef<Json(size_t combination, const std::string& position)>;

/// The result of a sweep.
struct SweepOutcome {
  std::vector<Json> rows;  ///< one per combination that ran, repetitions combined
  bool interrupted = false;
  size_t not_run = 0;         ///< combinations of which no run was begun
  bool failed = false;        ///< some run failed: its row has the reason
  bool inconsistent = false;  ///< some check failed
};

/// Runs `combinations` x `repeat` interleaved, until a stop is requested.
SweepOutcome RunSweep(size_t combinations, uint32_t repeat, std::span<const std::string> figures,
                      RunOne run_one);

/// One row for the repetitions of a combination, in the order in which they ran (at least one).
/// Repetitions that failed, or were interrupted before they measured anything, count only if all
/// did.
Json CombineRuns(const std::vector<Json>& repetitions, std::span<const std::string> figures);

/// Exit code of a sweep: interrupted takes precedence over inconsistent, inconsistent over failed.
ExitCode ExitCodeOf(const SweepOutcome& outcome);

/// Logs the reason why a command failed. Returns the exit code.
int FailWith(const absl::Status& status);
/// The exit code of a command that ended with `status`; an error is printed as by FailWith.
inline int Finish(const absl::Status& status) { return status.ok() ? kExitOk : FailWith(status); }

/// Writes the results of a sweep. Returns the exit code.
int FinishSweep(const ExperimentFlags& flags, const SweepOutcome& outcome, std::string_view schema,
                std::span<const Column> columns);

/// The plans of all combinations of `texts`, in order. Returns the error of the first invalid one.
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

/// Whether `data_bytes` of data fit the engine's cache.
bool FitsCache(const EngineSettings& settings, uint64_t data_bytes);

/// Reasons why a row is not comparable: this build, the device, the cache. `data_bytes`: keys and
/// values of the data.
std::vector<std::string> WarningsOf(const EngineSettings& settings, const KvBackend* backend,
                                    const std::string& database_path, uint64_t data_bytes);

/// Opens the backend of `settings`. Errors as its factory.
absl::StatusOr<std::unique_ptr<KvBackend>> OpenBackend(const std::string& engine,
                                                       const KvOptions& options);

}  // namespace latchkey
