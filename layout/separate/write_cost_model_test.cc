#include "layout/separate/write_cost_model.h"

#include <catch2/catch.hpp>

namespace latchkey::write_cost_model_test {
namespace {

// Positioning time in ms, bandwidth in MB/s (Table 6.2).
constexpr DiskParameters kCheetah{5.6, 61};
constexpr DiskParameters kAtlas10k{8.6, 20.4};
constexpr DiskParameters kRz26{15.0, 2.3};

TEST_CASE("Segment I/O efficiency of the thesis's disks comes out to the printed digit") {
  CHECK(SegmentIoEfficiency(kCheetah, 8, 1024) == Approx(32.769).margin(5e-4));
  CHECK(SegmentIoEfficiency(kAtlas10k, 8, 512) == Approx(17.078).margin(5e-4));
  CHECK(SegmentIoEfficiency(kRz26, 8, 128) == Approx(4.185).margin(5e-4));
  CHECK(SegmentIoEfficiency(kCheetah, 4, 1024) == Approx(64.787).margin(5e-4));
  CHECK(SegmentIoEfficiency(kAtlas10k, 4, 512) == Approx(33.411).margin(5e-4));
  CHECK(SegmentIoEfficiency(kRz26, 4, 128) == Approx(7.582).margin(5e-4));
  // The year-2008 disk, by its product of 2574 / 4 KB.
  CHECK(SegmentIoEfficiency({643.5, 1}, 8, 2048) == Approx(61.97).margin(5e-3));
  CHECK(SegmentIoEfficiency({643.5, 1}, 4, 2048) == Approx(123.17).margin(2e-2));
}

TEST_CASE("The preferred segment size is four disk products, rounded to a power of two") {
  CHECK(PreferredSegmentKb(kCheetah) == Approx(1366.4));
  CHECK(PreferredSegmentKb(kAtlas10k) == Approx(701.8).margin(0.05));
  CHECK(PreferredSegmentKb(kRz26) == Approx(138.0));
  CHECK(NearestPowerOfTwo(1366.4) == 1024);
  CHECK(NearestPowerOfTwo(701.8) == 512);
  CHECK(NearestPowerOfTwo(138.0) == 128);
  CHECK(NearestPowerOfTwo(2574) == 2048);
}

TEST_CASE("Utilisation of cleaned segments and the costs that follow match the table") {
  struct Row {
    double u_d, u, cleaning, plugging_u, plugging;
  };
  const Row rows[] = {{.50, .2032, 2.51, .1586, 7.20},   {.70, .4670, 3.75, .3350, 12.98},
                      {.80, .6286, 5.39, .4488, 16.71},  {.90, .8069, 10.36, .5996, 21.65},
                      {.95, .9017, 20.34, .7097, 25.26}, {.97, .9406, 33.67, .7715, 27.28},
                      {.98, .9603, 50.34, .8113, 28.59}};
  for (const Row& row : rows) {
    const double u = CleaningUtilization(row.u_d);
    CHECK(u == Approx(row.u).margin(1e-4));
    CHECK(ScaledCleaningCost(u) == Approx(row.cleaning).margin(6e-3));
    CHECK(DiskUtilizationFromCleaning(u) == Approx(row.u_d).margin(1e-9));
    const double plugged = PluggingUtilization(row.u_d);
    CHECK(plugged == Approx(row.plugging_u).margin(1e-4));
    CHECK(ScaledPluggingCost(plugged, 32.77) == Approx(row.plugging).margin(6e-3));
    CHECK(DiskUtilizationFromPlugging(plugged) == Approx(row.u_d).margin(1e-9));
  }
}

TEST_CASE("Overwrite and the log cross where the thesis says") {
  CHECK(CrossingUtilization(32.769) == Approx(.9390).margin(1e-4));
  CHECK(DiskUtilizationFromCleaning(CrossingUtilization(32.769)) == Approx(.9692).margin(1e-4));
  CHECK(DiskUtilizationFromCleaning(CrossingUtilization(17.08)) == Approx(.9402).margin(1e-4));
  CHECK(DiskUtilizationFromCleaning(CrossingUtilization(26.26)) == Approx(.9614).margin(1e-4));
  CHECK(DiskUtilizationFromCleaning(CrossingUtilization(37.6)) == Approx(.9732).margin(1e-4));
}

TEST_CASE("The write distributions of the thesis give the known shares") {
  CHECK(HillWriteShare(.01) == Approx(.687).margin(5e-4));
  CHECK(HillWriteShare(.10) == Approx(.913).margin(5e-4));
  CHECK(HillWriteShare(1.0) == 1.0);
  CHECK(KnuthWriteShare(80, 20, .2) == Approx(.8));
}

TEST_CASE("The best hot proportion of HyLog and its cost match the table") {
  const auto uniform = [](double h) { return UniformWriteShare(h); };
  const auto knuth40 = [](double h) { return KnuthWriteShare(40, 20, h); };
  const auto knuth60 = [](double h) { return KnuthWriteShare(60, 20, h); };
  const auto knuth80 = [](double h) { return KnuthWriteShare(80, 20, h); };
  const auto hill = [](double h) { return HillWriteShare(h); };
  struct Row {
    double u_d;
    HotChoice uniform, knuth40, knuth60, knuth80, hill;
  };
  const Row rows[] = {
      {.90, {1.0, 10.36}, {1.0, 10.36}, {.844, 10.21}, {.430, 8.30}, {.185, 4.65}},
      {.95, {.828, 19.78}, {.601, 17.81}, {.400, 14.98}, {.204, 10.71}, {.110, 5.89}},
      {.97, {.487, 25.15}, {.353, 21.73}, {.235, 17.75}, {.120, 12.28}, {.075, 6.94}},
      {.98, {.321, 27.75}, {.233, 24.06}, {.155, 19.61}, {.079, 13.43}, {.056, 7.86}}};
  const auto check = [](HotChoice got, HotChoice want) {
    CHECK(got.h == Approx(want.h).margin(.0051));
    CHECK(got.cost == Approx(want.cost).margin(6e-3));
  };
  for (const Row& row : rows) {
    check(BestHotProportion(32.8, row.u_d, uniform), row.uniform);
    check(BestHotProportion(32.8, row.u_d, knuth40), row.knuth40);
    check(BestHotProportion(32.8, row.u_d, knuth60), row.knuth60);
    check(BestHotProportion(32.8, row.u_d, knuth80), row.knuth80);
    check(BestHotProportion(32.8, row.u_d, hill), row.hill);
  }
}

TEST_CASE("With reads as dear as writes the measured model is the thesis's, less the dead pages") {
  const PageCosts costs{.page_write_ns = 32.8, .segment_write_ns = 1, .segment_read_ns = 1};
  CHECK(costs.eta() == Approx(32.8));
  CHECK(CleaningCostNanos(costs, .8) == Approx((1 + .8) / .2));
  CHECK(PluggingCostNanos(costs, .8) == Approx(1 + .8 * 33.8));
}

}  // namespace
}  // namespace latchkey::write_cost_model_test
