#include "tools/cli/layout_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "engine/latchkey.h"
#include "engine/option_names.h"
#include "layout/clean/cleaning_policy.h"
#include "layout/image/page_codec.h"
#include "layout/separate/separator.h"
#include "storage/base/counted_noun.h"
#include "storage/base/status_macros.h"
#include "tools/cli/device_flags.h"
#include "tools/cli/flag_values.h"
#include "tools/cli/layout_plan.h"
#include "tools/cli/progress.h"
#include "tools/cli/signals.h"
#include "tools/layout_lab/lab_report.h"
#include "tools/layout_lab/loaded_costs.h"
#include "tpcc-lite/report/environment.h"

namespace latchkey {
namespace {

template <typename List>
std::string NamesOf(const List& list) {
  return fmt::format("{}", fmt::join(list.Names(), ", "));
}

// "lfs death-time, ...": the segment cleaning of each layout.
std::string LayoutsOwnCleanings() {
  std::string text;
  for (const LayoutInfo& layout : Layouts()) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", layout.description.name,
                        layout.segment_cleaning);
  }
  return text;
}

// "uniform, hotcold:writes:pages, ...": bare values stand for these parameters.
std::string DescribeWorkloads() {
  std::string text;
  for (const LabWorkloadInfo& workload : LabWorkloads()) {
    text += (text.empty() ? "" : ", ") + std::string(workload.description.name);
    for (const ChoiceParameter& p : workload.description.parameters) {
      text += fmt::format(":{}={}", p.name, p.default_value);
    }
  }
  return text;
}

class LayoutExperiment {
 public:
  LayoutExperiment(std::vector<LayoutPlan> plans, const ExperimentFlags& flags)
      : plans_(std::move(plans)), flags_(flags) {}

  int DryRun() const {
    for (const LayoutPlan& plan : plans_) fmt::print("{}\n", plan.label);
    fmt::print("{}, {} of each; nothing was run\n", CountOf(plans_.size(), "combination"),
               CountOf(flags_.repeat, "run"));
    return kExitOk;
  }

  int Execute() {
    SweepOutcome outcome =
        RunSweep(plans_.size(), flags_.repeat, LabFigures(),
                 [&](size_t index, const std::string& position) { return Run(index, position); });
    progress_.Clear();
    // Of an interrupted sweep the combinations that ran are the first ones.
    std::vector<std::string> keys;
    for (size_t i = 0; i < outcome.rows.size(); ++i) keys.push_back(plans_[i].compared_by);
    AddRelativeToOverwrite(keys, outcome.rows);
    return FinishSweep(flags_, outcome, kLayoutSchema, LabColumns());
  }

 private:
  Json Run(size_t index, const std::string& position);
  absl::StatusOr<LabResult> RunOne(const LabConfig& config, const std::string& label);
  absl::StatusOr<std::optional<LoadedCosts>> TrueCosts(const LabConfig& config,
                                                       const LabResult& result);

  const std::vector<LayoutPlan> plans_;
  const ExperimentFlags& flags_;
  Progress progress_;
  std::vector<std::pair<LoadedCostsQuestion, LoadedCosts>> known_costs_;
};

absl::StatusOr<LabResult> LayoutExperiment::RunOne(const LabConfig& config,
                                                   const std::string& label) {
  const bool in_file = config.device.kind == DeviceSpec::Kind::kFile;
  std::error_code error;
  const auto remove = [&] {
    for (const char* suffix : {"", ".map"}) std::filesystem::remove(config.path + suffix, error);
  };
  if (in_file) {
    std::filesystem::create_directories(flags_.database_path, error);
    remove();
  }
  absl::StatusOr<LabResult> result = RunLayoutLab(
      config, [&](const std::string& what) { progress_.Show(fmt::format("{}: {}", label, what)); });
  if (in_file && !flags_.keep) remove();
  return result;
}

// The part of the file in which a disk's arm moves. Overwrite keeps the pages where the load put them:
// at the beginning of the file. Flash has no arm.
double ShareWithPages(const LabConfig& config, const LabResult& result) {
  const bool in_place = config.store.layout.name() == "overwrite";
  if (!in_place || config.device.kind == DeviceSpec::Kind::kFlash) return 1;
  return result.end.store.effective_space_utilization;
}

absl::StatusOr<std::optional<LoadedCosts>> LayoutExperiment::TrueCosts(const LabConfig& config,
                                                                       const LabResult& result) {
  if (!config.device.is_simulated() || !config.device.takes_time() || result.interrupted) {
    return std::nullopt;
  }
  const uint64_t reads = result.end.reads - result.begin.reads;
  const uint64_t writes = result.end.writes - result.begin.writes;
  const bool mixed = config.workload.entry().sets_reads && writes > 0;
  const LoadedCostsQuestion question{
      .device = config.device,
      .page_bytes = config.store.page_size,
      .segment_bytes = result.segment_bytes,
      .span_bytes = result.file_bytes,
      .page_share = ShareWithPages(config, result),
      .users = config.users,
      .reads_per_write =
          mixed ? static_cast<double>(reads) / static_cast<double>(writes) : config.reads_per_write,
      .seed = config.store.seed};
  for (const auto& [known, costs] : known_costs_) {
    if (known == question) return costs;
  }
  LATCHKEY_ASSIGN_OR_RETURN(const LoadedCosts costs, MeasureLoadedCosts(question));
  known_costs_.emplace_back(question, costs);
  return costs;
}

Json LayoutExperiment::Run(size_t index, const std::string& position) {
  const LayoutPlan& plan = plans_[index];
  const std::string label = position + plan.label;
  absl::StatusOr<LabResult> result = RunOne(plan.config, label);
  absl::Status status = result.status();
  std::optional<LoadedCosts> truth;
  if (result.ok()) {
    absl::StatusOr<std::optional<LoadedCosts>> measured = TrueCosts(plan.config, *result);
    status = measured.status();
    if (measured.ok()) truth = *measured;
  }
  Json row = plan.row;
  AddLabFigures(plan.config, result.ok() ? &*result : nullptr, truth, row);
  row["error"] = status.ok() ? Json(nullptr) : Json(std::string(status.message()));
  row["warnings"] = BuildWarnings();
  progress_.Clear();
  if (!status.ok()) {
    spdlog::error("{}: {}", label, std::string(status.message()));
  } else {
    spdlog::info("{}: {:.0f} pages/s", label,
                 row.at("throughput").is_number() ? row.at("throughput").get<double>() : 0);
  }
  return row;
}

}  // namespace

std::vector<FlagSpec> LayoutFlags() {
  const Techniques defaults;
  std::vector<FlagSpec> flags = {
      {"layout", fmt::format("{}", fmt::join(Layouts().Names(), ",")),
       NamesOf(Layouts()) +
           "; hylog:h=0.4: a fixed share of the pages is hot; hylog:thesis: as published"},
      {"segment-cleaning", defaults.segment_cleaning,
       fmt::format("{}; auto: {}", fmt::join(SegmentCleaningNames(), ", "), LayoutsOwnCleanings())},
      {"page-compression", defaults.page_compression,
       "of pages that are appended: " + NamesOf(PageCodecs())},
      {"compressible", "0", "share of each page's bytes that compress to nothing, 0 to 1"},
      {"space-utilization", fmt::format("{}", defaults.space_utilization),
       "live pages / capacity of the file, 0.5 to 0.98"},
      {"segment-size", "auto",
       "bytes, a multiple of the page size from 64KiB to 64MiB, or auto: from the device's "
       "measured "
       "costs, stripes and erase unit"},
  };
  for (FlagSpec& flag : DeviceFlags()) {
    if (flag.name == "device") flag.default_value = "atlas10k";
    flags.push_back(std::move(flag));
  }
  const FlagSpec more[] = {
      {"workload", "uniform", DescribeWorkloads() + "; values may stand alone: hotcold:90:10"},
      {"trace", "", "file of the workloads trace and blocks"},
      {"users", "20", "without think time, 1 to 1024"},
      {"reads-per-write", "1.37", "page reads per page write, 0 to 1000"},
      {"data-size", "256MiB", "bytes of all live pages"},
      {"page-size", "4096", "bytes, a power of two from 4096 to 65536"},
      {"durability", "none", "none: no map journal; group: the store survives a crash"},
      {"torn-write-protection", std::string(NameOf(TornWriteProtection::kDoublewrite)),
       "of pages that are written in place, with --durability=group: doublewrite, none"},
      {"warmup", "auto", "writes per live page before the measured part; auto: until steady state"},
      {"budget", "60", "writes per live page within which steady state must be reached"},
      {"measure", "4", "writes per live page in the measured part"},
      {"seed", "42", "of the requests and every random choice"},
  };
  flags.insert(flags.end(), std::begin(more), std::end(more));
  return flags;
}

int LayoutCommand(const FlagTexts& texts, const ExperimentFlags& flags) {
  if (absl::Status status = CheckOutputs(flags.output); !status.ok()) return FailWith(status);
  PageTraces traces;
  const std::string file = flags.database_path + "/layout-lab.lk";
  auto plans = PlanAll(ExpandLayout(texts), [&](const Combination& combination) {
    return PlanLayout(combination, traces, file);
  });
  if (!plans.ok()) return FailWith(plans.status());
  for (LayoutPlan& plan : *plans) plan.config.stop = &StopRequested();
  LayoutExperiment experiment(*std::move(plans), flags);
  return flags.dry_run ? experiment.DryRun() : experiment.Execute();
}

}  // namespace latchkey
