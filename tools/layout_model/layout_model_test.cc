#include "tools/layout_model/layout_model.h"

#include <catch2/catch.hpp>

#include "tools/layout_model/model_disk.h"

namespace latchkey::layout_model_test {
namespace {

LayoutModel Model(double eta, double u_d, const char* distribution = "uniform") {
  return {.costs = CostsOfRatios({.eta = eta}, {})->costs,
          .space_utilization = u_d,
          .distribution = *ParseWriteDistribution(distribution)};
}

TEST_CASE("The predicted costs are those of the reference table") {
  struct Row {
    double u_d, u, cleaning, amplification, plugging_u, plugging;
  };
  for (const Row& row :
       {Row{.50, .2032, 2.51, 1.25, .1586, 7.20}, Row{.70, .4670, 3.75, 1.88, .3350, 12.98},
        Row{.80, .6286, 5.39, 2.69, .4488, 16.71}, Row{.90, .8069, 10.36, 5.18, .5996, 21.65},
        Row{.95, .9017, 20.34, 10.17, .7097, 25.26}, Row{.97, .9406, 33.67, 16.84, .7715, 27.28},
        Row{.98, .9603, 50.34, 25.17, .8113, 28.59}}) {
    CAPTURE(row.u_d);
    const LayoutCosts costs = PredictCosts(Model(32.77, row.u_d));
    CHECK(costs.cleaning_utilization == Approx(row.u).margin(5.1e-5));
    CHECK(costs.cost.lfs_cleaning == Approx(row.cleaning).margin(5.1e-3));
    CHECK(costs.write_amplification.lfs_cleaning == Approx(row.amplification).margin(5.1e-3));
    CHECK(costs.plugging_utilization == Approx(row.plugging_u).margin(5.1e-5));
    CHECK(costs.cost.lfs_plugging == Approx(row.plugging).margin(5.1e-3));
    CHECK(costs.cost.overwrite == Approx(32.77));
  }
}

TEST_CASE("The best HyLog is that of the reference table") {
  struct Cell {
    double h, cost;
  };
  struct Row {
    double u_d;
    Cell by_distribution[5];
  };
  constexpr const char* kDistributions[] = {"uniform", "knuth:40:20", "knuth:60:20", "knuth:80:20",
                                            "hill"};
  for (const Row& row :
       {Row{.90, {{1.0, 10.36}, {1.0, 10.36}, {.844, 10.21}, {.430, 8.30}, {.185, 4.65}}},
        Row{.95, {{.828, 19.78}, {.601, 17.81}, {.400, 14.98}, {.204, 10.71}, {.110, 5.89}}},
        Row{.97, {{.487, 25.15}, {.353, 21.73}, {.235, 17.75}, {.120, 12.28}, {.075, 6.94}}},
        Row{.98, {{.321, 27.75}, {.233, 24.06}, {.155, 19.61}, {.079, 13.43}, {.056, 7.86}}}}) {
    for (size_t i = 0; i < std::size(kDistributions); ++i) {
      CAPTURE(row.u_d, kDistributions[i]);
      const LayoutCosts costs = PredictCosts(Model(32.8, row.u_d, kDistributions[i]));
      CHECK(costs.hot_pages == Approx(row.by_distribution[i].h).margin(.0015));
      CHECK(costs.cost.hylog == Approx(row.by_distribution[i].cost).margin(6e-3));
    }
  }
}

TEST_CASE("Cleaning and Overwrite cross where the reference says") {
  struct Row {
    double eta, u_d;
  };
  for (const Row& row :
       {Row{32.769, .9692}, Row{17.08, .9402}, Row{26.26, .9614}, Row{37.6, .9732}}) {
    const LayoutCosts costs = PredictCosts(Model(row.eta, .9));
    CHECK(costs.crossing_utilization == Approx(1 - 2 / row.eta));
    CHECK(costs.crossing_space_utilization == Approx(row.u_d).margin(5.1e-5));
  }
}

TEST_CASE("The thesis's worked examples come out to the printed digit") {
  // 6.4.2: u at 95 %; eta of an idle disk; writes 42 % of the traffic.
  LayoutModel lfs = Model(26.26, .95);
  lfs.idle = .30;
  const LayoutCosts costs = PredictCosts(lfs);
  CHECK(costs.cleaning_utilization == Approx(.902).margin(5e-4));
  CHECK(costs.eta == Approx(37.6).margin(.1));
  // LFS at 98 % by (6.2) against an Overwrite of eta 35.2: 66.9 % with the measured u of .962.
  CHECK(2 / (1 - .962) == Approx(35.2 / .669).epsilon(2e-3));
  LayoutModel full = Model(35.2, .98);
  full.space_utilization = DiskUtilizationFromCleaning(.962);
  full.reads_per_write = 1.37;
  const LayoutCosts at_98 = PredictCosts(full);
  CHECK(at_98.cost.overwrite / at_98.cost.lfs_cleaning == Approx(.669).margin(5e-4));
  CHECK(at_98.relative_throughput.lfs_cleaning == Approx(.828).margin(2e-3));
  // The example's u of 88.4 %: LFS writes at 2.2 times, and does 30 % more in all.
  LayoutModel measured = Model(37.6, DiskUtilizationFromCleaning(.884));
  measured.reads_per_write = 1.37;
  const LayoutCosts example = PredictCosts(measured);
  CHECK(example.cost.overwrite / example.cost.lfs_cleaning == Approx(2.2).margin(.05));
  CHECK(example.relative_throughput.lfs_cleaning == Approx(1.30).margin(5e-3));
}

TEST_CASE("Reads of victims move the crossing as the extended model says") {
  // A cloud disk: eta 10.9 with 4 KB pages, a segment read 4.64 times as dear as a write.
  const auto crossing = [](const char* reads) {
    LayoutModel model = Model(10.9, .8);
    model.costs = CostsOfRatios({.eta = 10.9, .rho = 4.64}, {.page_bytes = 4096})->costs;
    model.victim_reads = VictimReads().Named(reads);
    return PredictCosts(model).crossing_space_utilization;
  };
  CHECK(crossing("whole") == Approx(.711).margin(1e-3));
  CHECK(crossing("live") == Approx(.805).margin(1e-3));
  CHECK(crossing("overlapped") == Approx(.842).margin(1e-3));
  CHECK(crossing("none") == Approx(.954).margin(1e-3));
  CHECK(crossing("thesis") == Approx(.905).margin(1e-3));  // reads as fast as writes
}

TEST_CASE("Protection, compression and plugging change the costs in the expected way") {
  const LayoutCosts plain = PredictCosts(Model(32.8, .9, "knuth:80:20"));
  LayoutModel model = Model(32.8, .9, "knuth:80:20");
  model.costs.protection_ns = model.costs.page_write_ns;
  const LayoutCosts protected_writes = PredictCosts(model);
  CHECK(protected_writes.cost.overwrite == Approx(2 * plain.cost.overwrite));
  CHECK(protected_writes.cost.lfs_cleaning == plain.cost.lfs_cleaning);
  CHECK(protected_writes.hot_pages > plain.hot_pages);
  model.hylog_uses_holes = true;
  CHECK(PredictCosts(model).hot_pages == plain.hot_pages);
  CHECK(PredictCosts(model).cost.hylog == plain.cost.hylog);
  CHECK(PredictCosts(model).cost.overwrite == protected_writes.cost.overwrite);

  // Half as large pages: half of u_d, and each append costs half.
  LayoutModel halves = Model(32.8, .9, "knuth:80:20");
  halves.compression = .5;
  const LayoutCosts compressed = PredictCosts(halves);
  const double u = CleaningUtilization(.45);
  CHECK(compressed.cleaning_utilization == Approx(u));
  CHECK(compressed.cost.lfs_cleaning == Approx(.5 * 2 / (1 - u)));
  CHECK(compressed.cost.overwrite == plain.cost.overwrite);
  CHECK(compressed.cost.hylog <= compressed.cost.lfs_cleaning);
  // A page is nearly all positioning: a hole takes almost as long for half a page.
  CHECK(OfCompressedPages(halves.costs, .5).page_write_ns ==
        Approx(halves.costs.page_write_ns).epsilon(.02));
}

TEST_CASE(
    "Mixing with a log that is cleaned is worth as much as plugging the holes of the whole log") {
  // Fullest-first plugging keeps a part of the segments full: it is a mix itself.
  for (const double u_d : {.9, .95, .98, .995}) {
    for (const double eta : {8.0, 32.8}) {
      LayoutModel model = Model(eta, u_d);
      const LayoutCosts cleaning = PredictCosts(model);
      model.hylog_may_plug = true;
      const LayoutCosts cheapest = PredictCosts(model);
      CHECK(cheapest.cost.hylog <= cleaning.cost.hylog);
      CHECK(cheapest.cost.hylog == Approx(cleaning.cost.hylog).epsilon(1e-4));
      CHECK(cheapest.cost.hylog <= cheapest.cost.lfs_plugging * (1 + 1e-9));
    }
  }
}

TEST_CASE("HyLog never costs more than Overwrite or LFS") {
  for (const WriteDistributionInfo& distribution : WriteDistributions()) {
    for (const double u_d : {.05, .5, .9, .98, .999}) {
      for (const double eta : {.5, 1.0, 4.2, 33.0, 120.0}) {
        for (const VictimReadsInfo& reads : VictimReads()) {
          LayoutModel model = Model(eta, u_d, std::string(distribution.description.name).c_str());
          model.victim_reads = VictimReads().Named(reads.description.name);
          const LayoutCosts costs = PredictCosts(model);
          CAPTURE(distribution.description.name, u_d, eta, reads.description.name);
          CHECK(costs.cost.hylog <= costs.cost.overwrite * (1 + 1e-9));
          CHECK(costs.cost.hylog <= costs.cost.lfs_cleaning * (1 + 1e-9));
        }
      }
    }
  }
}

}  // namespace
}  // namespace latchkey::layout_model_test
