#include "tools/layout_model/layout_model.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tools/layout_model/segment_utilization.h"

namespace latchkey {
namespace {

// Per user write: device time, and page writes of the device.
struct LogCost {
  double ns, writes;
};

double ShareOfWrites(const LayoutModel& model, double h) {
  return model.counted != nullptr ? model.counted->Share(h) : WriteShare(model.distribution, h);
}

// A group of a log's pages: its shares of them and of their writes.
struct LogGroup {
  double pages, writes;
};

// The share h of the pages, the hottest ones, divided into groups with equal shares of the writes.
std::vector<LogGroup> GroupsOf(const LayoutModel& model, double h) {
  std::vector<LogGroup> groups;
  const double all = ShareOfWrites(model, h);
  double from = 0;
  for (uint32_t i = 1; i <= model.log_groups; ++i) {
    double low = from, high = h;
    const double wanted = all * i / model.log_groups;
    for (int step = 0; i < model.log_groups && step < 40; ++step) {
      const double middle = 0.5 * (low + high);
      (ShareOfWrites(model, middle) < wanted ? low : high) = middle;
    }
    if (high > from) groups.push_back({(high - from) / h, 1.0 / model.log_groups});
    from = high;
  }
  return groups;
}

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
  // Cleaning the hottest pages, a share h of all, in the groups of the model.
  LogCost CleaningGroups(double u_d, double h) const {
    if (model_.log_groups <= 1 || u_d >= 1 || ShareOfWrites(model_, h) <= 0) {
      return Cleaning(CleaningUtilization(u_d));
    }
    return DivideSlots(GroupsOf(model_, h), u_d);
  }
  // Of the hot partition, the share h of the pages.
  LogCost Hot(double u_d, double h) const {
    const LogCost cleaning = CleaningGroups(u_d, h);
    if (!model_.hylog_may_plug) return cleaning;
    const LogCost plugging = Plugging(PluggingUtilization(u_d));
    return cleaning.ns <= plugging.ns ? cleaning : plugging;
  }

 private:
  // What a group costs with so many slots for each of its pages.
  struct Room {
    double slots_per_page;
    LogCost cost;
  };

  double ReadNanos(double u) const { return model_.victim_reads.entry().ns_per_slot(costs_, u); }

  const std::vector<Room>& Rooms() const {
    constexpr int kRooms = 400;
    if (!rooms_.empty()) return rooms_;
    for (int i = 1; i < kRooms; ++i) {
      const double u_d = static_cast<double>(i) / kRooms;
      rooms_.push_back({1 / u_d, Cleaning(CleaningUtilization(u_d))});
    }
    return rooms_;
  }

  // The rooms of the groups that cost least if a slot per page costs `price`.
  LogCost LeastAt(const std::vector<LogGroup>& groups, double price, double& slots) const {
    LogCost sum{0, 0};
    slots = 0;
    for (const LogGroup& group : groups) {
      const auto cost = [&](const Room& room) {
        return group.writes * room.cost.ns + price * group.pages * room.slots_per_page;
      };
      const std::vector<Room>& rooms = Rooms();
      const auto best =
          std::min_element(rooms.begin(), rooms.end(),
                           [&](const Room& a, const Room& b) { return cost(a) < cost(b); });
      slots += group.pages * best->slots_per_page;
      sum.ns += group.writes * best->cost.ns;
      sum.writes += group.writes * best->cost.writes;
    }
    return sum;
  }

  // Divides the slots, 1 / u_d for each page, among the groups.
  LogCost DivideSlots(const std::vector<LogGroup>& groups, double u_d) const {
    double low = 1e-9, high = 1e9, slots = 0;  // the price, in costs of an appended page
    for (int i = 0; i < 60; ++i) {
      const double price = std::sqrt(low * high);
      LeastAt(groups, price * costs_.segment_write_ns, slots);
      (slots > 1 / u_d ? low : high) = price;
    }
    const LogCost divided = LeastAt(groups, high * costs_.segment_write_ns, slots);
    const LogCost mixed = Cleaning(CleaningUtilization(u_d));
    return divided.ns < mixed.ns ? divided : mixed;
  }

  const LayoutModel& model_;
  const PageCosts costs_;
  mutable std::vector<Room> rooms_;  // made at the first use
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
  const LogCost cleaning = log.CleaningGroups(u_d * model.compression, 1);
  const LogCost plugging = log.Plugging(result.plugging_utilization);
  const bool into_holes = model.hylog_uses_holes && model.compression == 1 &&
                          costs.protection_ns > kDearProtection * costs.page_write_ns;
  const LogCost cold = into_holes ? LogCost{costs.alone_ns(), 1.0} : in_place;
  const auto hylog = [&](double h) {
    if (h <= 0) return cold;
    const double w = ShareOfWrites(model, h);
    const LogCost hot = log.Hot(HotUtilization(u_d, h, model.compression), h);
    return LogCost{(1 - w) * cold.ns + w * hot.ns, (1 - w) * cold.writes + w * hot.writes};
  };
  result.hot_pages =
      LeastCost([&](double h) { return hylog(h).ns; }, model.log_groups > 1 ? 50 : 1000).h;
  result.hot_writes = ShareOfWrites(model, result.hot_pages);
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
