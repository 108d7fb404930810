// Repeated power failures of one store, at random calls of the devices and with every kind of
// damage. After each, every flushed page is found, and no page holds bytes that were not written.
#include <catch2/catch.hpp>

#include "layout/testing/crashing_store.h"
#include "layout/testing/layouts_under_test.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey::crash_recovery_test {
namespace {

TEST_CASE("What was flushed survives power failures of every kind, at every layout and filling") {
  const std::string layout = GENERATE(from_range(StoresUnderTest()));
  const double utilization = GENERATE(0.5, 0.8, 0.98);
  CAPTURE(layout, utilization);
  CrashingStore test(ThreadRuntime(), CrashOptions(layout, utilization), /*seed=*/5);
  Rng rng(17);
  const int rounds = kThreadSanitizer ? 5 : kSanitizer ? 10 : 25;
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
  CrashingStore test(ThreadRuntime(), CrashOptions("overwrite", 0.8), /*seed=*/9);
  Rng rng(23);
  test.RunUntilCrash(Damage::kKeepAll, 1500, /*while_opening=*/false);
  const int rounds = kSanitizer ? 20 : 150;
  for (int round = 0; round < rounds; ++round) {
    const Damage damage = kDamages[2 + static_cast<size_t>(round) % 3];
    CAPTURE(round, static_cast<int>(damage));
    test.RunUntilCrash(damage, 1 + rng.Below(25), /*while_opening=*/round % 3 == 2);
  }
}

// The order of the users' and the segment cleaner's steps comes from a seed, so a failure repeats.
// With a small journal, checkpoints of the map take the place of rounds.
TEST_CASE("What was flushed survives power failures, whatever the order of the threads' steps") {
  const std::string layout = GENERATE(from_range(StoresUnderTest()));
  const double utilization = GENERATE(0.5, 0.98);
  const bool small_journal = GENERATE(false, true);
  const uint64_t seed = GENERATE(range<uint64_t>(1, kSanitizer ? 2 : 5));
  CAPTURE(layout, utilization, small_journal, seed);
  SimulatedRuntime runtime({.seed = seed,
                            .quantum = 0,
                            .preempt_probability = seed % 2 == 0 ? 0.01 : 0.1,
                            .max_preemption = seed % 3 == 0 ? kNanosPerMilli : 50 * kNanosPerMicro,
                            .may_be_abandoned = true});
  const absl::Status ran = runtime.Run([&] {
    SegmentStoreOptions options = CrashOptions(layout, utilization);
    if (small_journal) options.journal_checkpoint_bytes = 0;
    CrashingStore test(runtime, options, seed, small_journal ? 4 * 8192 : UINT64_MAX,
                       /*checkpoints=*/!small_journal);
    Rng rng(19 + seed);
    for (int round = 0; round < 20; ++round) {
      const Damage damage = kDamages[static_cast<size_t>(round) % 5];
      CAPTURE(round, static_cast<int>(damage));
      test.RunUntilCrash(damage, 20 + rng.Below(500), /*while_opening=*/round % 4 == 3);
    }
  });
  INFO(ran);
  CHECK(ran.ok());
}

}  // namespace
}  // namespace latchkey::crash_recovery_test
