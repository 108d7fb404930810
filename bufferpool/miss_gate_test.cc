// The miss gate: misses pass together, and a closer is alone.
#include "bufferpool/miss_gate.h"

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "storage/runtime/simulated_runtime.h"

namespace latchkey::miss_gate_test {
namespace {

TEST_CASE("Misses pass the gate together, and again after it was closed") {
  MissGate gate(ThreadRuntime());
  {
    const MissGate::Pass first(gate, 1);
    const MissGate::Pass second(gate, 2);
  }
  {
    const MissGate::Closure closure(gate);
    CHECK(closure.closed());
  }
  const MissGate::Pass third(gate, 1);
}

TEST_CASE("A closer gives up when a miss stays inside, and the gate is open afterwards") {
  SimulatedRuntime runtime({.seed = 1});
  bool closed = true, passed = false;
  const absl::Status ran = runtime.Run([&] {
    MissGate gate(runtime);
    const MissGate::Pass inside(gate, 1);
    closed = MissGate::Closure(gate).closed();
    const MissGate::Pass another(gate, 2);
    passed = true;
  });
  REQUIRE(ran.ok());
  CHECK_FALSE(closed);
  CHECK(passed);
}

TEST_CASE("Under seeded schedules no miss is inside the closed gate") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    SimulatedRuntime runtime({.seed = seed, .quantum = 0, .preempt_probability = 0.3});
    MissGate gate(runtime);
    int inside = 0, passes = 0, closures = 0;
    bool wrong = false, alone = false;
    const absl::Status ran = runtime.Run([&] {
      std::vector<std::unique_ptr<Actor>> actors;
      actors.reserve(3);
      for (int a = 0; a < 3; ++a) {
        actors.push_back(runtime.Spawn("miss", [&] {
          for (int i = 0; i < 100; ++i, ++passes) {
            const MissGate::Pass pass(gate, runtime.ActorIndex());
            ++inside;
            wrong |= alone;
            runtime.SchedulePoint();
            wrong |= alone;
            --inside;
          }
        }));
      }
      for (int i = 0; i < 50; ++i) {
        const MissGate::Closure closure(gate);
        if (!closure.closed()) continue;
        ++closures;
        alone = true;
        wrong |= inside > 0;
        runtime.SchedulePoint();
        wrong |= inside > 0;
        alone = false;
      }
      actors.clear();
    });
    REQUIRE(ran.ok());
    CHECK_FALSE(wrong);
    CHECK(passes == 300);
    CHECK(closures > 0);
  }
}

}  // namespace
}  // namespace latchkey::miss_gate_test
