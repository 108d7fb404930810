#include "engine/txn/reclaim_actor.h"

#include <catch2/catch.hpp>

#include "storage/runtime/simulated_runtime.h"

namespace latchkey::reclaim_actor_test {
namespace {

TEST_CASE("the actor sleeps until it is asked, and a request gets one round") {
  const uint64_t seed = GENERATE(1, 2, 3, 4, 5);
  CAPTURE(seed);
  SimulatedRuntime runtime{SimulationOptions{.seed = seed}};
  const absl::Status ran = runtime.Run([&] {
    int rounds = 0;
    ReclaimActor actor(runtime, [&] { ++rounds; });
    actor.Ask();
    CHECK_FALSE(actor.is_running());
    actor.Start();
    CHECK(actor.is_running());
    runtime.SleepFor(kNanosPerSecond);
    CHECK(rounds == 0);
    for (int asked = 1; asked <= 3; ++asked) {
      actor.Ask();
      runtime.SleepFor(kNanosPerSecond);
      CHECK(rounds == asked);
    }
    actor.Stop();
    CHECK_FALSE(actor.is_running());
    actor.Ask();
    runtime.SleepFor(kNanosPerSecond);
    CHECK(rounds == 3);
  });
  INFO(ran);
  CHECK(ran.ok());
}

TEST_CASE("a request during a round leads to another one") {
  SimulatedRuntime runtime{SimulationOptions{.seed = 1}};
  const absl::Status ran = runtime.Run([&] {
    int rounds = 0;
    ReclaimActor actor(runtime, [&] {
      ++rounds;
      runtime.SleepFor(kNanosPerSecond);
    });
    actor.Start();
    actor.Ask();
    runtime.SleepFor(kNanosPerSecond / 2);
    REQUIRE(rounds == 1);
    actor.Ask();
    runtime.SleepFor(10 * kNanosPerSecond);
    CHECK(rounds == 2);
  });
  INFO(ran);
  CHECK(ran.ok());
}

TEST_CASE("a stop waits for the round, and the actor can start again") {
  const uint64_t seed = GENERATE(1, 2, 3, 4, 5);
  CAPTURE(seed);
  SimulatedRuntime runtime{SimulationOptions{.seed = seed}};
  const absl::Status ran = runtime.Run([&] {
    int begun = 0, ended = 0;
    ReclaimActor actor(runtime, [&] {
      ++begun;
      runtime.SleepFor(kNanosPerSecond);
      ++ended;
    });
    for (int life = 1; life <= 3; ++life) {
      actor.Start();
      actor.Ask();
      runtime.SleepFor(kNanosPerSecond / 2);
      CHECK(begun == life);
      actor.Stop();
      CHECK(ended == life);
    }
  });
  INFO(ran);
  CHECK(ran.ok());
}

}  // namespace
}  // namespace latchkey::reclaim_actor_test
