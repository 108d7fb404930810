#include "layout/clean/read_plan.h"

#include <catch2/catch.hpp>
#include <numeric>

#include "storage/base/rng.h"

namespace latchkey::read_plan_test {
namespace {

std::vector<ReadRun> Plan(std::vector<uint32_t> slots, SlotReadCosts costs,
                          uint32_t per_segment = 64) {
  std::vector<ReadRun> runs;
  PlanReads(slots, per_segment, costs, runs);
  return runs;
}

double CostOf(const std::vector<ReadRun>& runs, const SlotReadCosts& costs) {
  double total = 0;
  for (const ReadRun& run : runs) total += costs.first_ns + (run.count - 1) * costs.next_ns;
  return total;
}

// The least cost over all ways to cut the slots into runs: dynamic programming.
double LeastCost(const std::vector<uint32_t>& slots, const SlotReadCosts& costs) {
  std::vector<double> least(slots.size() + 1, 0);
  for (size_t end = 1; end <= slots.size(); ++end) {
    least[end] = 1e300;
    for (size_t begin = 0; begin < end; ++begin) {
      const double run = costs.first_ns + (slots[end - 1] - slots[begin]) * costs.next_ns;
      least[end] = std::min(least[end], least[begin] + run);
    }
  }
  return least[slots.size()];
}

TEST_CASE("Where positioning is dear, the whole victim is read at once") {
  const auto runs = Plan({0, 5, 9, 60, 63}, {.first_ns = 5.6e6, .next_ns = 67e3});
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].first == 0);
  CHECK(runs[0].count == 64);
}

TEST_CASE("Slots of two victims never share a request") {
  const auto runs = Plan({6, 7, 8, 9}, {.first_ns = 5.6e6, .next_ns = 67e3}, /*per_segment=*/8);
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].count == 2);
  CHECK(runs[1].first == 8);
}

TEST_CASE("Where a request costs what a page does, pages are read one by one") {
  const auto runs = Plan({0, 2, 9}, {.first_ns = 10, .next_ns = 9});
  REQUIRE(runs.size() == 3);
  CHECK(Plan({3, 4, 5}, {.first_ns = 10, .next_ns = 9}).size() == 1);
  CHECK(Plan({}, {.first_ns = 10, .next_ns = 9}).empty());
}

TEST_CASE("The read plan covers every slot at the least cost") {
  Rng rng(3);
  for (uint64_t round = 0; round < 500; ++round) {
    std::vector<uint32_t> slots;
    for (uint32_t i = 0; i < 64; ++i) {
      if (rng.Below(100) < 5 + round % 90) slots.push_back(i);
    }
    const SlotReadCosts costs{.first_ns = 1.0 + static_cast<double>(rng.Below(50)), .next_ns = 2};
    const auto runs = Plan(slots, costs);
    CHECK(CostOf(runs, costs) == Approx(LeastCost(slots, costs)));
    size_t covered = 0;
    for (const ReadRun& run : runs) {
      for (const uint32_t slot : slots) covered += slot - run.first < run.count;
    }
    CHECK(covered == slots.size());
  }
}

}  // namespace
}  // namespace latchkey::read_plan_test
