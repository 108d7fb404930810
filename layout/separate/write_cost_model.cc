#include "layout/separate/write_cost_model.h"

#include <algorithm>
#include <cmath>

namespace latchkey {
namespace {

// The root of the increasing function `f` in (low, high): plain bisection to double precision.
double Bisect(double low, double high, absl::FunctionRef<double(double)> f) {
  for (int i = 0; i < 100; ++i) {
    const double middle = 0.5 * (low + high);
    (f(middle) < 0 ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

}  // namespace

double SegmentIoEfficiency(const DiskParameters& disk, double page_kb, double segment_kb) {
  const double product_kb = disk.positioning_ms * disk.bandwidth_kb_per_ms;
  const double pages = segment_kb / page_kb;
  return pages * (page_kb + product_kb) / (segment_kb + product_kb);
}

double PreferredSegmentKb(const DiskParameters& disk) {
  return 4 * disk.positioning_ms * disk.bandwidth_kb_per_ms;
}

double NearestPowerOfTwo(double x) {
  const double below = std::exp2(std::floor(std::log2(x)));
  return x - below < 2 * below - x ? below : 2 * below;
}

double DiskUtilizationFromCleaning(double u) { return (u - 1) / std::log(u); }

double CleaningUtilization(double disk_utilization) {
  if (disk_utilization <= 0) return 0;
  if (disk_utilization >= 1) return 1;
  return Bisect(1e-15, 1 - 1e-12,
                [&](double u) { return DiskUtilizationFromCleaning(u) - disk_utilization; });
}

double DiskUtilizationFromPlugging(double u) { return 1 / (u - std::log(u)); }

double PluggingUtilization(double disk_utilization) {
  if (disk_utilization <= 0) return 0;
  if (disk_utilization >= 1) return 1;
  return Bisect(1e-15, 1 - 1e-12,
                [&](double u) { return DiskUtilizationFromPlugging(u) - disk_utilization; });
}

double ScaledOverwriteCost(double eta) { return eta; }
double ScaledCleaningCost(double u) { return 2 / (1 - u); }
double ScaledPluggingCost(double u, double eta) { return 2 + u * eta; }
double CrossingUtilization(double eta) { return 1 - 2 / eta; }

double HotPartitionUtilization(double disk_utilization, double hot_proportion) {
  const double live = disk_utilization * hot_proportion;
  return live / (1 - disk_utilization + live);
}

double ScaledHylogCost(double eta, double disk_utilization, double h, double w) {
  if (h <= 0) return ScaledOverwriteCost(eta);
  const double u = CleaningUtilization(HotPartitionUtilization(disk_utilization, h));
  return (1 - w) * eta + w * ScaledCleaningCost(u);
}

HotChoice LeastCost(absl::FunctionRef<double(double)> cost, int steps) {
  HotChoice best{0, cost(0)};
  for (int i = 1; i <= steps; ++i) {
    const double h = static_cast<double>(i) / steps;
    const double here = cost(h);
    if (here < best.cost) best = {h, here};
  }
  return best;
}

HotChoice BestHotProportion(double eta, double disk_utilization,
                            absl::FunctionRef<double(double)> w, int steps) {
  return LeastCost([&](double h) { return ScaledHylogCost(eta, disk_utilization, h, w(h)); },
                   steps);
}

double UniformWriteShare(double h) { return h; }

double KnuthWriteShare(double a_percent, double b_percent, double h) {
  return std::pow(h, std::log(a_percent / 100) / std::log(b_percent / 100));
}

double HillWriteShare(double h) {
  const double x = std::pow(100 * h, 0.546);
  return std::min(1.0, 1.05 * x / (0.528 + x));
}

double LiveReadNanos(const PageCosts& costs, double u) {
  if (costs.page_read_ns <= 0 || costs.slot_read_ns <= 0 || costs.slots_per_segment == 0) {
    return costs.segment_read_ns * costs.read_share;
  }
  const double positioning = std::max(0.0, costs.page_read_ns - costs.slot_read_ns);
  const double whole =
      (positioning / costs.slots_per_segment + costs.slot_read_ns) / std::max(1e-6, u);
  return std::min(costs.page_read_ns, whole) * costs.read_share;
}

double CleaningCostNanos(const PageCosts& costs, double u) {
  return (costs.append_ns() + u * LiveReadNanos(costs, u)) / std::max(1e-6, 1 - u);
}

double PluggingCostNanos(const PageCosts& costs, double u) {
  return costs.append_ns() + u * (LiveReadNanos(costs, u) + costs.plug_ns());
}

}  // namespace latchkey
