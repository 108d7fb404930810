#include "tools/layout_model/model_report.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tpcc-lite/report/device_time.h"

namespace latchkey {
namespace {

constexpr std::pair<const char*, double ByLayout::*> kLayouts[] = {
    {"overwrite", &ByLayout::overwrite},
    {"lfs_cleaning", &ByLayout::lfs_cleaning},
    {"lfs_plugging", &ByLayout::lfs_plugging},
    {"hylog", &ByLayout::hylog},
};

Json ToJson(const ByLayout& figures) {
  Json json;
  for (const auto& [name, figure] : kLayouts) {
    const double value = figures.*figure;
    json[name] = std::isfinite(value) ? Json(value) : Json(nullptr);
  }
  return json;
}

// Of equal costs the simplest layout: HyLog only where it mixes.
std::string Cheapest(const ByLayout& cost) {
  const auto* best = &kLayouts[0];
  for (const auto& layout : kLayouts) {
    if (cost.*layout.second < cost.*best->second * (1 - 1e-9)) best = &layout;
  }
  return best->first;
}

}  // namespace

void AddPrediction(const LayoutModel& model, bool in_ns, Json& row) {
  const LayoutCosts predicted = PredictCosts(model);
  const PageCosts& costs = model.costs;
  row["eta"] = predicted.eta;
  row["slots_per_segment"] = costs.slots_per_segment;
  row["u"] = predicted.cleaning_utilization;
  row["u_plugging"] = predicted.plugging_utilization;
  row["cost"] = ToJson(predicted.cost);
  row["best_hot_proportion"] = predicted.hot_pages;
  row["hot_write_proportion"] = predicted.hot_writes;
  row["cheapest"] = Cheapest(predicted.cost);
  row["write_amplification"] = ToJson(predicted.write_amplification);
  row["relative_to_overwrite"] = ToJson(predicted.relative_throughput);
  row["crossing"] = {{"u", predicted.crossing_utilization},
                     {"space_utilization", predicted.crossing_space_utilization}};
  row["device_time_us"] = in_ns ? CostsToJson(costs) : Json(nullptr);
}

std::span<const Column> ModelColumns() {
  using enum ColumnFormat;
  static const auto* const columns = new std::vector<Column>{
      {"disk", "/disk", kText, true},
      {"disks", "/disks", kCount, true},
      {"raid", "/raid", kText, true},
      {"megabyte", "/megabyte", kText, true},
      {"page", "/page_size", kBytes, true},
      {"segment", "/segment_bytes", kBytes, true},
      {"eta", "/eta", kNumber, true},
      {"crossing u_d", "/crossing/space_utilization", kShare, true},
      {"writes", "/distribution", kText, true},
      {"u_d", "/space_utilization", kText, true},
      {"victims read", "/victim_reads", kText, true},
      {"slots", "/slots", kText, true},
      {"protection", "/protection", kText, true},
      {"compression", "/compression", kText, true},
      {"hylog's log", "/hylog_cleaning", kText, true},
      {"idle", "/idle", kText, true},
      {"reads per write", "/reads_per_write", kText, true},
      {"u", "/u", kShare},
      {"u plugging", "/u_plugging", kShare},
      {"overwrite", "/cost/overwrite", kNumber},
      {"lfs cleaning", "/cost/lfs_cleaning", kNumber},
      {"lfs plugging", "/cost/lfs_plugging", kNumber},
      {"hylog", "/cost/hylog", kNumber},
      {"best h", "/best_hot_proportion", kShare},
      {"cheapest", "/cheapest", kText},
      {"error", "/error", kText},
  };
  return *columns;
}

}  // namespace latchkey
