#include "layout/separate/hylog_separator.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace latchkey {
namespace {

constexpr double kGainOfMixing = 0.10;
// Over a log of all pages that is divided by death time: it has most of the gain by itself. Slots that
// become free among cold pages are lost to the log, unless cold pages go into them.
constexpr double kGainOverDivided = 0.30;
constexpr double kGainOfChange = 0.05;
constexpr uint32_t kEpochsOfWish = 2;
constexpr double kEpochsOfMemory = 128;  // of what a log has cost that is not running
// Stretches of measurement after a change of threshold that tell nothing: the first one began before
// it, and in the second one pages move over.
constexpr uint32_t kMovingOver = 2;
constexpr double kMostInherited = 2;   // of the factor of a log of all pages, by a mix
constexpr size_t kBucketsOfGroup = 8;  // frequencies within a factor of 4

double LogCost(const TuningInputs& inputs, double utilization) {
  const double cleaning = CleaningCostNanos(inputs.costs, CleaningUtilization(utilization));
  if (!inputs.plugging_allowed) return cleaning;
  return std::min(cleaning, PluggingCostNanos(inputs.costs, PluggingUtilization(utilization)));
}

}  // namespace

double HotThreshold::NanosByDeathTime(const TuningInputs& inputs, uint32_t threshold) const {
  struct Group {
    double pages = 0, writes = 0;
    double Weight() const { return std::sqrt(pages * writes); }
  };
  std::array<Group, WriteFrequency::kBuckets / kBucketsOfGroup + 1> groups;
  double pages = 0, weights = 0, writes = 0, cost = 0;
  for (size_t b = 0; b < WriteFrequency::kBuckets; ++b) {
    pages += smoothed_.pages[b];
    if (WriteFrequency::LowerBound(b) < threshold) continue;
    Group& group = groups[(b + kBucketsOfGroup - 1) / kBucketsOfGroup];  // bucket 0 by itself
    group.pages += smoothed_.pages[b];
    group.writes += smoothed_.writes[b];
  }
  for (const Group& group : groups) weights += group.Weight();
  const double u_d = inputs.space_utilization;
  for (const Group& group : groups) {
    if (group.Weight() <= 0) continue;
    const double live = u_d * group.pages / pages;
    const double free = (1 - u_d) * group.Weight() / weights;
    cost += group.writes * LogCost(inputs, live / (live + free));
    writes += group.writes;
  }
  return writes > 0 ? cost / writes : LogCost(inputs, u_d);
}

double HotThreshold::FormulaLogNanos(const TuningInputs& inputs, const Choice& choice) const {
  if (inputs.by_death_time && epochs_ > 0) return NanosByDeathTime(inputs, choice.threshold);
  return LogCost(inputs, HotPartitionUtilization(inputs.space_utilization, choice.h));
}

double HotThreshold::Predict(const TuningInputs& inputs, const Choice& choice) const {
  if (choice.h <= 0) return inputs.costs.all_in_place_ns();
  double factor = FactorOf(choice.threshold);
  // Where a log of all pages costs more than the formulas say, a mix that is not running will, too.
  if (choice.threshold != current_.threshold && choice.threshold != kAllHot) {
    factor = std::max(factor, std::min(all_hot_factor_, kMostInherited));
  }
  return (1 - choice.w) * inputs.costs.in_place_ns() +
         choice.w * factor * FormulaLogNanos(inputs, choice);
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
  const bool is_divided =
      inputs.by_death_time && pure.threshold == kAllHot && !inputs.cold_into_holes;
  const double gain = is_divided ? kGainOverDivided : kGainOfMixing;
  return best.cost_ns < (1 - gain) * pure.cost_ns ? best : pure;
}

void HotThreshold::Calibrate(const TuningInputs& inputs) {
  constexpr double kLeast = 1.0 / 16, kMost = 8;
  double& running = FactorOf(current_.threshold);
  for (double* factor : {&all_hot_factor_, &mixed_factor_}) {
    if (factor != &running || current_.h <= 0) *factor += (1 - *factor) / kEpochsOfMemory;
  }
  if (!inputs.log_ns || current_.h <= 0) return;
  if (moving_over_ > 0) {
    --moving_over_;
    return;
  }
  const double formula = FormulaLogNanos(inputs, current_);
  if (formula <= 0) return;
  // One dear stretch of time does not outweigh what was known.
  const double now = std::min(*inputs.log_ns / formula, 2 * running);
  running = std::clamp(0.5 * running + 0.5 * now, kLeast, kMost);
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
  moving_over_ = kMovingOver;
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

// Doublewriting costs a second write, in sequence, and a share of a sync. On disks that is little beside the
// seek, and a batch of pages in place is written in one sweep of the arm. In a file with page compression
// cheap cold pages would make the file larger: they keep their whole slots.
void HylogSeparator::ChooseColdWrites(const TuningInputs& inputs) {
  constexpr double kHysteresis = 1.25;
  if (!decides_cold_writes_) return;
  const bool now = cold_writes() == ColdWrites::kIntoHoles;
  const double dear = now ? kDearProtection / kHysteresis : kDearProtection * kHysteresis;
  const bool is_dear = inputs.costs.protection_ns > dear * inputs.costs.page_write_ns;
  const bool saves_writes = inputs.writes_twice && is_dear && !inputs.compresses;
  SetColdWrites(saves_writes ? ColdWrites::kIntoHoles : ColdWrites::kInPlace);
}

void HylogSeparator::Tune(const TuningInputs& measured, absl::FunctionRef<bool(PageId)> is_live) {
  ChooseColdWrites(measured);
  TuningInputs inputs = measured;
  const bool into_holes = measured.writes_twice && cold_writes() == ColdWrites::kIntoHoles;
  if (into_holes) inputs.costs.protection_ns = 0;
  inputs.cold_into_holes = into_holes;
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
