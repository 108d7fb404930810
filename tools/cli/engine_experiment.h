// The common part of `tpcc-lite` and `bench`: loads that are made once and copied, a database
// opened for each run, on threads or in virtual time, and one row for each combination.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tools/cli/database_catalog.h"
#include "tools/cli/experiment.h"
#include "tools/cli/live_view.h"
#include "tools/cli/progress.h"
#include "tools/cli/settings.h"
#include "tools/cli/trace_recording.h"
#include "tpcc-lite/report/measured_run.h"

namespace latchkey {

/// The shape of an experiment's results.
struct ResultShape {
  std::string_view schema;
  std::span<const std::string> figures;  ///< whose spread is reported; see RunFigures
  std::span<const Column> columns;
};

/// An experiment over engines. A verb defines the load and the measurement. Not thread-safe.
class EngineExperiment {
 public:
  virtual ~EngineExperiment() = default;

  /// Makes the loads of all combinations whose data lies in files.
  absl::Status PrepareAll();
  /// Prints the combinations that Execute would run, and writes nothing. Returns the exit code.
  int DryRun() const;
  /// Prepares missing loads, runs every combination flags.repeat times and writes the results.
  /// Returns the exit code.
  int Execute();

 protected:
  EngineExperiment(const ExperimentFlags& flags, ResultShape shape)
      : flags_(flags), catalog_(flags.database_path), shape_(shape) {}

  // Defined by a verb. An index is that of a combination.
  virtual size_t size() const = 0;
  virtual const RunPlan& plan(size_t index) const = 0;
  /// Fills an empty database.
  virtual absl::Status Load(size_t index, KvBackend& backend, Runtime& runtime) = 0;
  /// Begins a new record, for one run.
  virtual MeasuredRun& NewRecord(size_t index) = 0;
  /// Measures, between StartCounting and StopCounting. `what` is the name of the run in messages.
  virtual absl::Status Measure(size_t index, const std::string& what, KvBackend& backend,
                               Runtime& runtime) = 0;
  /// Name of the run's users in messages: "2 users".
  virtual std::string Users(size_t index) const = 0;
  /// The record as a row.
  virtual Json Row() const = 0;
  /// A whole run; by default OpenAndMeasure.
  virtual absl::Status RunOnce(size_t index, const std::string& what, Runtime& runtime) {
    return OpenAndMeasure(index, what, runtime);
  }

  absl::Status OpenAndMeasure(size_t index, const std::string& what, Runtime& runtime);
  /// Options for the database of this combination, without path and runtime.
  KvOptions OptionsOf(size_t index);
  /// Path of the run's own copy of the load, or an unused path for it.
  absl::StatusOr<std::string> PlaceForRun(size_t index);

  /// Records a trace from now on, if there is to be one.
  void StartCounting(KvBackend& backend);
  /// Keeps the statistics at the end of the measured part. Without this call, or with a trace,
  /// StopCounting does.
  void EndMeasuring(const KvBackend& backend);
  /// `result` is a summary for a log message.
  /// `done`: how many `units` ("transactions") were completed meanwhile.
  void StopCounting(KvBackend& backend, const std::string& what, const std::string& result,
                    uint64_t done, std::string_view units);
  /// Keeps the statistics at the end of a sample, and shows it. `units`: of its rate.
  void ShowSample(const KvBackend& backend, const std::string& what, const LiveSample& sample,
                  std::string_view units);

  const ExperimentFlags& flags_;
  DatabaseCatalog catalog_;
  Progress progress_;

 private:
  absl::Status PrepareFile(size_t index, const std::string& path);
  absl::StatusOr<std::unique_ptr<KvBackend>> OpenReady(size_t index, Runtime& runtime);
  absl::Status MeasureBesideBackups(size_t index, const std::string& what, KvBackend& backend,
                                    Runtime& runtime);
  absl::Status MeasureBesideSnapshots(size_t index, const std::string& what, KvBackend& backend,
                                      Runtime& runtime);
  absl::Status RunInItsTime(size_t index, const std::string& what);
  Json Run(size_t index, const std::string& position);
  /// Refuses outputs that cannot be written, and a trace of more than one run.
  absl::Status CheckFlags() const;

  const ResultShape shape_;
  MeasuredRun* running_ = nullptr;  // the record of the run in progress
  Runtime* runtime_ = nullptr;      // of the run in progress
  std::optional<KvStatistics> measured_end_;  // of the run in progress
  std::unique_ptr<TraceRecording> trace_;
  std::optional<LiveView> live_view_;  // of the run in progress
};

}  // namespace latchkey
