#include "tools/cli/model_command.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "storage/base/status_macros.h"
#include "tools/cli/model_plan.h"
#include "tools/cli/progress.h"
#include "tools/cli/signals.h"
#include "tools/layout_model/measured_costs.h"
#include "tools/layout_model/model_report.h"

namespace latchkey {
namespace {

// Each disk is measured once for each page and segment.
class Measurements {
 public:
  absl::Status Fill(ModelPlan& plan) {
    const SegmentQuestion& q = plan.question;
    const auto key = std::tuple(plan.measure, q.page_bytes, q.segment_bytes, q.protection);
    auto known = known_.find(key);
    if (known == known_.end()) {
      progress_.Show(fmt::format("measures pages of {} bytes in {}", q.page_bytes, plan.measure));
      const absl::StatusOr<SegmentCosts> costs =
          MeasureCosts(plan.measure, q, [this](LogLevel, std::string_view message) {
            progress_.Clear();
            spdlog::warn("{}", message);
          });
      progress_.Clear();
      LATCHKEY_RETURN_IF_ERROR(costs.status());
      known = known_.emplace(key, *costs).first;
    }
    plan.model.costs = known->second.costs;
    plan.row["segment_bytes"] = known->second.segment_bytes;
    return absl::OkStatus();
  }

 private:
  Progress progress_;
  std::map<std::tuple<std::string, uint32_t, uint64_t, ModelProtection>, SegmentCosts> known_;
};

}  // namespace

int ModelCommand(const FlagTexts& texts, const ExperimentFlags& flags) {
  if (absl::Status status = CheckOutputs(flags.output); !status.ok()) return FailWith(status);
  auto plans = PlanAll(ExpandModel(texts), PlanModel);
  if (!plans.ok()) return FailWith(plans.status());
  Measurements measurements;
  SweepOutcome outcome;
  for (ModelPlan& plan : *plans) {
    if (StopRequested().load(std::memory_order_relaxed)) break;
    if (!plan.measure.empty()) {
      const absl::Status status = measurements.Fill(plan);
      if (!status.ok()) return FailWith(status);
    }
    AddPrediction(plan.model, plan.in_ns, plan.row);
    outcome.rows.push_back(std::move(plan.row));
  }
  outcome.not_run = plans->size() - outcome.rows.size();
  outcome.interrupted = outcome.not_run > 0;
  return FinishSweep(flags, outcome, kModelSchema, ModelColumns());
}

}  // namespace latchkey
