#include "layout/separate/probed_cost.h"

#include <algorithm>
#include <cmath>

namespace latchkey {

void ProbedCost::Restart(double ns) {
  older_ = {.count = kBlock, .mean = ns};
  is_new_device_ = false;
  block_ = {};
  last_ = {ns};
  lasts_ = 1;
}

void ProbedCost::Add(double ns, bool exact) {
  exact_ = exact;
  std::shift_right(last_.begin(), last_.end(), 1);
  last_[0] = ns;
  lasts_ = std::min(lasts_ + 1, kMedianOf);
  block_.Add(ns);
  if (block_.count < kBlock) return;
  // The change may have come in the middle of the block that showed it, so the next one replaces that.
  const bool changed = IsOfAnotherDevice();
  if (changed || is_new_device_) older_ = {};
  is_new_device_ = changed;
  older_.Add(block_);
  older_.KeepAtMost(kMostProbes);
  block_ = {};
}

// By four standard errors of the difference, from the spread inside the two groups. A few probes
// tell their spread badly, so one more is assumed, a third of the mean away from it.
bool ProbedCost::IsOfAnotherDevice() const {
  constexpr double kErrors = 4, kAssumedSpread = 1.0 / 3;
  if (older_.count == 0) return false;
  const double assumed = kAssumedSpread * older_.mean;
  const double variance =
      (older_.squares + block_.squares + assumed * assumed) / (older_.count + block_.count - 1);
  const double error = std::sqrt(variance * (1 / older_.count + 1 / block_.count));
  return std::abs(block_.mean - older_.mean) > kErrors * error;
}

double ProbedCost::Mean() const {
  Moments all = older_;
  all.Add(block_);
  return all.mean;
}

double ProbedCost::Median() const {
  std::array<double, kMedianOf> sorted = last_;
  std::partial_sort(sorted.begin(), sorted.begin() + lasts_, sorted.begin() + lasts_);
  return sorted[(lasts_ - 1) / 2];
}

void ProbedCost::Moments::Add(const Moments& more) {
  const double sum = count + more.count;
  if (sum == 0) return;
  const double distance = more.mean - mean;
  squares += more.squares + distance * distance * count * more.count / sum;
  mean += distance * more.count / sum;
  count = sum;
}

void ProbedCost::Moments::KeepAtMost(double most) {
  if (count <= most) return;
  squares *= most / count;
  count = most;
}

}  // namespace latchkey
