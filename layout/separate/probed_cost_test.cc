#include "layout/separate/probed_cost.h"

#include <catch2/catch.hpp>
#include <cstdint>

#include "storage/base/rng.h"

namespace latchkey::probed_cost_test {
namespace {

// A probe of four pages on a disk, whose service times are between half of `mean` and one and a half
// times.
double ProbeOfFour(Rng& rng, double mean) {
  double sum = 0;
  for (int page = 0; page < 4; ++page) sum += mean * (.5 + rng.Unit());
  return sum / 4;
}

TEST_CASE(
    "The mean of 256 exact probes is within 3 % of the cost, though service times differ by half") {
  const uint64_t seed = GENERATE(range(1, 21));
  CAPTURE(seed);
  Rng rng(seed);
  ProbedCost cost;
  for (int i = 0; i < 1000; ++i) {
    cost.Add(ProbeOfFour(rng, 4), /*exact=*/true);
    if (i >= 256) CHECK(cost.ns() == Approx(4).epsilon(.03));
  }
}

TEST_CASE(
    "A device that costs half or twice as much is believed after three blocks of exact probes") {
  const uint64_t seed = GENERATE(range(1, 21));
  const double factor = GENERATE(.5, 2.);
  CAPTURE(seed, factor);
  Rng rng(seed);
  ProbedCost cost;
  for (int i = 0; i < 500; ++i) cost.Add(ProbeOfFour(rng, 4), /*exact=*/true);
  CHECK(cost.ns() == Approx(4).epsilon(.1));
  for (uint32_t i = 0; i < 3 * ProbedCost::kBlock; ++i) {
    cost.Add(ProbeOfFour(rng, 4 * factor), /*exact=*/true);
  }
  CHECK(cost.ns() == Approx(4 * factor).epsilon(.2));
}

// Beside 64 threads on two cores one probe of a segment said 424 us, the next ones 40 to 70.
TEST_CASE("One late probe of a device that tells no service times does not move the cost") {
  ProbedCost cost;
  for (const double ns : {40, 66, 44, 70, 47}) cost.Add(ns, /*exact=*/false);
  CHECK(cost.ns() == 47);
  cost.Add(424, /*exact=*/false);
  CHECK(cost.ns() == 66);
  // Three of five say that the device is slower.
  cost.Add(400, /*exact=*/false);
  cost.Add(410, /*exact=*/false);
  CHECK(cost.ns() == 400);
}

TEST_CASE("A known cost counts as one probe of a file, and as a block of exact probes") {
  const bool exact = GENERATE(false, true);
  CAPTURE(exact);
  ProbedCost cost;
  cost.Add(1000, exact);
  cost.Restart(10);
  CHECK(cost.ns() == 10);
  cost.Add(28, exact);
  CHECK(cost.ns() == Approx(exact ? 12 : 19));
}

TEST_CASE("Equal probes are of one device") {
  ProbedCost cost;
  for (uint32_t i = 0; i < 10 * ProbedCost::kMostProbes; ++i) cost.Add(5, /*exact=*/true);
  CHECK(cost.ns() == 5);
}

}  // namespace
}  // namespace latchkey::probed_cost_test
