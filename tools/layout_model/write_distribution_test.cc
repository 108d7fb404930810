#include "tools/layout_model/write_distribution.h"

#include <catch2/catch.hpp>
#include <vector>

#include "layout/separate/write_cost_model.h"
#include "tools/layout_model/layout_model.h"
#include "tools/layout_model/model_disk.h"

namespace latchkey::write_distribution_test {
namespace {

LayoutModel Model(double u_d, const char* distribution, uint32_t groups) {
  return {.costs = CostsOfRatios({.eta = 30}, {})->costs,
          .space_utilization = u_d,
          .distribution = *ParseWriteDistribution(distribution),
          .log_groups = groups};
}

TEST_CASE(
    "Counted writes give the share of the first pages, and pages that are left out have none") {
  const CountedWrites counted(std::vector<double>{6, 3, 1}, 10);
  CHECK(counted.Share(0) == 0);
  CHECK(counted.Share(0.1) == Approx(0.6));
  CHECK(counted.Share(0.15) == Approx(0.75));
  CHECK(counted.Share(0.2) == Approx(0.9));
  CHECK(counted.Share(0.3) == Approx(1));
  CHECK(counted.Share(1) == Approx(1));
}

TEST_CASE("Counted writes predict what the distribution predicts from which they were counted") {
  const WriteDistribution knuth = *ParseWriteDistribution("knuth:80:20");
  constexpr size_t kPages = 5000;
  std::vector<double> writes;
  for (size_t i = 0; i < kPages; ++i) {
    writes.push_back(WriteShare(knuth, (i + 1.0) / kPages) - WriteShare(knuth, double(i) / kPages));
  }
  LayoutModel model = Model(0.95, "uniform", 1);
  model.counted = std::make_shared<const CountedWrites>(writes, kPages);
  const LayoutCosts counted = PredictCosts(model);
  const LayoutCosts given = PredictCosts(Model(0.95, "knuth:80:20", 1));
  CHECK(counted.cost.hylog == Approx(given.cost.hylog).epsilon(1e-4));
  CHECK(counted.hot_writes == Approx(given.hot_writes).margin(1e-3));
}

TEST_CASE("Two groups of pages share the slots as the best division of all") {
  // The median of the writes is where the hot pages end.
  const double u_d = GENERATE(0.7, 0.9);
  const LayoutCosts divided = PredictCosts(Model(u_d, "hotcold:50:10", 2));
  const auto cost = [](double pages, double slots) {
    return ScaledCleaningCost(CleaningUtilization(pages / slots));
  };
  double least = HUGE_VAL;
  for (int i = 1; i < 2000; ++i) {
    const double hot = 0.1 + (1 / u_d - 1) * i / 2000;
    least = std::min(least, 0.5 * cost(0.1, hot) + 0.5 * cost(0.9, 1 / u_d - hot));
  }
  CHECK(divided.cost.lfs_cleaning == Approx(least).epsilon(0.01));
  CHECK(divided.cost.lfs_cleaning < 0.9 * PredictCosts(Model(u_d, "uniform", 2)).cost.lfs_cleaning);
}

TEST_CASE("Keeping pages apart gains nothing if all pages are alike, and never costs more") {
  const double u_d = GENERATE(0.5, 0.8, 0.97);
  const LayoutCosts mixed = PredictCosts(Model(u_d, "uniform", 1));
  const LayoutCosts apart = PredictCosts(Model(u_d, "uniform", 8));
  CHECK(apart.cost.lfs_cleaning == Approx(mixed.cost.lfs_cleaning).epsilon(0.02));
  CHECK(apart.cost.lfs_cleaning <= mixed.cost.lfs_cleaning * (1 + 1e-9));
  const LayoutCosts skewed = PredictCosts(Model(u_d, "knuth:80:20", 8));
  CHECK(skewed.cost.lfs_cleaning < mixed.cost.lfs_cleaning);
  CHECK(skewed.write_amplification.lfs_cleaning < mixed.write_amplification.lfs_cleaning);
  CHECK(skewed.cost.hylog <= skewed.cost.overwrite);
}

}  // namespace
}  // namespace latchkey::write_distribution_test
