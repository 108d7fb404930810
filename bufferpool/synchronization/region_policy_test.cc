#include "bufferpool/synchronization/region_policy.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <string_view>

#include "bufferpool/synchronization/testing/policy_replay.h"
#include "storage/base/rng.h"
#include "storage/base/sanitizers.h"
#include "storage/runtime/runtime.h"

namespace latchkey::region_policy_test {
namespace {

constexpr auto kClaimAll = [](FrameId) { return true; };

RegionPolicy Make(const char* replacement, size_t regions, size_t frames, size_t max_frames) {
  return RegionPolicy(ThreadRuntime(), ReplacementAlgorithms().Named(replacement),
                      RegionSettings{.regions = regions}, frames, max_frames, 42);
}

TEST_CASE("One region is LRU over the whole pool") {
  auto policy = Make("lru", 1, 3, 3);
  const std::vector<uint64_t> requests = {1, 2, 3, 1, 4, 2, 1};  // 4 replaces 2, 2 replaces 3
  CHECK(ReplayThrough(policy, requests) == 5);
}

TEST_CASE("Regions of a hundred frames miss about as often as one region does") {
  const auto requests = SkewedRequests(200'000, 10'000);
  for (const char* replacement : {"lru", "clock", "2q"}) {
    CAPTURE(replacement);
    if (kSanitizer && replacement != std::string_view("2q")) continue;
    auto whole = Make(replacement, 1, 2000, 2000);
    auto divided = Make(replacement, 20, 2000, 2000);
    const auto misses = static_cast<double>(ReplayThrough(whole, requests));
    CHECK(static_cast<double>(ReplayThrough(divided, requests)) / misses ==
          Approx(1.0).margin(0.03));
  }
}

// With 64 regions of one frame each, the pages of a path from the root to a leaf evicted each
// other. The descents of 14 actors restarted for ever.
TEST_CASE("Three pages in turn miss three times, however many regions were asked for") {
  for (uint64_t page = 0; page < 200; ++page) {
    CAPTURE(page);
    auto policy = Make("lru", 64, 64, 64);
    std::vector<uint64_t> requests;
    for (int turn = 0; turn < 10; ++turn) {
      for (uint64_t next = page; next < page + 3; ++next) requests.push_back(next);
    }
    CHECK(ReplayThrough(policy, requests) == 3);
  }
}

// The price of regions of fixed size: the hash gives some regions more pages than they have frames,
// and LRU misses every page of such a region in every round.
TEST_CASE("A set of pages that fits into the pool keeps missing in the regions that it overflows") {
  constexpr size_t kFrames = 1088, kPages = 1024, kRounds = 20, kRegions = 64;
  std::vector<uint64_t> requests;
  for (uint64_t i = 0; i < kRounds * kPages; ++i) requests.push_back(i % kPages);
  const auto misses = [&](size_t regions) {
    RegionPolicy policy = Make("lru", regions, kFrames, kFrames);
    return ReplayThrough(policy, requests);
  };
  const RegionDivision division(kFrames, kRegions, /*fewest=*/1);
  std::map<size_t, uint64_t> pages_of;
  for (uint64_t page = 0; page < kPages; ++page) ++pages_of[division.RegionOf(PageId{page})];
  uint64_t expected = 0;
  for (const auto& [region, pages] : pages_of) {
    expected += pages * (pages > division.RangeOf(region).frames ? kRounds : 1);
  }
  CHECK(misses(1) == kPages);
  CHECK(misses(kRegions) == expected);
  CHECK(expected > 5 * kPages);
}

TEST_CASE("A batch of victims leaves most of a small region alone") {
  auto policy = Make("lru", 1, 16, 16);
  std::vector<uint64_t> requests;
  for (uint64_t page = 0; page < 16; ++page) requests.push_back(page);
  ReplayThrough(policy, requests);
  FrameId victims[16];
  CHECK(policy.Evict(PageId{100}, victims, kClaimAll, 0) == 2);
}

TEST_CASE("Pages are spread evenly over regions and stay in the range of theirs") {
  constexpr size_t kRegions = 7, kFrames = 7000;
  auto policy = Make("clock", kRegions, kFrames, kFrames);
  std::map<uint64_t, std::vector<FrameId>> by_range;
  for (uint64_t page = 0; page < 3500; ++page) {
    const FrameId frame = policy.TakeFreeFrame(PageId{page}, 0);
    REQUIRE(frame != kNoFrame);
    by_range[(Raw(frame) - 1) / 1000].push_back(frame);
  }
  CHECK(by_range.size() == kRegions);
  for (const auto& [range, frames] : by_range) CHECK(frames.size() == Approx(500).margin(100));
}

TEST_CASE("Cleaners see the coldest frames of all regions, the coldest first") {
  auto policy = Make("lru", 4, 400, 400);
  const auto requests = SkewedRequests(20'000, 2000);
  ReplayThrough(policy, requests);
  std::vector<FrameId> all(1000);
  CHECK(policy.PeekColdest(all) == 400);
  std::vector<FrameId> some(40);
  REQUIRE(policy.PeekColdest(some) == 40);
  std::map<uint32_t, int> per_region;
  for (const FrameId frame : some) ++per_region[(Raw(frame) - 1) / 100];
  for (const auto& [region, count] : per_region) CHECK(count == 10);
  std::vector<FrameId> first_victims;
  for (uint64_t page = 5000; first_victims.size() < 4; ++page) {
    FrameId victim;
    REQUIRE(policy.Evict(PageId{page}, {&victim, 1}, kClaimAll, 0) == 1);
    const bool in_front = std::find(some.begin(), some.end(), victim) != some.end();
    CHECK(in_front);
    first_victims.push_back(victim);
  }
}

TEST_CASE("A few frames at a time, the cleaners come round to every region") {
  auto policy = Make("clock", 10, 100, 100);
  const auto requests = SkewedRequests(5000, 500);
  ReplayThrough(policy, requests);
  std::map<uint32_t, int> seen;
  for (int i = 0; i < 5; ++i) {
    FrameId out[2];
    REQUIRE(policy.PeekColdest(out) == 2);
    for (const FrameId frame : out) ++seen[(Raw(frame) - 1) / 10];
  }
  CHECK(seen.size() == 10);
}

TEST_CASE("Resizing keeps the order of eviction") {
  for (const size_t regions : {1, 4}) {
    CAPTURE(regions);
    auto policy = Make("lru", regions, 400, 4000);
    // The pages of the first half are the older ones in every region.
    std::map<uint32_t, uint64_t> page_in;
    for (uint64_t page = 0; page < 4000 && policy.free_frames() > 0; ++page) {
      const FrameId frame = policy.TakeFreeFrame(PageId{page}, 0);
      if (frame == kNoFrame) continue;
      policy.OnLoad(frame, PageId{page}, LoadKind::kDemand, 0);
      page_in[Raw(frame)] = page;
    }
    std::vector<FrameId> before(80), after(80);
    REQUIRE(policy.PeekColdest(before) == 80);
    policy.Resize(800);
    CHECK(policy.free_frames() == 400);
    CHECK(policy.PeekColdest(after) >= 40);
    size_t kept = 0;
    for (const FrameId frame : after) {
      kept += static_cast<size_t>(std::count(before.begin(), before.end(), frame));
    }
    CHECK(kept >= 40);
  }
}

// The mark of the region before would make hits of a page that is cold now cost nothing.
TEST_CASE("After a resize a page is marked hot only if its region says so") {
  auto policy = Make("hot-cold", 4, 64, 128);
  const FrameId frame = policy.TakeFreeFrame(PageId{1}, 0);
  policy.OnLoad(frame, PageId{1}, LoadKind::kDemand, 0);
  const auto locks_of_hit = [&] {
    const uint64_t before = policy.stats().lock_acquisitions;
    policy.OnFix(frame, PageId{1}, 0);
    return policy.stats().lock_acquisitions - before;
  };
  CHECK(locks_of_hit() == 1);
  CHECK(locks_of_hit() == 0);
  policy.Resize(128);
  CHECK(locks_of_hit() == 1);
  CHECK(locks_of_hit() == 0);
}

TEST_CASE("The table of a pool that may grow far costs memory only for the frames in use") {
  // 20 million frames would be half a GB if every entry were touched.
  auto policy = Make("clock", 4, 100, 20'000'000);
  CHECK(policy.free_frames() == 100);
}

}  // namespace
}  // namespace latchkey::region_policy_test
