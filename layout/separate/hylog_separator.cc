#include "layout/separate/hylog_separator.h"

#include <algorithm>

namespace latchkey {
namespace {

constexpr double kGainOfMixing = 0.10;
constexpr double kGainOfChange = 0.05;
constexpr uint32_t kEpochsOfWish = 2;

double LogCost(const TuningInputs& inputs, double utilization) {
  const double cleaning = CleaningCostNanos(inputs.costs, CleaningUtilization(utilization));
  if (!inputs.plugging_allowed) return cleaning;
  return std::min(cleaning, PluggingCostNanos(inputs.costs, PluggingUtilization(utilization)));
}

}  // namespace

double HotThreshold::Predict(const TuningInputs& inputs, const Choice& choice) const {
  if (choice.h <= 0) return inputs.costs.all_in_place_ns();
  double hot_utilization = HotPartitionUtilization(inputs.space_utilization, choice.h);
  // The measured bias holds for the present threshold. For another threshold only the pessimistic
  // side of it is carried over.
  const bool as_running = choice.threshold == current_.threshold;
  hot_utilization += as_running ? model_bias_ : std::max(0.0, model_bias_);
  hot_utilization = std::clamp(hot_utilization, 0.0, 0.9999);
  return (1 - choice.w) * inputs.costs.in_place_ns() + choice.w * LogCost(inputs, hot_utilization);
}

void HotThreshold::Begin(const TuningInputs& inputs) {
  Choice all{kAllHot, 1, 1, 0}, none{kAllCold, 0, 0, 0};
  all.cost_ns = Predict(inputs, all);
  none.cost_ns = Predict(inputs, none);
  current_ = all.cost_ns <= none.cost_ns ? all : none;
}

HotThreshold::Choice HotThreshold::Evaluate(const TuningInputs& inputs, uint32_t threshold) const {
  Choice choice{threshold, 0, 0, 0};
  double pages = 0, writes = 0;
  for (size_t b = 0; b < WriteFrequency::kBuckets; ++b) {
    pages += smoothed_.pages[b];
    writes += smoothed_.writes[b];
    if (threshold == kAllCold || WriteFrequency::LowerBound(b) < threshold) continue;
    choice.h += smoothed_.pages[b];
    choice.w += smoothed_.writes[b];
  }
  choice.h = pages > 0 ? choice.h / pages : (threshold == kAllCold ? 0 : 1);
  choice.w = writes > 0 ? choice.w / writes : choice.h;
  choice.cost_ns = Predict(inputs, choice);
  return choice;
}

HotThreshold::Choice HotThreshold::Best(const TuningInputs& inputs) const {
  const Choice all = Evaluate(inputs, kAllHot);
  const Choice none = Evaluate(inputs, kAllCold);
  const Choice pure = all.cost_ns <= none.cost_ns ? all : none;
  if (epochs_ < kEpochsBeforeMixing) return pure;
  Choice best = pure;
  for (size_t b = 1; b < WriteFrequency::kBuckets; ++b) {
    const Choice mixed = Evaluate(inputs, WriteFrequency::LowerBound(b));
    if (mixed.cost_ns < best.cost_ns) best = mixed;
  }
  return best.cost_ns < (1 - kGainOfMixing) * pure.cost_ns ? best : pure;
}

void HotThreshold::Calibrate(const TuningInputs& inputs) {
  if (!inputs.cleaning_utilization || current_.h <= 0) return;
  const double u = std::clamp(*inputs.cleaning_utilization, 0.01, 0.9999);
  const double seen = DiskUtilizationFromCleaning(u);
  const double predicted = HotPartitionUtilization(inputs.space_utilization, current_.h);
  model_bias_ = std::clamp(0.5 * model_bias_ + 0.5 * (seen - predicted), -0.25, 0.10);
}

void HotThreshold::Update(const TuningInputs& inputs, const WriteFrequency::Distribution& epoch) {
  const double keep = epochs_ == 0 ? 0.0 : 0.5;
  for (size_t b = 0; b < WriteFrequency::kBuckets; ++b) {
    smoothed_.pages[b] = keep * smoothed_.pages[b] + (1 - keep) * epoch.pages[b];
    smoothed_.writes[b] = keep * smoothed_.writes[b] + (1 - keep) * epoch.writes[b];
  }
  ++epochs_;
  Calibrate(inputs);
  const Choice stay = Evaluate(inputs, current_.threshold);
  const Choice best = Best(inputs);
  current_ = stay;
  if (best.threshold == stay.threshold || best.cost_ns > (1 - kGainOfChange) * stay.cost_ns) {
    wish_epochs_ = 0;
    return;
  }
  wish_epochs_ = wish_epochs_ > 0 ? wish_epochs_ + 1 : 1;
  if (wish_epochs_ < kEpochsOfWish) return;
  current_ = best;
  wish_epochs_ = 0;
  model_bias_ = std::max(0.0, model_bias_);
}

Placement HylogSeparator::OnWrite(PageId id) {
  frequency_.OnWrite(id);
  return OnMove(id);
}

Placement HylogSeparator::OnMove(PageId id) const {
  const uint32_t threshold = threshold_.load(std::memory_order_relaxed);
  if (threshold == HotThreshold::kAllHot) return Placement::kHot;
  if (threshold == HotThreshold::kAllCold) return Placement::kInPlace;
  return frequency_.History(id) >= threshold ? Placement::kHot : Placement::kInPlace;
}

void HylogSeparator::Tune(const TuningInputs& inputs, absl::FunctionRef<bool(PageId)> is_live) {
  if (!begun_) {
    decision_.Begin(inputs);
    begun_ = true;
  } else {
    decision_.Update(inputs, frequency_.EndEpoch(inputs.page_id_limit, is_live));
  }
  threshold_.store(decision_.threshold(), std::memory_order_relaxed);
  hot_proportion_.store(decision_.current().h, std::memory_order_relaxed);
}

}  // namespace latchkey
