#include "tools/layout_model/layout_model.h"

#include <algorithm>
#include <cmath>

#include "tools/layout_model/segment_utilization.h"

namespace latchkey {
namespace {

// Per user write: device time, and page writes of the device.
struct LogCost {
  double ns, writes;
};

// A log that appends pages: LFS, or the hot partition of HyLog.
class Log {
 public:
  Log(const LayoutModel& model, const PageCosts& page_costs)
      : model_(model), costs_(OfCompressedPages(page_costs, model.compression)) {}

  double CleaningUtilization(double u_d) const {
    return model_.few_slots ? CleaningUtilizationOf(costs_.slots_per_segment, u_d)
                            : latchkey::CleaningUtilization(u_d);
  }
  double PluggingUtilization(double u_d) const {
    return model_.few_slots ? PluggingUtilizationOf(costs_.slots_per_segment, u_d)
                            : latchkey::PluggingUtilization(u_d);
  }
  // (6.5): one segment read and u segments written free 1 - u.
  LogCost Cleaning(double u) const {
    if (u >= 1) return {HUGE_VAL, HUGE_VAL};
    return {(costs_.segment_write_ns + ReadNanos(u)) / (1 - u), model_.compression / (1 - u)};
  }
  // (6.6): one segment read and u S page writes free the whole segment.
  LogCost Plugging(double u) const {
    return {costs_.segment_write_ns + ReadNanos(u) + u * costs_.page_write_ns,
            model_.compression * (1 + u)};
  }
  // Of the hot partition.
  LogCost Hot(double u_d) const {
    const LogCost cleaning = Cleaning(CleaningUtilization(u_d));
    if (!model_.hylog_may_plug) return cleaning;
    const LogCost plugging = Plugging(PluggingUtilization(u_d));
    return cleaning.ns <= plugging.ns ? cleaning : plugging;
  }

 private:
  double ReadNanos(double u) const { return model_.victim_reads.entry().ns_per_slot(costs_, u); }

  const LayoutModel& model_;
  const PageCosts costs_;
};

// The u at which `cost` reaches `limit`; 1 if none below 1 does.
double Crossing(double limit, absl::FunctionRef<double(double)> cost) {
  double low = 0, high = 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (cost(middle) < limit ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

// u_d and h of (6.7) when hot pages need the share `c` of a slot, and cold ones a whole one.
double HotUtilization(double u_d, double h, double c) {
  const double used = u_d * (1 - h) + u_d * h * c;
  return HotPartitionUtilization(used, u_d * h * c / used);
}

PageCosts WithIdleDisks(PageCosts costs, double idle) {
  costs.page_write_ns /= 1 - idle;
  return costs;
}

}  // namespace

PageCosts OfCompressedPages(const PageCosts& costs, double compression) {
  PageCosts smaller = costs;
  const double slots = costs.slots_per_segment;
  // T_pg = T_pos + t and S sw = T_pos + S t give the time t of a page's transfer.
  const double transfer =
      std::max(0.0, (slots * costs.segment_write_ns - costs.page_write_ns) / (slots - 1));
  smaller.page_write_ns -= (1 - compression) * std::min(transfer, costs.page_write_ns);
  smaller.segment_write_ns *= compression;
  smaller.page_read_ns -= (1 - compression) * costs.slot_read_ns;
  smaller.segment_read_ns -= (1 - compression) * costs.slot_read_ns;
  smaller.slot_read_ns *= compression;
  smaller.slots_per_segment = static_cast<uint32_t>(std::lround(slots / compression));
  return smaller;
}

LayoutCosts PredictCosts(const LayoutModel& model) {
  const PageCosts costs = WithIdleDisks(model.costs, model.idle);
  const double unit = costs.segment_write_ns, u_d = model.space_utilization;
  const Log log(model, costs);
  LayoutCosts result;
  result.eta = costs.eta();
  result.cleaning_utilization = log.CleaningUtilization(u_d * model.compression);
  result.plugging_utilization = log.PluggingUtilization(u_d * model.compression);
  const LogCost in_place{costs.in_place_ns(), costs.protection_ns > 0 ? 2.0 : 1.0};
  const LogCost cleaning = log.Cleaning(result.cleaning_utilization);
  const LogCost plugging = log.Plugging(result.plugging_utilization);
  const auto hylog = [&](double h) {
    if (h <= 0) return in_place;
    const double w = WriteShare(model.distribution, h);
    const LogCost hot = log.Hot(HotUtilization(u_d, h, model.compression));
    return LogCost{(1 - w) * in_place.ns + w * hot.ns, (1 - w) * in_place.writes + w * hot.writes};
  };
  result.hot_pages = LeastCost([&](double h) { return hylog(h).ns; }).h;
  result.hot_writes = WriteShare(model.distribution, result.hot_pages);
  const LogCost best = hylog(result.hot_pages);
  const ByLayout nanos{in_place.ns, cleaning.ns, plugging.ns, best.ns};
  result.write_amplification = {in_place.writes, cleaning.writes, plugging.writes, best.writes};
  const double reads = model.reads_per_write * costs.page_read_ns / (1 - model.idle);
  for (double ByLayout::*layout :
       {&ByLayout::overwrite, &ByLayout::lfs_cleaning, &ByLayout::lfs_plugging, &ByLayout::hylog}) {
    result.cost.*layout = nanos.*layout / unit;
    result.relative_throughput.*layout = (reads + in_place.ns) / (reads + nanos.*layout);
  }
  result.crossing_utilization = Crossing(in_place.ns, [&](double u) { return log.Cleaning(u).ns; });
  result.crossing_space_utilization = Crossing(in_place.ns, [&](double x) {
    return log.Cleaning(log.CleaningUtilization(x * model.compression)).ns;
  });
  return result;
}

}  // namespace latchkey
