#include "tools/campaign/shared/crash_database.h"

#include <catch2/catch.hpp>

#include "tools/campaign/crash/crash_campaign.h"

namespace latchkey::crash_database_test {
namespace {

TEST_CASE("No crash of a database loses what was acknowledged, on any layout") {
  const char* layout = GENERATE("overwrite", "lfs", "wolf", "hylog");
  DatabaseSubject database({.layout = layout, .transactions = 40});
  const CrashReport report = RunCrashCampaign(database, {.max_states = 120});
  INFO(layout);
  for (const CrashFailure& failure : report.failures) FAIL(failure.Describe());
  CHECK(report.boundaries > 50);
  CHECK(report.recovery_states > 30);
}

TEST_CASE("Equal seeds crash a database in equal ways, other seeds in others") {
  const auto run = [](uint64_t seed) {
    DatabaseSubject database({.layout = "hylog", .transactions = 20});
    CrashCampaignOptions options{.first_seed = seed, .max_states = 10};
    return RunCrashCampaign(database, options).history_hash;
  };
  const uint64_t first = run(5);
  CHECK(run(5) == first);
  CHECK(run(6) != first);
}

}  // namespace
}  // namespace latchkey::crash_database_test
