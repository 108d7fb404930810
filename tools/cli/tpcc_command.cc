#include "tools/cli/tpcc_command.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <utility>
#include <vector>

#include "storage/base/counted_noun.h"
#include "storage/base/status_macros.h"
#include "tools/cli/engine_experiment.h"
#include "tools/cli/settings.h"
#include "tpcc-lite/kv/preload.h"
#include "tpcc-lite/report/run_report.h"
#include "tpcc-lite/workload/consistency.h"
#include "tpcc-lite/workload/tpcc_driver.h"

namespace latchkey {
namespace {

class TpccExperiment final : public EngineExperiment {
 public:
  TpccExperiment(std::vector<TpccPlan> plans, const ExperimentFlags& flags)
      : EngineExperiment(flags, {kRunSchema, RunFigures(), RunColumns()}),
        plans_(std::move(plans)) {}

  /// Checks the database of every combination. Returns the exit code.
  int CheckAll();

 private:
  size_t size() const override { return plans_.size(); }
  const RunPlan& plan(size_t index) const override { return plans_[index]; }
  absl::Status Load(size_t index, KvBackend& backend, Runtime& runtime) override;
  MeasuredRun& NewRecord(size_t index) override {
    record_ = RunRecord();
    record_.config = plans_[index].config;
    return record_;
  }
  absl::Status Measure(size_t index, const std::string& what, KvBackend& backend,
                       Runtime& runtime) override;
  std::string Users(size_t index) const override {
    return CountOf(plans_[index].config.users, "user");
  }
  Json Row() const override { return RunToJson(record_); }

  absl::StatusOr<std::string> FindDatabase(const TpccPlan& plan) const;
  absl::Status CheckOpened(size_t index);
  Json Check(size_t index);

  std::vector<TpccPlan> plans_;
  RunRecord record_;
};

absl::Status TpccExperiment::Load(size_t index, KvBackend& backend, Runtime& runtime) {
  const TpccPlan& plan = plans_[index];
  const std::string what =
      fmt::format("loading {}, {} warehouses", Label(plan.settings), plan.config.warehouses);
  spdlog::info("{}", what);
  TpccLoadOptions options;
  options.progress = [&](uint64_t rows, uint64_t total) {
    progress_.Show(fmt::format("{}: {} %", what, total == 0 ? 100 : rows * 100 / total));
  };
  absl::Status loaded = LoadTpcc(backend, plan.config, options, runtime);
  progress_.Clear();
  return loaded;
}

/// The violated conditions, one line each, with the values found.
void LogViolations(const ConsistencyReport& report) {
  for (const ConsistencyViolation& violation : report.violations) {
    spdlog::error("condition {} ({}): {}", violation.condition,
                  DescribeCondition(violation.condition), violation.message);
  }
}

absl::Status TpccExperiment::Measure(size_t index, const std::string& what, KvBackend& backend,
                                     Runtime& runtime) {
  const TpccPlan& plan = plans_[index];
  TpccRunHooks hooks;
  hooks.on_measure_begin = [&] { StartCounting(backend); };
  hooks.on_measure_end = [&] { EndMeasuring(backend); };
  hooks.on_sample = [&](const TpccSample& sample) {
    ShowSample(backend, what, LiveSampleOf(sample, sample.transactions), "transactions");
  };
  if (FitsCache(plan.settings, plan.data_bytes)) {
    LATCHKEY_RETURN_IF_ERROR(PreloadCache(backend, plan.settings.kv.tables.size()));
  }
  LATCHKEY_ASSIGN_OR_RETURN(record_.result, RunTpcc(backend, plan.config, hooks, runtime));
  StopCounting(backend, what,
               fmt::format("{:.0f} transactions/s{}", record_.result->TransactionsPerSecond(),
                           record_.result->interrupted ? " (interrupted)" : ""),
               record_.result->Completed(), "transactions");
  if (!flags_.check) return absl::OkStatus();
  LATCHKEY_ASSIGN_OR_RETURN(record_.consistency, CheckConsistency(backend, plan.config, false));
  LogViolations(*record_.consistency);
  return absl::OkStatus();
}

absl::StatusOr<std::string> TpccExperiment::FindDatabase(const TpccPlan& plan) const {
  if (catalog_.HasRun(plan.load_name)) return catalog_.RunPath(plan.load_name);
  if (catalog_.HasLoad(plan.load_name)) return catalog_.LoadPath(plan.load_name);
  return MakeStatus(absl::StatusCode::kNotFound, "no database {} under {}: prepare or run it first",
                    plan.load_name, flags_.database_path);
}

absl::Status TpccExperiment::CheckOpened(size_t index) {
  const TpccPlan& plan = plans_[index];
  KvOptions options = OptionsOf(index);
  LATCHKEY_ASSIGN_OR_RETURN(options.path, FindDatabase(plan));
  spdlog::info("checking {}", options.path);
  LATCHKEY_ASSIGN_OR_RETURN(const std::unique_ptr<KvBackend> backend,
                            OpenBackend(plan.settings.engine, options));
  record_.backend_name = backend->Name();
  LATCHKEY_ASSIGN_OR_RETURN(const std::optional<TpccDescription> description,
                            ReadTpccDescription(*backend));
  const bool after_load = description.has_value() && description->runs == 0;
  LATCHKEY_ASSIGN_OR_RETURN(record_.consistency,
                            CheckConsistency(*backend, plan.config, after_load));
  LogViolations(*record_.consistency);
  return backend->Close();
}

Json TpccExperiment::Check(size_t index) {
  NewRecord(index).settings = plans_[index].settings;
  if (const absl::Status status = CheckOpened(index); !status.ok()) {
    record_.error = std::string(status.message());
    spdlog::error("{}: {}", Label(plans_[index].settings), record_.error);
  }
  return Row();
}

std::vector<Column> CheckColumns() {
  return ColumnsWith({{{"warehouses", "/warehouses", ColumnFormat::kCount, true},
                       {"conditions checked", "/consistency/checked", ColumnFormat::kText},
                       {"violated", "/consistency/violated", ColumnFormat::kText}}});
}

int TpccExperiment::CheckAll() {
  for (const TpccPlan& plan : plans_) {
    if (plan.settings.kv.in_files()) continue;
    return FailWith(InvalidArgument("--device={} leaves nothing to check: use run --check",
                                    CanonicalDeviceSpec(plan.settings.kv.device)));
  }
  if (const absl::Status good = CheckOutputs(flags_.output); !good.ok()) return FailWith(good);
  const SweepOutcome outcome = RunSweep(
      size(), 1, RunFigures(), [&](size_t index, const std::string&) { return Check(index); });
  return FinishSweep(flags_, outcome, kRunSchema, CheckColumns());
}

using TpccStep = int (*)(TpccExperiment&);

int RunCommand(const FlagTexts& texts, const ExperimentFlags& flags, TpccStep command) {
  absl::StatusOr<std::vector<TpccPlan>> plans = MakePlans<TpccPlan>(TpccFlags(), texts, PlanTpcc);
  if (!plans.ok()) return FailWith(plans.status());
  TpccExperiment experiment(*std::move(plans), flags);
  return flags.dry_run ? experiment.DryRun() : command(experiment);
}

}  // namespace

int PrepareTpccCommand(const FlagTexts& texts, const ExperimentFlags& flags) {
  return RunCommand(texts, flags, [](TpccExperiment& experiment) -> int {
    const absl::Status prepared = experiment.PrepareAll();
    return prepared.ok() ? kExitOk : FailWith(prepared);
  });
}

int RunTpccCommand(const FlagTexts& texts, const ExperimentFlags& flags) {
  return RunCommand(texts, flags, [](TpccExperiment& experiment) { return experiment.Execute(); });
}

int CheckTpccCommand(const FlagTexts& texts, const ExperimentFlags& flags) {
  return RunCommand(texts, flags, [](TpccExperiment& experiment) { return experiment.CheckAll(); });
}

}  // namespace latchkey
