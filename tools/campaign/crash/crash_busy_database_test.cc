#include "tools/campaign/crash/crash_busy_database.h"

#include <catch2/catch.hpp>
#include <set>

#include "tools/campaign/crash/crash_campaign.h"
#include "tools/campaign/shared/technique_items.h"

namespace latchkey::crash_busy_database_test {
namespace {

TEST_CASE("Equal seeds crash a busy database in equal ways, other seeds in others") {
  const auto run = [](uint64_t seed) {
    BusyDatabase database({.layout = "hylog", .transactions = 20});
    CrashCampaignOptions options{.first_seed = seed, .max_states = 10};
    return RunCrashCampaign(database, options).history_hash;
  };
  const uint64_t first = run(5);
  CHECK(run(5) == first);
  CHECK(run(6) != first);
}

TEST_CASE("Seeds take a database through all combinations, and each seed through the same") {
  const BusyDatabaseChoices choices = BusyDatabaseChoices::All();
  std::set<std::string> names, policies;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const BusyDatabaseOptions options = choices.Of(seed, {.layout = "lfs"});
    CHECK(options.layout == "lfs");
    CHECK(options.replacement == choices.Of(seed, {}).replacement);
    policies.insert(options.replacement + options.synchronization);
    names.insert(BusyDatabase(options).name());
  }
  size_t possible = 0;
  for (const std::string& replacement : choices.replacements) {
    for (const std::string& synchronization : choices.synchronizations) {
      possible += IsPolicy(replacement, synchronization) ? 1 : 0;
    }
  }
  CHECK(policies.size() > possible * 9 / 10);  // of 300 draws
  CHECK(names.size() > 80);
  CHECK(BusyDatabaseChoices{}.Of(3, {.replacement = "2q"}).replacement == "2q");
}

// The campaign ended at such a draw: its cache was too small for 64 frames.
TEST_CASE(
    "A run with pages of 16 KiB and private copies of them has a cache that is large enough") {
  BusyDatabase database({.layout = "hylog:h=0.4",
                         .replacement = "gclock",
                         .synchronization = "separate:actors=2:private=1.25",
                         .page_size = 16384,
                         .transactions = 20});
  const CrashReport report = RunCrashCampaign(database, {.max_states = 1});
  for (const CrashFailure& failure : report.failures) FAIL(failure.Describe());
  CHECK(report.states > 0);
}

TEST_CASE("The runs that are crashed go through everything that a crash can cut off") {
  const char* layout = GENERATE("overwrite", "lfs", "wolf", "hylog", "hylog:h=0.2:holes");
  const bool flash = GENERATE(false, true);
  BusyDatabase database(
      {.layout = layout, .change_buffer = true, .flash = flash, .transactions = 500});
  CrashCampaignOptions options{.max_states = 1};
  const CrashReport report = RunCrashCampaign(database, options);
  for (const CrashFailure& failure : report.failures) FAIL(failure.Describe());
  const CrashTally& happened = database.tally();
  INFO(layout << (flash ? ", flash" : "") << happened.Describe());
  CHECK(happened.commits > 80);
  CHECK(happened.rollbacks > 0);
  CHECK(happened.aborts > 0);
  CHECK(happened.savepoint_rollbacks > 0);
  CHECK(happened.loads > 0);
  CHECK(happened.values_in_parts > 0);
  CHECK(happened.waiting_puts > 20);
  CHECK(happened.checkpoints > 3);
  CHECK(happened.drops > 0);
  CHECK(happened.splits > 10);
  CHECK(happened.merges > 0);
  CHECK(happened.overflow_pages > 0);
  CHECK(happened.page_loads > 0);
  CHECK(happened.page_cleanings > 0);
  CHECK(happened.growths > 0);
  CHECK(happened.log_slots_reused > 0);
  CHECK(happened.journal_slots_reused > 0);
  if (std::string_view(layout) == "overwrite") {
    CHECK(happened.in_place > 0);
    CHECK(happened.doublewritten > 0);
  } else {
    CHECK(happened.appended > 0);
    CHECK(happened.segments_cleaned > 0);
  }
  if (std::string_view(layout) == "hylog:h=0.2:holes") {
    CHECK(happened.into_holes > 0);
    CHECK(happened.doublewritten < happened.into_holes);
  }
  CHECK((happened.discards > 0) == flash);  // in Overwrite: of segments that held a checkpoint
}

}  // namespace
}  // namespace latchkey::crash_busy_database_test
