#include "tools/cli/bench_command.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <utility>
#include <vector>

#include "storage/base/counted_noun.h"
#include "storage/base/status_macros.h"
#include "tools/cli/engine_experiment.h"
#include "tools/cli/settings.h"
#include "tpcc-lite/bench/bench_report.h"

namespace latchkey {
namespace {

class BenchExperiment final : public EngineExperiment {
 public:
  BenchExperiment(std::vector<BenchPlan> plans, const ExperimentFlags& flags)
      : EngineExperiment(flags, {kBenchSchema, BenchFigures(), BenchColumns()}),
        plans_(std::move(plans)) {}

 private:
  size_t size() const override { return plans_.size(); }
  const RunPlan& plan(size_t index) const override { return plans_[index]; }
  absl::Status Load(size_t index, KvBackend& backend, Runtime& runtime) override;
  MeasuredRun& NewRecord(size_t index) override {
    record_ = BenchRecord();
    record_.config = plans_[index].config;
    return record_;
  }
  absl::Status Measure(size_t index, const std::string& what, KvBackend& backend,
                       Runtime& runtime) override;
  std::string Users(size_t index) const override {
    return fmt::format("{} {}", plans_[index].config.workload->name,
                       CountOf(plans_[index].config.threads, "thread"));
  }
  Json Row() const override { return BenchToJson(record_); }
  absl::Status RunOnce(size_t index, const std::string& what, Runtime& runtime) override;

  absl::Status Reopen(size_t index, const std::string& what);
  /// Measures the device and adds to the record's rate, if the workload asks for it.
  absl::Status MeasureDevice(size_t index, Runtime& runtime);

  std::vector<BenchPlan> plans_;
  BenchRecord record_;
};

absl::Status BenchExperiment::Load(size_t index, KvBackend& backend, Runtime&) {
  const BenchPlan& plan = plans_[index];
  const std::string what =
      fmt::format("loading {}, {} records", Label(plan.settings), plan.config.records);
  spdlog::info("{}", what);
  uint64_t shown = 0;
  absl::Status loaded = LoadKvBench(backend, plan.config, [&](uint64_t done, uint64_t total) {
    const uint64_t percent = done * 100 / total;
    if (percent != shown) progress_.Show(fmt::format("{}: {} %", what, percent));
    shown = percent;
  });
  progress_.Clear();
  return loaded;
}

absl::Status BenchExperiment::Measure(size_t index, const std::string& what, KvBackend& backend,
                                      Runtime& runtime) {
  KvBenchHooks hooks;
  hooks.on_measure_begin = [&] { StartCounting(backend); };
  hooks.on_measure_end = [&] { EndMeasuring(backend); };
  hooks.on_sample = [&](const KvBenchSample& sample) {
    ShowSample(backend, what, LiveSampleOf(sample, sample.operations), "operations");
  };
  LATCHKEY_ASSIGN_OR_RETURN(record_.result,
                            RunKvBench(backend, plans_[index].config, hooks, runtime));
  StopCounting(backend, what,
               fmt::format("{:.0f} operations/s{}", record_.result->OperationsPerSecond(),
                           record_.result->interrupted ? " (interrupted)" : ""),
               record_.result->operations, "operations");
  return absl::OkStatus();
}

absl::Status BenchExperiment::MeasureDevice(size_t index, Runtime& runtime) {
  const DeviceSpec& device = plans_[index].settings.kv.device;
  const bool takes_time = device.kind != DeviceSpec::Kind::kMemory;
  if (!plans_[index].config.workload->device_rate || !takes_time) return absl::OkStatus();
  progress_.Show("measuring the device: overwrites, each synced");
  if (!record_.device_rate) record_.device_rate.emplace();
  absl::Status measured = MeasureOverwriteSyncRate(runtime, device, flags_.database_path,
                                                   kNanosPerSecond, &*record_.device_rate);
  progress_.Clear();
  return measured;
}

absl::Status BenchExperiment::Reopen(size_t index, const std::string& what) {
  const BenchPlan& plan = plans_[index];
  KvOptions options = OptionsOf(index);
  LATCHKEY_ASSIGN_OR_RETURN(options.path, PlaceForRun(index));
  // No warning that the data fits the cache: this workload expects it.
  record_.warnings = WarningsOf(plan.settings, nullptr, flags_.database_path, UINT64_MAX);
  progress_.Show(what + ": filling the cache with dirty pages");
  const auto open = [&] { return OpenBackend(plan.settings.engine, options); };
  LATCHKEY_ASSIGN_OR_RETURN(record_.reopen, MeasureReopen(open, plan.config));
  progress_.Clear();
  spdlog::info("{}: opened in {:.2f} s", what, record_.reopen->open_s);
  return absl::OkStatus();
}

absl::Status BenchExperiment::RunOnce(size_t index, const std::string& what, Runtime& runtime) {
  if (plans_[index].config.workload->reopen) return Reopen(index, what);
  // While no database is open: cleaners and compactions would use part of the device's time.
  LATCHKEY_RETURN_IF_ERROR(MeasureDevice(index, runtime));
  LATCHKEY_RETURN_IF_ERROR(OpenAndMeasure(index, what, runtime));
  return MeasureDevice(index, runtime);
}

}  // namespace

int BenchCommand(const FlagTexts& texts, const ExperimentFlags& flags) {
  absl::StatusOr<std::vector<BenchPlan>> plans =
      MakePlans<BenchPlan>(BenchFlags(), texts, PlanBench);
  if (!plans.ok()) return FailWith(plans.status());
  BenchExperiment experiment(*std::move(plans), flags);
  return flags.dry_run ? experiment.DryRun() : experiment.Execute();
}

}  // namespace latchkey
