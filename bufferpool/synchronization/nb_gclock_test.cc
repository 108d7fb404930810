// What Nb-GCLOCK promises beyond the contract of every scheme.
#include <catch2/catch.hpp>
#include <string>

#include "bufferpool/replacement/trace_replay.h"
#include "bufferpool/synchronization/synchronization_list.h"
#include "bufferpool/synchronization/testing/policy_replay.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey::nb_gclock_test {
namespace {

std::unique_ptr<FixPolicy> Make(Runtime& runtime, const std::string& replacement,
                                const std::string& scheme, size_t frames) {
  auto policy = MakeFixPolicy(runtime, ReplacementAlgorithms().Named(replacement),
                              SynchronizationSchemes().Named(scheme), frames, frames, 42);
  REQUIRE(policy.ok());
  return *std::move(policy);
}

TEST_CASE("Nb-GCLOCK of one actor misses exactly where GCLOCK does, without a lock") {
  const auto requests = SkewedRequests(100'000, 5000);
  const std::vector<uint32_t> ids(requests.begin(), requests.end());
  for (const char* scheme : {"nb-gclock", "nb-gclock:hand=striped"}) {
    for (const char* replacement : {"clock", "gclock", "gclock:limit=127", "gclock:initial=0"}) {
      CAPTURE(scheme, replacement);
      const auto policy = Make(ThreadRuntime(), replacement, scheme, 1000);
      CHECK(ReplayThrough(*policy, requests) ==
            CountMisses(ReplacementAlgorithms().Named(replacement), 1000, ids));
      CHECK(policy->stats().lock_acquisitions == 0);
    }
  }
}

TEST_CASE("Nb-GCLOCK refuses algorithms that it is not a form of") {
  const auto policy = MakeFixPolicy(ThreadRuntime(), ReplacementAlgorithms().Named("lru"),
                                    SynchronizationSchemes().Named("nb-gclock"), 16, 16, 1);
  REQUIRE(absl::IsInvalidArgument(policy.status()));
  CHECK_THAT(std::string(policy.status().message()),
             Catch::Contains("lru") && Catch::Contains("gclock or clock"));
}

// The evictor has taken the frame's state, and the remover holds the page's latch: the remover gets
// the frame once the evictor has turned away. In every schedule exactly one of them owns it.
TEST_CASE("A page that is freed while an evictor looks at its frame has one owner") {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    SimulatedRuntime runtime({.seed = seed, .quantum = 0, .preempt_probability = 0.3});
    const auto policy = Make(runtime, "gclock:initial=0", "nb-gclock", 1);
    std::atomic<uint32_t> owners{0};
    REQUIRE(runtime
                .Run([&] {
                  std::atomic<bool> latched{false};
                  const auto latch = [&](FrameId) {
                    runtime.SchedulePoint();
                    return !latched.exchange(true);
                  };
                  const FrameId frame = policy->TakeFreeFrame(PageId{1}, 0);
                  policy->OnLoad(frame, PageId{1}, LoadKind::kDemand, 0);
                  auto evictor = runtime.Spawn("evictor", [&] {
                    FrameId victim;
                    owners += policy->Evict(PageId{2}, {&victim, 1}, latch, 1);
                  });
                  if (latch(frame)) {
                    policy->OnRemove(frame, PageId{1}, 0);
                    ++owners;
                  }
                  evictor->Join();
                })
                .ok());
    CHECK(owners == 1);
  }
}

}  // namespace
}  // namespace latchkey::nb_gclock_test
