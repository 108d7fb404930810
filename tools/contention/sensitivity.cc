#include "tools/contention/sensitivity.h"

#include <fmt/format.h>

#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

struct Outcome {
  double throughput = 0, contentions = 0;  // per second, per access
};
using Outcomes = std::vector<Outcome>;

absl::StatusOr<Outcome> RunOne(const ProcessorModelConfig& config) {
  LATCHKEY_ASSIGN_OR_RETURN(const ProcessorModelResult result, RunProcessorModel(config));
  const PoolEmulatorResult& emulated = result.emulated;
  if (emulated.interval.interrupted) return absl::CancelledError("the analysis was stopped");
  const auto accesses = static_cast<double>(emulated.hits + emulated.misses);
  if (accesses == 0) return Outcome{};
  return Outcome{.throughput = accesses / emulated.interval.seconds,
                 .contentions = static_cast<double>(emulated.contentions) / accesses};
}

bool Holds(const Statement& statement, const Outcomes& outcomes) {
  constexpr double kTimes = 100;
  const Outcome &subject = outcomes[statement.subject], &object = outcomes[statement.object];
  if (statement.kind == Statement::Kind::kFaster) return subject.throughput > object.throughput;
  return object.contentions > 0 && object.contentions >= kTimes * subject.contentions;
}

std::vector<Statement> StatementsOf(std::span<const LabelledModel> models,
                                    const Outcomes& outcomes) {
  std::vector<Statement> statements;
  const auto add = [&](Statement::Kind kind, size_t subject, size_t object) {
    Statement statement{.kind = kind,
                        .subject = subject,
                        .object = object,
                        .processors = models[subject].config.processors,
                        .holds = false,
                        .depends_on = {}};
    statement.holds = Holds(statement, outcomes);
    statements.push_back(std::move(statement));
  };
  for (size_t a = 0; a < models.size(); ++a) {
    for (size_t b = a + 1; b < models.size(); ++b) {
      if (models[a].config.processors != models[b].config.processors) continue;
      const bool a_is_faster = outcomes[a].throughput >= outcomes[b].throughput;
      add(Statement::Kind::kFaster, a_is_faster ? a : b, a_is_faster ? b : a);
      if (outcomes[a].contentions + outcomes[b].contentions == 0) continue;
      const bool a_has_fewer = outcomes[a].contentions <= outcomes[b].contentions;
      add(Statement::Kind::kHundredTimesFewerContentions, a_has_fewer ? a : b, a_has_fewer ? b : a);
    }
  }
  return statements;
}

}  // namespace

std::string Statement::Text(std::span<const LabelledModel> models) const {
  return fmt::format(
      "{} {} {}", models[subject].policy,
      kind == Kind::kFaster ? "is faster than" : "has at least 100 times fewer contentions than",
      models[object].policy);
}

absl::StatusOr<std::vector<Statement>> AnalyseSensitivity(
    std::span<const LabelledModel> models, absl::FunctionRef<void(double share)> progress) {
  const auto runs = static_cast<double>(models.size() * (1 + 2 * NamedCosts().size()));
  double done = 0;
  const auto run_all = [&](auto change) -> absl::StatusOr<Outcomes> {
    Outcomes outcomes;
    for (const LabelledModel& model : models) {
      progress(done++ / runs);
      ProcessorModelConfig config = model.config;
      config.costs = change(config.costs);
      LATCHKEY_ASSIGN_OR_RETURN(const Outcome outcome, RunOne(config));
      outcomes.push_back(outcome);
    }
    return outcomes;
  };
  LATCHKEY_ASSIGN_OR_RETURN(const Outcomes base,
                            run_all([](const ModelCosts& costs) { return costs; }));
  std::vector<Statement> statements = StatementsOf(models, base);
  for (const NamedCost& cost : NamedCosts()) {
    for (const double factor : {0.5, 2.0}) {
      LATCHKEY_ASSIGN_OR_RETURN(const Outcomes changed, run_all([&](const ModelCosts& costs) {
                                  return Scaled(costs, cost, factor);
                                }));
      for (Statement& statement : statements) {
        if (Holds(statement, changed) == statement.holds) continue;
        statement.depends_on.push_back(
            fmt::format("{} {}", cost.name, factor < 1 ? "halved" : "doubled"));
      }
    }
  }
  return statements;
}

}  // namespace latchkey
