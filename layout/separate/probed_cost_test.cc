#include "layout/separate/probed_cost.h"

#include <catch2/catch.hpp>
#include <cstdint>

#include "storage/base/rng.h"

namespace latchkey::probed_cost_test {
namespace {

// A probe of four pages on a disk, whose service times are between half of `mean` and three halves.
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

TEST_CASE("A device that has changed is believed after three blocks, whenever it did") {
  const uint64_t seed = GENERATE(range(1, 6));
  const double factor = GENERATE(.01, .25, .5, 2., 100.);
  const int before = GENERATE(range(496, 496 + static_cast<int>(ProbedCost::kBlock)));
  CAPTURE(seed, factor, before);
  Rng rng(seed);
  ProbedCost cost;
  for (int i = 0; i < before; ++i) cost.Add(ProbeOfFour(rng, 4), /*exact=*/true);
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

TEST_CASE("A known cost counts as a block of exact probes, and as one probe of a file") {
  ProbedCost exact, file;
  exact.Restart(10);
  exact.Add(28, /*exact=*/true);
  CHECK(exact.ns() == Approx(12));
  // The cost was the mean of a known one and the first late probe: six times too much.
  file.Restart(40);
  file.Add(424, /*exact=*/false);
  CHECK(file.ns() == 40);
  file.Add(424, /*exact=*/false);
  CHECK(file.ns() == 424);
}

TEST_CASE("Among equal probes a block 2 % off joins their mean, and one 20 % off replaces it") {
  const double factor = GENERATE(1.02, 1.2);
  CAPTURE(factor);
  ProbedCost cost;
  for (uint32_t i = 0; i < ProbedCost::kMostProbes; ++i) cost.Add(5, /*exact=*/true);
  for (uint32_t i = 0; i < ProbedCost::kBlock; ++i) cost.Add(5 * factor, /*exact=*/true);
  const double joined = 5 * (256 + 8 * factor) / 264;
  CHECK(cost.ns() == Approx(factor < 1.1 ? joined : 5 * factor));
}

}  // namespace
}  // namespace latchkey::probed_cost_test
