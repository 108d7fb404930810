#include "engine/pace.h"

#include <catch2/catch.hpp>

#include "storage/runtime/testing/manual_clock.h"

namespace latchkey::pace_test {
namespace {

TEST_CASE("a pace keeps to its rate, and asks ten times a second whether to go on") {
  ManualClock clock;
  Pace pace(clock, 1'000'000);
  const Nanos start = clock.Now();
  int asked = 0;
  const auto go_on = [&] {
    ++asked;
    return absl::OkStatus();
  };
  for (int i = 0; i < 30; ++i) REQUIRE(pace.Spend(500'000, go_on).ok());
  CHECK(clock.Now() - start == 15 * kNanosPerSecond);
  CHECK(asked == 150);
}

TEST_CASE("time in which a pace moved nothing is not made up for, except a tenth of a second") {
  ManualClock clock;
  Pace pace(clock, 1'000'000);
  const auto go_on = [] { return absl::OkStatus(); };
  clock.Advance(100 * kNanosPerSecond);
  const Nanos start = clock.Now();
  REQUIRE(pace.Spend(2'000'000, go_on).ok());
  CHECK(clock.Now() - start == 2 * kNanosPerSecond - kNanosPerSecond / 10);
}

TEST_CASE("an error ends the wait of a pace at once and is returned") {
  ManualClock clock;
  Pace pace(clock, 1'000'000);
  int asked = 0;
  const Nanos start = clock.Now();
  const absl::Status ended = pace.Spend(
      3'000'000, [&] { return ++asked == 4 ? absl::DataLossError("the log") : absl::OkStatus(); });
  CHECK(absl::IsDataLoss(ended));
  CHECK(asked == 4);
  CHECK(clock.Now() - start == 4 * kNanosPerSecond / 10);
}

TEST_CASE("a pause lasts as long as it is told, unless it is ended") {
  ManualClock clock;
  Pace pace(clock, 0);
  const Nanos start = clock.Now();
  REQUIRE(pace.Pause(250 * kNanosPerMilli, [] { return absl::OkStatus(); }).ok());
  CHECK(clock.Now() - start == 250 * kNanosPerMilli);
  CHECK(
      absl::IsDataLoss(pace.Pause(kNanosPerSecond, [] { return absl::DataLossError("the log"); })));
  CHECK(clock.Now() - start == 350 * kNanosPerMilli);
}

TEST_CASE("a pace without a limit never waits") {
  ManualClock clock;
  Pace pace(clock, 0);
  const Nanos start = clock.Now();
  REQUIRE(pace.Spend(UINT64_MAX, [] { return absl::DataLossError("not asked"); }).ok());
  CHECK(clock.Now() == start);
}

}  // namespace
}  // namespace latchkey::pace_test
