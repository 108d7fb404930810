// What BP-Wrapper promises beyond the contract of every scheme.
#include <catch2/catch.hpp>
#include <string>

#include "bufferpool/synchronization/synchronization_list.h"
#include "bufferpool/synchronization/testing/policy_replay.h"
#include "storage/base/sanitizers.h"

namespace latchkey::bp_wrapper_test {
namespace {

constexpr auto kClaimAll = [](FrameId) { return true; };

std::unique_ptr<FixPolicy> Make(const std::string& replacement, const std::string& scheme,
                                size_t frames) {
  auto policy = MakeFixPolicy(ThreadRuntime(), ReplacementAlgorithms().Named(replacement),
                              SynchronizationSchemes().Named(scheme), frames, frames, 42);
  REQUIRE(policy.ok());
  return *std::move(policy);
}

TEST_CASE("BP-Wrapper takes the lock once for a batch of hits") {
  const auto policy = Make("lru", "bp-wrapper:queue=64:threshold=32:free_lists=1", 8);
  const FrameId frame = policy->TakeFreeFrame(PageId{1}, 0);
  policy->OnLoad(frame, PageId{1}, LoadKind::kDemand, 0);
  for (int i = 0; i < 3200; ++i) policy->OnFix(frame, PageId{1}, 0);
  CHECK(policy->stats().lock_acquisitions == 100);
}

// The paper's Figure 7.
TEST_CASE("A hit in the hot region takes no lock and brings the report of queued accesses nearer") {
  const auto policy = Make("hot-cold", "bp-wrapper:queue=64:threshold=32:free_lists=1", 8);
  const FrameId hot = policy->TakeFreeFrame(PageId{1}, 0);
  policy->OnLoad(hot, PageId{1}, LoadKind::kDemand, 0);
  const FrameId cold = policy->TakeFreeFrame(PageId{2}, 0);
  policy->OnLoad(cold, PageId{2}, LoadKind::kDemand, 0);
  for (int i = 0; i < 30; ++i) policy->OnFix(hot, PageId{1}, 0);
  CHECK(policy->stats().lock_acquisitions == 1);  // the report makes the page hot
  for (int i = 0; i < 1000; ++i) policy->OnFix(hot, PageId{1}, 0);
  CHECK(policy->stats().lock_acquisitions == 1);
  policy->OnFix(cold, PageId{2}, 0);
  for (int i = 0; i < 30; ++i) policy->OnFix(hot, PageId{1}, 0);
  CHECK(policy->stats().lock_acquisitions == 1);
  policy->OnFix(hot, PageId{1}, 0);  // the 32nd access since the one of the cold page
  CHECK(policy->stats().lock_acquisitions == 2);
  for (int i = 0; i < 1000; ++i) policy->OnFix(cold, PageId{2}, 0);
  CHECK(policy->stats().lock_acquisitions == 2);
}

// In the paper an actor alone reports its queue, so an idle one keeps frames from eviction.
TEST_CASE("What an idle actor has queued keeps no frame from being evicted") {
  const auto policy = Make("2q", "bp-wrapper:queue=256:threshold=256:free_lists=1", 16);
  for (uint64_t page = 1; page <= 16; ++page) {
    const FrameId frame = policy->TakeFreeFrame(PageId{page}, 7);
    REQUIRE(frame != kNoFrame);
    policy->OnLoad(frame, PageId{page}, LoadKind::kDemand, 7);
  }
  FrameId victims[16];
  size_t evicted = 0;
  while (const size_t count = policy->Evict(PageId{100}, victims, kClaimAll, 0)) evicted += count;
  CHECK(evicted == 16);
}

TEST_CASE("A page is freed although its load is still queued") {
  const auto policy = Make("lirs", "bp-wrapper:queue=64:threshold=64:free_lists=1", 16);
  const FrameId frame = policy->TakeFreeFrame(PageId{1}, 3);
  policy->OnLoad(frame, PageId{1}, LoadKind::kDemand, 3);
  policy->OnRemove(frame, PageId{1}, 0);
  policy->ReturnFreeFrame(frame);
  CHECK(policy->free_frames() == 16);
}

TEST_CASE("An eviction of BP-Wrapper refills the free list of the page that is loaded") {
  const auto policy = Make("lru", "bp-wrapper:free_lists=2:refill=8", 64);
  uint64_t page = 0;
  FrameId frame;
  do {
    frame = policy->TakeFreeFrame(PageId{++page}, 0);
    if (frame != kNoFrame) policy->OnLoad(frame, PageId{page}, LoadKind::kDemand, 0);
  } while (frame != kNoFrame);
  CHECK(policy->most_victims() == 8);
  FrameId victims[8];
  REQUIRE(policy->Evict(PageId{page}, victims, kClaimAll, 0) == 8);
  for (const FrameId victim : victims) policy->ReturnFreeFrame(victim);
  const uint64_t locks = policy->stats().lock_acquisitions;
  for (int i = 0; i < 8; ++i) CHECK(policy->TakeFreeFrame(PageId{page}, 0) != kNoFrame);
  CHECK(policy->TakeFreeFrame(PageId{page}, 0) == kNoFrame);
  CHECK(policy->stats().lock_acquisitions == locks);
}

// One actor reports in order, only later. The free lists hold frames that the algorithm without
// them would use, so small pools miss more.
TEST_CASE("BP-Wrapper misses about as often as the algorithm that it wraps") {
  const auto requests = SkewedRequests(200'000, 10'000);
  for (const std::string replacement : {"lru", "2q", "arc", "lirs"}) {
    CAPTURE(replacement);
    if (kSanitizer && replacement != "lirs") continue;
    const auto misses = [&](const std::string& scheme) {
      return static_cast<double>(ReplayThrough(*Make(replacement, scheme, 2000), requests));
    };
    const double plain = misses("global");
    CHECK(misses("bp-wrapper:free_lists=1") == Approx(plain).epsilon(0.01));
    CHECK(misses("bp-wrapper:free_lists=4:regions=4") == Approx(plain).epsilon(0.05));
  }
}

TEST_CASE("Impossible settings of BP-Wrapper are refused with the remedy") {
  const auto error = [](const char* scheme, size_t frames) {
    const auto policy = MakeFixPolicy(ThreadRuntime(), ReplacementAlgorithms().Named("lru"),
                                      SynchronizationSchemes().Named(scheme), frames, frames, 1);
    REQUIRE(absl::IsInvalidArgument(policy.status()));
    return std::string(policy.status().message());
  };
  CHECK_THAT(error("bp-wrapper:queue=8:threshold=9", 4096), Catch::Contains("at most the length"));
  CHECK_THAT(error("bp-wrapper", 63),
             Catch::Contains("64 frames or more") && Catch::Contains("fewer lists"));
  CHECK_THAT(error("bp-wrapper:regions=2:free_lists=40", 79), Catch::Contains("80 frames"));
}

}  // namespace
}  // namespace latchkey::bp_wrapper_test
