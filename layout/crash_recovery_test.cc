// Repeated power failures of one store, at random calls of the devices and with every kind of
// damage. After each, every flushed page is found, and no page holds bytes that were not written.
#include <catch2/catch.hpp>

#include "layout/separator.h"
#include "layout/testing/crashing_store.h"

namespace latchkey {
namespace {

TEST_CASE("What was flushed survives power failures of every kind, at every layout and filling") {
  const std::string layout = GENERATE(from_range(Layouts().Names()));
  const double utilization = GENERATE(0.5, 0.8, 0.98);
  CAPTURE(layout, utilization);
  CrashingStore test(CrashOptions(layout, utilization), /*seed=*/5);
  Rng rng(17);
  const int rounds = kShorter > 1 ? 5 : 25;
  for (int round = 0; round < rounds; ++round) {
    const Damage damage = kDamages[static_cast<size_t>(round) % 5];
    CAPTURE(round, static_cast<int>(damage));
    test.RunUntilCrash(damage, 20 + rng.Below(300), /*while_opening=*/round % 4 == 3);
  }
  CHECK(test.checked_pages() > 0);
}

// Power fails again within the first batches after each recovery: pages repaired from an area must
// be durable before that area is reused.
TEST_CASE("Pages written in place survive power failures in quick succession") {
  CrashingStore test(CrashOptions("overwrite", 0.8), /*seed=*/9);
  Rng rng(23);
  test.RunUntilCrash(Damage::kKeepAll, 1500, /*while_opening=*/false);
  const int rounds = kShorter > 1 ? 20 : 150;
  for (int round = 0; round < rounds; ++round) {
    const Damage damage = kDamages[2 + static_cast<size_t>(round) % 3];
    CAPTURE(round, static_cast<int>(damage));
    test.RunUntilCrash(damage, 1 + rng.Below(25), /*while_opening=*/round % 3 == 2);
  }
}

}  // namespace
}  // namespace latchkey
