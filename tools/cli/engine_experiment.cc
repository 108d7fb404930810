#include "tools/cli/engine_experiment.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "storage/base/counted_noun.h"
#include "storage/base/status_macros.h"
#include "storage/runtime/simulated_runtime.h"
#include "tools/cli/signals.h"
#include "tpcc-lite/kv/virtual_time.h"

namespace latchkey {

KvOptions EngineExperiment::OptionsOf(size_t index) {
  KvOptions options = plan(index).settings.kv;
  options.log_sink = LogToStderr(progress_);
  return options;
}

absl::Status EngineExperiment::PrepareFile(size_t index, const std::string& path) {
  LATCHKEY_ASSIGN_OR_RETURN(
      const std::unique_ptr<KvBackend> backend,
      OpenBackend(plan(index).settings.engine, LoadOptionsOf(OptionsOf(index), path)));
  LATCHKEY_RETURN_IF_ERROR(Load(index, *backend, ThreadRuntime()));
  return backend->Close();
}

absl::Status EngineExperiment::PrepareAll() {
  for (size_t index = 0; index < size(); ++index) {
    if (!plan(index).settings.kv.in_files() || plan(index).from_empty) continue;
    LATCHKEY_RETURN_IF_ERROR(catalog_.Prepare(
        plan(index).load_name, [&](const std::string& path) { return PrepareFile(index, path); }));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> EngineExperiment::PlaceForRun(size_t index) {
  const RunPlan& run = plan(index);
  if (!run.settings.kv.in_files()) return run.load_name;
  return run.from_empty ? catalog_.Empty(run.load_name)
                        : catalog_.Restore(run.load_name, &StopRequested());
}

absl::StatusOr<std::unique_ptr<KvBackend>> EngineExperiment::OpenReady(size_t index,
                                                                       Runtime& runtime) {
  KvOptions options = OptionsOf(index);
  options.runtime = &runtime;
  LATCHKEY_ASSIGN_OR_RETURN(options.path, PlaceForRun(index));
  LATCHKEY_ASSIGN_OR_RETURN(std::unique_ptr<KvBackend> backend,
                            OpenBackend(plan(index).settings.engine, options));
  if (!options.in_files() && !plan(index).from_empty) {
    LATCHKEY_RETURN_IF_ERROR(Load(index, *backend, runtime));
  }
  return backend;
}

absl::Status EngineExperiment::OpenAndMeasure(size_t index, const std::string& what,
                                              Runtime& runtime) {
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<KvBackend> backend, OpenReady(index, runtime));
  running_->backend_name = backend->Name();
  running_->warnings =
      WarningsOf(plan(index).settings, backend.get(), flags_.database_path, plan(index).data_bytes);
  progress_.Show(what + ": warming up");
  const absl::Status measured = MeasureBesideBackups(index, what, *backend, runtime);
  progress_.Clear();
  const absl::Status closed = backend->Close();
  return measured.ok() ? closed : measured;
}

absl::Status EngineExperiment::MeasureBesideBackups(size_t index, const std::string& what,
                                                    KvBackend& backend, Runtime& runtime) {
  const EngineSettings& settings = plan(index).settings;
  if (!settings.backup.value_or(false))
    return MeasureBesideSnapshots(index, what, backend, runtime);
  const std::string directory = flags_.database_path + ".backup";
  std::error_code error;
  if (std::filesystem::exists(directory, error)) {
    return MakeStatus(absl::StatusCode::kAlreadyExists,
                      "--backup=full: {} is there, and would be removed: move it away", directory);
  }
  BackupBeside beside(backend, directory, runtime);
  beside.Begin();
  const absl::Status measured = MeasureBesideSnapshots(index, what, backend, runtime);
  absl::StatusOr<BackupBesideResult> ended = beside.End();
  LATCHKEY_RETURN_IF_ERROR(measured);
  LATCHKEY_ASSIGN_OR_RETURN(running_->backups, std::move(ended));
  return absl::OkStatus();
}

absl::Status EngineExperiment::MeasureBesideSnapshots(size_t index, const std::string& what,
                                                      KvBackend& backend, Runtime& runtime) {
  const EngineSettings& settings = plan(index).settings;
  const HeldSnapshots held = settings.snapshot.value_or(HeldSnapshots::kNone);
  if (held == HeldSnapshots::kNone) return Measure(index, what, backend, runtime);
  SnapshotBeside beside(backend, settings.kv.tables.size(), held, runtime);
  beside.Begin();
  const absl::Status measured = Measure(index, what, backend, runtime);
  absl::StatusOr<HeldSnapshotResult> ended = beside.End();
  LATCHKEY_RETURN_IF_ERROR(measured);
  LATCHKEY_ASSIGN_OR_RETURN(running_->snapshots, std::move(ended));
  if (!running_->snapshots->ended_early.empty()) {
    running_->warnings.push_back("a snapshot beside the run ended early: " +
                                 running_->snapshots->ended_early);
  }
  return absl::OkStatus();
}

absl::Status EngineExperiment::RunInItsTime(size_t index, const std::string& what) {
  const KvOptions& kv = plan(index).settings.kv;
  runtime_ = &ThreadRuntime();
  if (!kv.device.is_simulated()) return RunOnce(index, what, ThreadRuntime());
  SimulatedRuntime runtime(VirtualTimeOptions(kv.techniques.seed));
  runtime_ = &runtime;
  absl::Status outcome;
  const absl::Status ran = runtime.Run([&] { outcome = RunOnce(index, what, runtime); });
  return ran.ok() ? outcome : ran;
}

Json EngineExperiment::Run(size_t index, const std::string& position) {
  const RunPlan& run = plan(index);
  running_ = &NewRecord(index);
  running_->settings = run.settings;
  const std::string label = position + Label(run.settings);
  const absl::Status status = RunInItsTime(index, label + ", " + Users(index));
  if (!status.ok() && !absl::IsCancelled(status)) {
    running_->error = std::string(status.message());
    spdlog::error("{}: {}", label, running_->error);
  }
  if (run.settings.kv.in_files() && size() > 1 && !flags_.keep && status.ok()) {
    catalog_.DiscardRun(run.load_name);  // frees space for the next
  }
  Json row = Row();
  if (absl::IsCancelled(status)) row["interrupted"] = true;
  return row;
}

absl::Status EngineExperiment::CheckFlags() const {
  LATCHKEY_RETURN_IF_ERROR(CheckOutputs(flags_.output));
  if (flags_.trace.empty()) {
    if (flags_.trace_limit == kDefaultTraceLimit) return absl::OkStatus();
    return InvalidArgument(
        "--trace-limit={} would be ignored: no trace is recorded; give --trace=FILE, or leave it "
        "out",
        flags_.trace_limit);
  }
  if (size() != 1 || flags_.repeat != 1) {
    return InvalidArgument(
        "--trace={}: a trace is of one run, not of {}, {} of each; give one value for each flag, "
        "and --repeat=1",
        flags_.trace, CountOf(size(), "combination"), CountOf(flags_.repeat, "run"));
  }
  if (!plan(0).settings.traits.techniques) {
    return InvalidArgument(
        "--trace={} would be ignored: {} has no buffer pool to trace; latchkey does", flags_.trace,
        plan(0).settings.engine);
  }
  return CheckTraceFile(flags_.trace);
}

int EngineExperiment::DryRun() const {
  if (const absl::Status good = CheckFlags(); !good.ok()) return FailWith(good);
  std::string text;
  for (size_t index = 0; index < size(); ++index) {
    text += fmt::format("{}, {}\n", Label(plan(index).settings), Users(index));
  }
  fmt::print("{}{}, {} of each; nothing was run\n", text, CountOf(size(), "combination"),
             CountOf(flags_.repeat, "run"));
  return kExitOk;
}

int EngineExperiment::Execute() {
  if (const absl::Status good = CheckFlags(); !good.ok()) return FailWith(good);
  const absl::Status prepared = PrepareAll();
  if (absl::IsCancelled(prepared)) {
    SweepOutcome nothing;
    nothing.interrupted = true;
    nothing.not_run = size();
    return FinishSweep(flags_, nothing, shape_.schema, shape_.columns);
  }
  if (!prepared.ok()) return FailWith(prepared);
  const SweepOutcome outcome =
      RunSweep(size(), flags_.repeat, shape_.figures,
               [&](size_t index, const std::string& position) { return Run(index, position); });
  const int code = FinishSweep(flags_, outcome, shape_.schema, shape_.columns);
  if (!flags_.trace.empty() && trace_ == nullptr && code == kExitOk) {
    spdlog::error("there is no trace {}: this workload has no measured part with its pool open",
                  flags_.trace);
  }
  const bool untraced = !flags_.trace.empty() && (trace_ == nullptr || !trace_->written());
  return code == kExitOk && untraced ? kExitFailure : code;
}

void EngineExperiment::StartCounting(KvBackend& backend) {
  backend.ResetExtremes();
  if (!flags_.trace.empty()) {
    trace_ = std::make_unique<TraceRecording>(*runtime_, flags_.trace, flags_.trace_limit);
    trace_->Begin(backend, running_->settings);
  }
  live_view_.reset();
  measured_end_.reset();
  running_->begin = backend.GetStatistics();
}

// A trace has what users did until they ended, and so have its statistics.
void EngineExperiment::EndMeasuring(const KvBackend& backend) {
  if (trace_ == nullptr) measured_end_ = backend.GetStatistics();
}

void EngineExperiment::StopCounting(KvBackend& backend, const std::string& what,
                                    const std::string& result, uint64_t done,
                                    std::string_view units) {
  running_->end = measured_end_ ? *measured_end_ : backend.GetStatistics();
  if (trace_ != nullptr) {
    const std::string problem = trace_->End(backend, *running_->begin, *running_->end, done, units);
    if (!problem.empty()) running_->warnings.push_back(problem);
  }
  progress_.Clear();
  spdlog::info("{}: {}", what, result);
}

void EngineExperiment::ShowSample(const KvBackend& backend, const std::string& what,
                                  const LiveSample& sample, std::string_view units) {
  running_->samples.push_back(measured_end_ ? *measured_end_ : backend.GetStatistics());
  if (!flags_.live) {
    progress_.Show(
        fmt::format("{}: {:.0f} s, {:.0f} {}/s", what, sample.end_s, sample.rate, units));
    return;
  }
  if (!live_view_) live_view_.emplace(what, std::string(units));
  const std::optional<Statistics>& statistics = running_->samples.back().latchkey;
  progress_.ShowLines(live_view_->Add(sample, statistics ? FiguresOf(*statistics) : LiveFigures(),
                                      Progress::Columns()));
}

}  // namespace latchkey
