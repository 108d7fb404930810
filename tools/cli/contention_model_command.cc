#include "tools/cli/contention_model_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <map>
#include <utility>

#include "storage/base/status_macros.h"
#include "tools/cli/contention_plan.h"
#include "tools/cli/flag_values.h"
#include "tools/cli/output.h"
#include "tools/cli/progress.h"
#include "tools/cli/signals.h"
#include "tools/contention/calibration.h"
#include "tools/contention/sensitivity.h"
#include "tpcc-lite/report/environment.h"

namespace latchkey {
namespace {

constexpr uint64_t kMostProcessors = 256;

// ---- contention model

struct ModelPlan {
  LabelledModel model;
  Json row;
};

/// The costs of a run's plans, each file read once. What Find returns stays where it is.
class CostsFiles {
 public:
  /// `path` empty: the costs that are built in. Errors as ReadModelCosts.
  absl::StatusOr<const ModelCosts*> Find(const std::string& path) {
    if (path.empty()) return &DefaultModelCosts();
    const auto found = files_.find(path);
    if (found != files_.end()) return &found->second;
    LATCHKEY_ASSIGN_OR_RETURN(ModelCosts costs, ReadModelCosts(path));
    return &files_.emplace(path, std::move(costs)).first->second;
  }

 private:
  std::map<std::string, ModelCosts> files_;
};

absl::StatusOr<ModelPlan> PlanModel(const Combination& from, PageTraces& traces,
                                    CostsFiles& files) {
  LATCHKEY_ASSIGN_OR_RETURN(const ModelCosts* const found, files.Find(from.Get("costs")));
  const ModelCosts& costs = *found;
  LATCHKEY_ASSIGN_OR_RETURN(PoolEmulatorConfig pool, ParsePool(from, traces));
  LATCHKEY_ASSIGN_OR_RETURN(const uint64_t processors,
                            ParseCount("processors", from.Get("processors"), 1, kMostProcessors));
  LATCHKEY_ASSIGN_OR_RETURN(const uint64_t threads,
                            ParseCount("threads", from.Get("threads"), 0, kMostThreads));
  LATCHKEY_ASSIGN_OR_RETURN(const uint64_t simulated,
                            ParseCount("simulate", from.Get("simulate"), 1000, 1'000'000'000));
  pool.times.threads = static_cast<uint32_t>(threads == 0 ? processors : threads);
  pool.times.stop = &StopRequested();
  pool.costs = &costs;
  LATCHKEY_RETURN_IF_ERROR(CheckPoolEmulator(pool));
  Json row = {{"processors", processors},
              {"threads", pool.times.threads},
              {"work_us", static_cast<double>(pool.work) / kNanosPerMicro},
              {"error", nullptr},
              {"interrupted", false},
              {"warnings", Json::array()}};
  row.update(DescribePool(from, pool));
  AddPoolWarnings(row, pool);
  row["costs"] = ToJson(costs);
  std::string policy = row["policy"];
  return ModelPlan{{.policy = std::move(policy),
                    .config = {.emulator = std::move(pool),
                               .processors = static_cast<uint32_t>(processors),
                               .accesses = simulated,
                               .costs = costs}},
                   std::move(row)};
}

Json RunModel(const ModelPlan& plan) {
  Json row = plan.row;
  const absl::StatusOr<ProcessorModelResult> result = RunProcessorModel(plan.model.config);
  if (!result.ok()) {
    row["error"] = std::string(result.status().message());
    return row;
  }
  AddPoolFigures(row, result->emulated);
  row["host"] = {{"simulated_per_wall_s", result->accesses_per_wall_second}};
  return row;
}

absl::StatusOr<std::vector<Json>> RunSensitivity(const std::vector<ModelPlan>& plans) {
  std::vector<LabelledModel> models;
  for (const ModelPlan& plan : plans) {
    models.push_back(plan.model);
    const PoolEmulatorConfig &one = plans[0].model.config.emulator,
                             &other = models.back().config.emulator;
    if (one.pages != other.pages || one.work != other.work || one.latches != other.latches ||
        one.frames != other.frames || one.seed != other.seed ||
        plans[0].model.config.costs != models.back().config.costs ||
        plan.row["accesses_of"] != plans[0].row["accesses_of"]) {
      return InvalidArgument(
          "--sensitivity compares policies: give one value for each flag but the policy and "
          "--processors");
    }
  }
  Progress progress;
  const auto show = [&](double share) {
    progress.Show(fmt::format("{:.0f} % contention", 100 * share));
  };
  absl::StatusOr<std::vector<Statement>> statements = AnalyseSensitivity(models, show);
  progress.Clear();
  LATCHKEY_RETURN_IF_ERROR(statements.status());
  std::vector<Json> rows;
  for (const Statement& statement : *statements) {
    std::string verdict = statement.holds ? "yes" : "no";
    if (!statement.depends_on.empty()) {
      verdict += fmt::format(", depends on {}", fmt::join(statement.depends_on, ", "));
    }
    rows.push_back({{"processors", statement.processors},
                    {"statement", statement.Text(models)},
                    {"holds", statement.holds},
                    {"depends_on", statement.depends_on},
                    {"verdict", std::move(verdict)},
                    {"error", nullptr},
                    {"interrupted", false},
                    {"warnings", Json::array()},
                    {"costs", ToJson(models[0].config.costs)}});
  }
  return rows;
}

// ---- contention calibrate

std::string DescribeMachine() {
  const Json host = DescribeHost(".");
  return fmt::format("{}, {} cores", host.value("cpu", Json("unknown")).dump(),
                     host.value("cores", Json(0)).dump());
}

absl::StatusOr<CalibrationConfig> ParseCalibration(const CalibrateFlags& flags) {
  LATCHKEY_ASSIGN_OR_RETURN(auto accesses, AccessPatterns().Parse(flags.accesses));
  if (accesses.entry().needs_trace) {
    return InvalidArgument("--accesses={}: a calibration draws pages; give any other pattern",
                           flags.accesses);
  }
  CalibrationConfig config{.algorithms = PoolReplacementNames(), .accesses = std::move(accesses)};
  if (flags.algorithms != "all") {
    LATCHKEY_ASSIGN_OR_RETURN(config.algorithms, SplitList("replacement", flags.algorithms));
  }
  LATCHKEY_ASSIGN_OR_RETURN(config.pages, ParseCount("pages", flags.pages, 1024, 10'000'000));
  LATCHKEY_ASSIGN_OR_RETURN(const uint64_t repetitions,
                            ParseCount("repetitions", flags.repetitions, 1, 10'000));
  config.repetitions = static_cast<uint32_t>(repetitions);
  config.stop = &StopRequested();
  return config;
}

void Print(const ModelCosts& costs) {
  std::string text = fmt::format("{}\n\nnanoseconds\n", costs.source);
  const Json document = ToJson(costs);
  for (const auto& [name, cost] : document["nanoseconds"].items()) {
    text += fmt::format("  {:<12}{:>10.1f}\n", name, cost.get<double>());
  }
  text += fmt::format("\n  {:<12}", "algorithm");
  bool first = true;
  for (const auto& [name, fields] : document["algorithms"].items()) {
    if (std::exchange(first, false)) {
      for (const auto& [field, unused] : fields.items()) text += fmt::format("{:>12}", field);
      text += "\n";
    }
    text += fmt::format("  {:<12}", name);
    for (const auto& [field, cost] : fields.items()) {
      text += fmt::format("{:>12.1f}", cost.get<double>());
    }
    text += "\n";
  }
  std::fputs(text.c_str(), stdout);
}

absl::Status RunCalibration(const CalibrateFlags& flags) {
  LATCHKEY_ASSIGN_OR_RETURN(const CalibrationConfig config, ParseCalibration(flags));
  LATCHKEY_RETURN_IF_ERROR(CheckOutputFile("json", flags.json));
  LATCHKEY_ASSIGN_OR_RETURN(ModelCosts costs, Calibrate(config));
  costs.source =
      fmt::format("{}; {} pages, {}", DescribeMachine(), config.pages, config.accesses.ToString());
  if (flags.json != "-") Print(costs);
  return flags.json.empty() ? absl::OkStatus()
                            : WriteTextFile(flags.json, JsonFileText(ToJson(costs)));
}

}  // namespace

std::vector<Column> ContentionModelColumns() {
  return PoolColumns({{"processors", "/processors", ColumnFormat::kCount, true}},
                     {{"simulated/s", "/host/simulated_per_wall_s", ColumnFormat::kCount}});
}

std::vector<Column> SensitivityColumns() {
  return {{"processors", "/processors", ColumnFormat::kCount},
          {"statement", "/statement", ColumnFormat::kText},
          {"holds", "/verdict", ColumnFormat::kText}};
}

std::vector<FlagSpec> ContentionModelFlags() {
  std::vector<FlagSpec> flags = PoolFlags("20k");
  const FlagSpec more[] = {
      {"processors", "1,2,4,8,16,32,64", "of the modelled machine"},
      {"threads", "0", "0: one per processor"},
      {"work-us", "1", "processor time of a thread between two accesses"},
      {"simulate", "1M", "accesses of all processors, if nothing was contended"},
      {"seed", "42", "of the accesses and of random choices"},
      {"costs", "", "files from contention calibrate; else those that are built in"}};
  flags.insert(flags.end(), std::begin(more), std::end(more));
  return flags;
}

int ContentionModelCommand(const FlagTexts& texts, const ExperimentFlags& flags, bool sensitivity) {
  if (absl::Status status = CheckOutputs(flags.output); !status.ok()) return FailWith(status);
  PageTraces traces;
  CostsFiles files;
  const auto plans = PlanAll(
      ExpandContention(ContentionModelFlags(), texts),
      [&](const Combination& combination) { return PlanModel(combination, traces, files); });
  if (!plans.ok()) return FailWith(plans.status());
  if (sensitivity) {
    absl::StatusOr<std::vector<Json>> rows = RunSensitivity(*plans);
    if (!rows.ok()) return FailWith(rows.status());
    return FinishSweep(flags, {.rows = *std::move(rows)}, kSensitivitySchema, SensitivityColumns());
  }
  static const std::string kFigures[] = {"/accesses_per_s", "/contentions_per_million"};
  Progress progress;
  const SweepOutcome outcome =
      RunSweep(plans->size(), 1, kFigures, [&](size_t index, const std::string& position) {
        progress.Show(fmt::format("{}contention", position));
        return RunModel((*plans)[index]);
      });
  progress.Clear();
  return FinishSweep(flags, outcome, kContentionModelSchema, ContentionModelColumns());
}

int ContentionCalibrateCommand(const CalibrateFlags& flags) {
  const absl::Status done = RunCalibration(flags);
  return done.ok() ? kExitOk : FailWith(done);
}

}  // namespace latchkey
