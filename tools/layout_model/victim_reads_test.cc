#include "tools/layout_model/victim_reads.h"

#include <catch2/catch.hpp>
#include <vector>

#include "layout/clean/read_plan.h"
#include "storage/base/rng.h"

namespace latchkey::victim_reads_test {
namespace {

constexpr PageCosts kCosts{.page_write_ns = 20,
                           .segment_write_ns = 2,
                           .segment_read_ns = 13,
                           .page_read_ns = 13,
                           .slot_read_ns = 4,
                           .slots_per_segment = 128};

double NanosOf(const char* way, double u) {
  return VictimReads().Named(way).entry().ns_per_slot(kCosts, u);
}

TEST_CASE("Reading across gaps costs what the store's plan of the reads costs") {
  Rng rng(7);
  const double u = GENERATE(.05, .2, .5, .8, 1.0);
  CAPTURE(u);
  constexpr int kVictims = 2000;
  double total = 0;
  std::vector<ReadRun> runs;
  for (int i = 0; i < kVictims; ++i) {
    std::vector<uint32_t> live;
    for (uint32_t slot = 0; slot < kCosts.slots_per_segment; ++slot) {
      if (rng.Unit() < u) live.push_back(slot);
    }
    const SlotReadCosts costs = ReadCostsOf(kCosts);
    PlanReads(live, kCosts.slots_per_segment, costs, runs);
    for (const ReadRun& run : runs) total += costs.first_ns + (run.count - 1) * costs.next_ns;
  }
  CHECK(NanosOf("gaps", u) == Approx(total / kVictims / kCosts.slots_per_segment).epsilon(0.02));
}

TEST_CASE("Across gaps the cleaner reads as cheaply as the better of single pages and the whole") {
  for (const double u : {.01, .1, .3, .5, .7, .9, .99}) {
    CAPTURE(u);
    const double best = std::min(NanosOf("single", u), NanosOf("whole", u));
    CHECK(NanosOf("gaps", u) <= best * 1.02);
    CHECK(NanosOf("cheapest", u) == Approx(best));
    CHECK(NanosOf("live", u) == Approx(u * NanosOf("whole", u)));
    CHECK(NanosOf("none", u) == 0);
    CHECK(NanosOf("thesis", u) == kCosts.segment_write_ns);
  }
}

TEST_CASE("The cost of cleaning with the cheapest reads is the one that HyLog decides by") {
  for (const double u : {.1, .5, .9}) {
    CHECK((kCosts.segment_write_ns + NanosOf("cheapest", u)) / (1 - u) ==
          Approx(CleaningCostNanos(kCosts, u)));
    CHECK(kCosts.segment_write_ns + NanosOf("cheapest", u) + u * kCosts.page_write_ns ==
          Approx(PluggingCostNanos(kCosts, u)));
  }
}

}  // namespace
}  // namespace latchkey::victim_reads_test
