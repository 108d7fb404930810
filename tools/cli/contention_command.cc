#include "tools/cli/contention_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "storage/base/status_macros.h"
#include "tools/cli/contention_plan.h"
#include "tools/cli/flag_values.h"
#include "tools/cli/progress.h"
#include "tools/cli/signals.h"
#include "tools/contention/lock_benchmark.h"
#include "tools/contention/pool_emulator.h"
#include "tpcc-lite/report/environment.h"

namespace latchkey {
namespace {

std::vector<FlagSpec> CommonFlags() {
  return {{"threads", "1,2", "threads; more than cores measure preemption"},
          {"work-us", "1", "processor time of a thread between two accesses"},
          {"warmup", "0.5", "before anything is counted"},
          {"duration", "2", "of the measured part"},
          {"seed", "42", "of the accesses and of random choices"}};
}

std::vector<FlagSpec> With(std::vector<FlagSpec> flags, std::vector<FlagSpec> more) {
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

absl::StatusOr<MeasuredTimes> ParseTimes(const Combination& from) {
  MeasuredTimes times;
  LATCHKEY_ASSIGN_OR_RETURN(const uint64_t threads,
                            ParseCount("threads", from.Get("threads"), 1, kMostThreads));
  times.threads = static_cast<uint32_t>(threads);
  LATCHKEY_ASSIGN_OR_RETURN(times.warmup, ParseDuration("warmup", from.Get("warmup")));
  LATCHKEY_ASSIGN_OR_RETURN(times.duration, ParseDuration("duration", from.Get("duration")));
  if (times.duration == 0) {
    return InvalidArgument("--duration={}: give a time above 0", from.Get("duration"));
  }
  times.stop = &StopRequested();
  return times;
}

// What a row of either verb has in common.
Json BaseRow(const Combination& from, const MeasuredTimes& times) {
  Json warnings = Json::array();
  for (const std::string& warning : BuildWarnings()) warnings.push_back(warning);
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  if (times.threads > static_cast<uint32_t>(cores)) {
    warnings.push_back(fmt::format("{} threads on {} cores: the contentions include preemptions",
                                   times.threads, cores));
  }
  return {{"threads", times.threads},
          {"work_us", ParseNumber("work-us", from.Get("work-us"), 0, kMostMicros).value_or(0)},
          {"error", nullptr},
          {"interrupted", false},
          {"warnings", std::move(warnings)}};
}

// ---- contention pool

struct PoolPlan {
  PoolEmulatorConfig config;
  Json row;
};

absl::StatusOr<PoolPlan> PlanPool(const Combination& from, PageTraces& traces) {
  LATCHKEY_ASSIGN_OR_RETURN(PoolEmulatorConfig config, ParsePool(from, traces));
  LATCHKEY_ASSIGN_OR_RETURN(config.times, ParseTimes(from));
  LATCHKEY_RETURN_IF_ERROR(CheckPoolEmulator(config));
  Json row = BaseRow(from, config.times);
  row.update(DescribePool(from, config));
  AddPoolWarnings(row, config);
  return PoolPlan{std::move(config), std::move(row)};
}

Json RunPool(const PoolPlan& plan) {
  Json row = plan.row;
  const absl::StatusOr<PoolEmulatorResult> result = RunPoolEmulator(ThreadRuntime(), plan.config);
  if (!result.ok()) {
    row["error"] = std::string(result.status().message());
    return row;
  }
  AddPoolFigures(row, *result);
  return row;
}

const std::vector<std::string>& PoolFigures() {
  static const std::vector<std::string> figures = {
      "/accesses_per_s", "/hit_ratio", "/locks_per_million", "/contentions_per_million"};
  return figures;
}

// ---- contention lock

struct LockPlan {
  LockBenchmarkConfig config;
  Json row;
};

absl::StatusOr<LockKind> ParseLockKind(const std::string& text) {
  for (size_t i = 0; i < std::size(kLockKindNames); ++i) {
    if (text == kLockKindNames[i]) return static_cast<LockKind>(i);
  }
  return InvalidArgument("--lock={}: known: {}", text, fmt::join(kLockKindNames, ", "));
}

absl::StatusOr<LockPlan> PlanLock(const Combination& from) {
  LockBenchmarkConfig config;
  LATCHKEY_ASSIGN_OR_RETURN(config.lock, ParseLockKind(from.Get("lock")));
  LATCHKEY_ASSIGN_OR_RETURN(const uint64_t locks, ParseCount("locks", from.Get("locks"), 1, 4096));
  config.locks = static_cast<uint32_t>(locks);
  LATCHKEY_ASSIGN_OR_RETURN(const uint64_t batch, ParseCount("batch", from.Get("batch"), 1, 4096));
  config.batch = static_cast<uint32_t>(batch);
  LATCHKEY_ASSIGN_OR_RETURN(config.hold, ParseMicros("hold-us", from.Get("hold-us")));
  LATCHKEY_ASSIGN_OR_RETURN(config.work, ParseMicros("work-us", from.Get("work-us")));
  LATCHKEY_ASSIGN_OR_RETURN(config.seed, ParseSeed(from));
  LATCHKEY_ASSIGN_OR_RETURN(config.times, ParseTimes(from));
  Json row = BaseRow(from, config.times);
  row["lock"] = from.Get("lock");
  row["locks"] = config.locks;
  row["batch"] = config.batch;
  row["hold_us"] = static_cast<double>(config.hold) / kNanosPerMicro;
  return LockPlan{config, std::move(row)};
}

Json RunLock(const LockPlan& plan) {
  Json row = plan.row;
  const LockBenchmarkResult result = RunLockBenchmark(ThreadRuntime(), plan.config);
  AddInterval(row, result.interval, result.accesses);
  row["contentions_per_million"] = PerMillion(result.contentions, result.accesses);
  const bool any = result.requests > 0;
  row["wait_ns_per_access"] = any ? Json(result.wait_ns / plan.config.batch) : Json(nullptr);
  row["held_ns_per_access"] = any ? Json(result.held_ns / plan.config.batch) : Json(nullptr);
  return row;
}

const std::vector<Column>& LockColumns() {
  static const std::vector<Column> columns = {
      {"lock", "/lock", ColumnFormat::kText, true},
      {"locks", "/locks", ColumnFormat::kCount, true},
      {"batch", "/batch", ColumnFormat::kCount, true},
      {"hold us", "/hold_us", ColumnFormat::kNumber, true},
      {"work us", "/work_us", ColumnFormat::kNumber, true},
      {"threads", "/threads", ColumnFormat::kCount, true},
      {"accesses/s", "/accesses_per_s", ColumnFormat::kCount},
      {"contentions per million", "/contentions_per_million", ColumnFormat::kNumber},
      {"wait ns per access", "/wait_ns_per_access", ColumnFormat::kNumber},
      {"held ns per access", "/held_ns_per_access", ColumnFormat::kNumber},
  };
  return columns;
}

const std::vector<std::string>& LockFigures() {
  static const std::vector<std::string> figures = {"/accesses_per_s", "/contentions_per_million",
                                                   "/wait_ns_per_access", "/held_ns_per_access"};
  return figures;
}

// ---- Both

template <typename Plan>
int Sweep(const std::vector<Plan>& plans, const ExperimentFlags& flags,
          std::span<const std::string> figures, std::span<const Column> columns,
          Json (*run)(const Plan& plan)) {
  Progress progress;
  const SweepOutcome outcome =
      RunSweep(plans.size(), flags.repeat, figures, [&](size_t index, const std::string& position) {
        progress.Show(fmt::format("{}contention", position));
        return run(plans[index]);
      });
  progress.Clear();
  return FinishSweep(flags, outcome, kContentionSchema, columns);
}

}  // namespace

std::vector<Column> ContentionColumns() {
  std::vector<Column> columns = PoolColumns();
  for (const Column& column : LockColumns()) {
    const bool new_one = std::none_of(columns.begin(), columns.end(), [&](const Column& other) {
      return other.pointer == column.pointer;
    });
    if (!new_one) continue;
    // The lock names the rows of its verb, so it comes first; figures come last.
    columns.insert(column.pointer == "/lock" ? columns.begin() : columns.end(), column);
  }
  return columns;
}

std::vector<FlagSpec> ContentionPoolFlags() { return With(PoolFlags("1M"), CommonFlags()); }

std::vector<FlagSpec> ContentionLockFlags() {
  return With({{"lock", "sleep", fmt::format("{}", fmt::join(kLockKindNames, ", "))},
               {"locks", "1", "each request is for one of them, drawn at random"},
               {"batch", "1", "accesses under one request"},
               {"hold-us", "0.1", "processor time of an access under the lock"}},
              CommonFlags());
}

int ContentionPoolCommand(const FlagTexts& texts, const ExperimentFlags& flags) {
  if (absl::Status status = CheckOutputs(flags.output); !status.ok()) return FailWith(status);
  PageTraces traces;
  const auto plans =
      PlanAll(ExpandContention(ContentionPoolFlags(), texts),
              [&](const Combination& combination) { return PlanPool(combination, traces); });
  if (!plans.ok()) return FailWith(plans.status());
  return Sweep(*plans, flags, PoolFigures(), PoolColumns(), RunPool);
}

int ContentionLockCommand(const FlagTexts& texts, const ExperimentFlags& flags) {
  if (absl::Status status = CheckOutputs(flags.output); !status.ok()) return FailWith(status);
  const auto plans = PlanAll(ExpandContention(ContentionLockFlags(), texts), PlanLock);
  if (!plans.ok()) return FailWith(plans.status());
  return Sweep(*plans, flags, LockFigures(), LockColumns(), RunLock);
}

}  // namespace latchkey
