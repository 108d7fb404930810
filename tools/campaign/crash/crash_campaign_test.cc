#include "tools/campaign/crash/crash_campaign.h"

#include <catch2/catch.hpp>
#include <set>

#include "tools/campaign/crash/crash_toy.h"

namespace latchkey::crash_campaign_test {
namespace {

TEST_CASE("The crash campaign never accuses a sound store") {
  ToySubject toy(ToyBug::kNone, 30);
  const CrashReport report = RunCrashCampaign(toy, {.seeds = 2});
  for (const CrashFailure& failure : report.failures) FAIL(failure.Describe());
  CHECK(report.runs == 2);
  CHECK(report.boundaries > 200);
  CHECK(report.states > 2000);
  CHECK(report.recovery_states * 4 > report.states);
}

TEST_CASE("The crash campaign catches every seeded bug of the toy store") {
  const ToyBug bug = GENERATE(from_range(kAllToyBugs.begin(), kAllToyBugs.end()));
  ToySubject toy(bug);
  const CrashReport report = RunCrashCampaign(toy, {.seeds = 8, .max_states = 8000});
  INFO(ToyBugName(bug));
  REQUIRE(report.failures.size() == 1);
}

TEST_CASE("What power loss with tearing finds, killing the process does not") {
  const auto caught_by_kill = [](ToyBug bug) {
    ToySubject toy(bug, 30);
    CrashCampaignOptions options{.seeds = 2, .recovery_every = 0};
    options.choices = {.random_choices = 0, .max_single = 0};
    options.only_choice = CrashChoice{CrashVariant::kAll, 0};
    return !RunCrashCampaign(toy, options).failures.empty();
  };
  CHECK(caught_by_kill(ToyBug::kLogReclaimedBeforeDataFlush));
  CHECK_FALSE(caught_by_kill(ToyBug::kAckBeforeFlush));
  CHECK_FALSE(caught_by_kill(ToyBug::kNoTornPageProtection));
  CHECK_FALSE(caught_by_kill(ToyBug::kLogTailRewritten));
}

TEST_CASE("A failure is found again from what describes it") {
  ToySubject toy(ToyBug::kNoTornPageProtection);
  const CrashReport first = RunCrashCampaign(toy, {.seeds = 4, .recovery_every = 0});
  REQUIRE(first.failures.size() == 1);
  const CrashFailure& failure = first.failures[0];
  CHECK_THAT(failure.Describe(), Catch::Contains("--position=") && Catch::Contains("--variant="));
  const CrashReport again = RunCrashCampaign(toy, {.first_seed = failure.seed,
                                                   .recovery_every = 0,
                                                   .only_position = failure.position,
                                                   .only_choice = failure.choice});
  REQUIRE(again.failures.size() == 1);
  CHECK(again.failures[0].what == failure.what);
  CHECK(again.states == 1);
}

TEST_CASE("Same seeds, same history, and a budget of states is kept") {
  ToySubject toy(ToyBug::kNone, 20);
  const CrashReport first = RunCrashCampaign(toy, {.max_states = 300});
  const CrashReport second = RunCrashCampaign(toy, {.max_states = 300});
  CHECK(first.history_hash == second.history_hash);
  CHECK(first.states == second.states);
  const uint64_t first_states = first.states - first.recovery_states;
  CHECK(first_states > 200);
  CHECK(first_states < 400);
}

TEST_CASE("The oracle accepts what lies between the acknowledged and the submitted") {
  CommitOracle oracle;
  oracle.Submit(0, 100);
  CHECK_FALSE(oracle.MustExist(5));
  oracle.Acknowledge(5);
  oracle.Submit(7, 101);
  oracle.Submit(8, 102);
  oracle.Acknowledge(10);
  CHECK(oracle.MustExist(5));
  CHECK(oracle.Accepts(4, 100));
  CHECK(oracle.Accepts(7, 100));
  CHECK(oracle.Accepts(7, 101));
  CHECK_FALSE(oracle.Accepts(6, 101));
  CHECK(oracle.Accepts(9, 102));
  CHECK(oracle.Accepts(9, 101));
  CHECK_FALSE(oracle.Accepts(10, 101));
  CHECK_FALSE(oracle.Accepts(10, 7));
  CHECK(oracle.PromisedAt(10));
  CHECK_FALSE(oracle.PromisedAt(9));
  CHECK_THAT(oracle.Explain(10, 101), Catch::Contains("transaction 1"));
}

TEST_CASE("A commit that was asked for before the one in front of it is found only behind that") {
  CommitOracle oracle;
  oracle.Submit(0, 100);
  oracle.Acknowledge(1);
  oracle.Submit(7, 101);
  oracle.Submit(5, 102);  // second in the order of commits
  CHECK_FALSE(oracle.Accepts(6, 102));
  CHECK(oracle.Accepts(7, 102));
  // Acknowledged before its predecessor in commit order: both are promised.
  oracle.Acknowledge(8, 3);
  oracle.Acknowledge(9, 2);
  CHECK_FALSE(oracle.Accepts(8, 101));
  CHECK_FALSE(oracle.Accepts(9, 101));
  CHECK(oracle.Accepts(9, 102));
}

}  // namespace
}  // namespace latchkey::crash_campaign_test
