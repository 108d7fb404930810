// Conformance suite: the contract of fix_policy.h, for every synchronisation scheme with every
// replacement algorithm.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "bufferpool/synchronization/synchronization_list.h"
#include "bufferpool/synchronization/testing/policy_replay.h"
#include "storage/base/rng.h"
#include "storage/base/sanitizers.h"
#include "storage/runtime/runtime.h"

namespace latchkey::fix_policy_conformance_test {
namespace {

struct Combination {
  std::string replacement;
  std::string synchronization;
};

// Every scheme at least once; schemes with a size, at sizes that give regions of one, few and many
// frames.
std::vector<Combination> AllCombinations() {
  std::vector<std::string> schemes;
  for (const SynchronizationInfo& info : SynchronizationSchemes()) {
    schemes.emplace_back(info.small_item);
  }
  for (const char* item :
       {"regions:1", "regions:3", "regions:16", "regions:n=3:hits=locked:lock=spin",
        "global:lock=ttas", "bp-wrapper:queue=1:threshold=1:free_lists=1:refill=1:prefetch=off",
        "bp-wrapper:free_lists=3:regions=5:lock=ttas", "nb-gclock:hand=striped"}) {
    schemes.emplace_back(item);
  }
  std::vector<Combination> combinations;
  for (const std::string& scheme : schemes) {
    for (const std::string& name : PoolReplacementNames()) {
      if (SynchronizationSchemes().Named(scheme).entry().Runs(name)) {
        combinations.push_back({name, scheme});
      }
    }
  }
  return combinations;
}

std::unique_ptr<FixPolicy> Make(const Combination& combination, size_t frames, size_t max_frames) {
  auto policy = MakeFixPolicy(
      ThreadRuntime(), ReplacementAlgorithms().Named(combination.replacement),
      SynchronizationSchemes().Named(combination.synchronization), frames, max_frames, 42);
  REQUIRE(policy.ok());
  return *std::move(policy);
}

constexpr auto kClaimAll = [](FrameId) { return true; };

// A pool of one actor: the page in each frame, and the empty frames that the actor owns.
class SmallPool {
 public:
  SmallPool(FixPolicy& policy, size_t frames) : policy_(policy), frames_(frames) {}

  FrameId Fix(uint64_t page) {
    for (const auto& [frame, held] : page_in_) {
      if (held == page) {
        policy_.OnFix(FrameId{frame}, PageId{page}, 0);
        return FrameId{frame};
      }
    }
    FrameId frame = policy_.TakeFreeFrame(PageId{page}, 0);
    if (frame == kNoFrame) frame = EvictFor(page);
    // Free frames may be in another list than that of the page.
    if (frame == kNoFrame) frame = policy_.TakeFreeFrame(PageId{page}, 0);
    if (frame != kNoFrame) Load(frame, page);
    return frame;
  }
  void Load(FrameId frame, uint64_t page) {
    REQUIRE(Raw(frame) >= 1);
    REQUIRE(Raw(frame) <= frames_);
    REQUIRE(page_in_.emplace(Raw(frame), page).second);
    policy_.OnLoad(frame, PageId{page}, LoadKind::kDemand, 0);
  }
  // Evicts a batch, returns all but the first to the free frames.
  FrameId EvictFor(uint64_t page) {
    FrameId victims[8];
    const size_t count = policy_.Evict(
        PageId{page}, victims, [&](FrameId f) { return pinned.count(Raw(f)) == 0; }, 0);
    for (size_t i = 0; i < count; ++i) {
      REQUIRE(pinned.count(Raw(victims[i])) == 0);
      REQUIRE(page_in_.erase(Raw(victims[i])) == 1);
      if (i > 0) policy_.ReturnFreeFrame(victims[i]);
    }
    return count == 0 ? kNoFrame : victims[0];
  }
  void Free(FrameId frame) {
    policy_.OnRemove(frame, PageId{page_in_.at(Raw(frame))}, 0);
    page_in_.erase(Raw(frame));
    policy_.ReturnFreeFrame(frame);
  }
  // As the pool does: empties the frames above, then resizes the policy.
  void Resize(size_t frames) {
    while (!page_in_.empty() && page_in_.rbegin()->first > frames) {
      Free(FrameId{page_in_.rbegin()->first});
    }
    policy_.Resize(frames);
    frames_ = frames;
  }
  void CheckNothingLost() { REQUIRE(policy_.free_frames() + page_in_.size() == frames_); }
  void CheckPeek(size_t wanted) {
    std::vector<FrameId> out(wanted);
    const size_t count = policy_.PeekColdest(out);
    REQUIRE(count <= wanted);
    std::set<uint32_t> seen;
    for (size_t i = 0; i < count; ++i) {
      REQUIRE(page_in_.count(Raw(out[i])) == 1);
      REQUIRE(seen.insert(Raw(out[i])).second);
    }
  }
  const std::map<uint32_t, uint64_t>& page_in() const { return page_in_; }
  std::set<uint32_t> pinned;

 private:
  FixPolicy& policy_;
  size_t frames_;
  std::map<uint32_t, uint64_t> page_in_;
};

TEST_CASE("Every fix policy hands out every frame once before it evicts") {
  for (const Combination& c : AllCombinations()) {
    CAPTURE(c.replacement, c.synchronization);
    const auto policy = Make(c, 40, 100);
    CHECK(policy->free_frames() == 40);
    SmallPool pool(*policy, 40);
    for (uint64_t page = 0; page < 400; ++page) {
      CHECK(pool.Fix(page) != kNoFrame);
      pool.CheckNothingLost();
    }
    // A region evicts while another still has free frames, but enough pages use all of them.
    CHECK(policy->free_frames() < 10);
  }
}

TEST_CASE("Every fix policy gives up the free frames above a bound, and only those") {
  for (const Combination& c : AllCombinations()) {
    CAPTURE(c.replacement, c.synchronization);
    const auto policy = Make(c, 40, 100);
    std::vector<FrameId> taken;
    policy->TakeFreeFramesAbove(FrameId{24}, &taken);
    std::sort(taken.begin(), taken.end());
    REQUIRE(taken.size() == 16);
    for (uint32_t i = 0; i < 16; ++i) CHECK(taken[i] == FrameId{25 + i});
    CHECK(policy->free_frames() == 24);
    policy->ReturnFreeFrame(taken.back());
    taken.pop_back();
    policy->TakeFreeFramesAbove(FrameId{24}, &taken);
    CHECK(taken.size() == 16);
  }
}

TEST_CASE("Every fix policy loses no frame and names no frame twice under random operations") {
  for (const Combination& c : AllCombinations()) {
    for (uint64_t seed = 1; seed <= (kSanitizer ? 1 : 3); ++seed) {
      CAPTURE(c.replacement, c.synchronization, seed);
      Rng rng(seed);
      const auto policy = Make(c, 37, 37);
      SmallPool pool(*policy, 37);
      for (int step = 0; step < 2000; ++step) {
        const uint64_t action = rng.Below(100);
        if (action < 5 && !pool.page_in().empty()) {
          pool.Free(FrameId{pool.page_in().begin()->first});
        } else if (action < 8) {
          pool.CheckPeek(rng.Below(50));
        } else {
          REQUIRE(pool.Fix(rng.Below(80)) != kNoFrame);
        }
        pool.CheckNothingLost();
      }
    }
  }
}

TEST_CASE("Every fix policy evicts whatever is left when nearly everything is pinned") {
  for (const Combination& c : AllCombinations()) {
    CAPTURE(c.replacement, c.synchronization);
    const auto policy = Make(c, 32, 32);
    SmallPool pool(*policy, 32);
    for (uint64_t page = 0; page < 1000; ++page) pool.Fix(page);
    for (uint32_t f = 1; f <= 32; ++f) pool.pinned.insert(f);
    CHECK(pool.EvictFor(2000) == kNoFrame);
    pool.CheckNothingLost();
    pool.pinned.erase(17);
    const bool was_free = pool.page_in().count(17) == 0;
    if (was_free) continue;
    // For a page of any region, the one remaining frame is found.
    for (uint64_t page = 3000; page < 3010; ++page) {
      const FrameId frame = pool.EvictFor(page);
      CHECK(frame == FrameId{17});
      pool.Load(frame, page);
    }
  }
}

TEST_CASE("A page whose region is exhausted gets a free frame of another region") {
  for (const Combination& c : AllCombinations()) {
    CAPTURE(c.replacement, c.synchronization);
    const auto policy = Make(c, 32, 32);
    SmallPool pool(*policy, 32);
    for (uint32_t f = 1; f <= 32; ++f) pool.pinned.insert(f);
    // All loaded pages are pinned: the pool must be able to fill to the last frame.
    uint64_t page = 0;
    for (int tries = 0; tries < 200 && policy->free_frames() > 0; ++tries) {
      if (pool.Fix(page) != kNoFrame) ++page;
    }
    CHECK(policy->free_frames() == 0);
    CHECK(page == 32);
  }
}

// The first fix of a page that was read ahead counted as a hit. Its reference bit then kept the pages
// of a scan as long as pages that are used again, and CLOCK missed more often.
TEST_CASE("A page that is read ahead and then used is one miss, and leaves as if read on demand") {
  const std::vector<uint64_t> requests = SkewedRequests(5000, 300);
  for (const Combination& c : AllCombinations()) {
    CAPTURE(c.replacement, c.synchronization);
    const auto on_demand = Make(c, 64, 64), ahead = Make(c, 64, 64);
    CHECK(ReplayThrough(*ahead, requests, 1, LoadKind::kAhead) ==
          ReplayThrough(*on_demand, requests, 1, LoadKind::kDemand));
  }
}

TEST_CASE("A hit on a page that has left changes nothing") {
  for (const Combination& c : AllCombinations()) {
    CAPTURE(c.replacement, c.synchronization);
    const auto policy = Make(c, 16, 16);
    for (uint32_t f = 1; f <= 16; ++f) policy->OnFix(FrameId{f}, PageId{f}, 0);
    SmallPool pool(*policy, 16);
    for (uint64_t page = 0; page < 200; ++page) {
      pool.Fix(page);
      for (uint32_t f = 1; f <= 16; ++f) policy->OnFix(FrameId{f}, PageId{page + 1000}, 0);
      pool.CheckNothingLost();
    }
  }
}

TEST_CASE("A reinstated page is resident again and can be evicted") {
  for (const Combination& c : AllCombinations()) {
    CAPTURE(c.replacement, c.synchronization);
    const auto policy = Make(c, 16, 16);
    SmallPool pool(*policy, 16);
    for (uint64_t page = 0; page < 100; ++page) pool.Fix(page);
    const auto before = pool.page_in();
    FrameId victims[2];
    const size_t count = policy->Evict(PageId{7}, victims, kClaimAll, 0);
    REQUIRE(count >= 1);
    for (size_t i = 0; i < count; ++i) {
      policy->Reinstate(victims[i], PageId{before.at(Raw(victims[i]))}, 0);
    }
    for (uint64_t page = 200; page < 300; ++page) REQUIRE(pool.Fix(page) != kNoFrame);
    pool.CheckNothingLost();
  }
}

TEST_CASE("Every fix policy grows and shrinks with its pages in place") {
  for (const Combination& c : AllCombinations()) {
    for (uint64_t seed = 1; seed <= (kSanitizer ? 1 : 2); ++seed) {
      CAPTURE(c.replacement, c.synchronization, seed);
      Rng rng(seed);
      const auto policy = Make(c, 20, 3000);
      SmallPool pool(*policy, 20);
      for (int round = 0; round < 40; ++round) {
        pool.Resize(round == 20 ? 3000 : 1 + rng.Below(60));  // also below the number of regions
        pool.CheckNothingLost();
        const auto resident = pool.page_in();
        for (int step = 0; step < (kSanitizer ? 30 : 150); ++step) {
          REQUIRE(pool.Fix(rng.Below(100)) != kNoFrame);
          pool.CheckNothingLost();
        }
        pool.CheckPeek(100);
      }
    }
  }
}

TEST_CASE("Impossible fix policies are refused with the remedy") {
  const auto error = [](std::string_view synchronization, size_t frames, size_t max_frames) {
    const auto policy =
        MakeFixPolicy(ThreadRuntime(), ReplacementAlgorithms().Named("lru"),
                      SynchronizationSchemes().Named(synchronization), frames, max_frames, 1);
    REQUIRE(absl::IsInvalidArgument(policy.status()));
    return std::string(policy.status().message());
  };
  CHECK_THAT(error("regions:17", 16, 16),
             Catch::Contains("17 regions") && Catch::Contains("at most 16"));
  CHECK_THAT(error("global", 0, 16), Catch::Contains("0 frames"));
  CHECK_THAT(error("global", 17, 16), Catch::Contains("17 frames"));
  CHECK_THAT(error("global", 16, size_t{1} << 32), Catch::Contains("at most"));
}

TEST_CASE(
    "Algorithms and parameters for a trace replay only are refused with what a pool can run") {
  const auto error = [](std::string_view item) {
    const auto policy = MakeFixPolicy(ThreadRuntime(), ReplacementAlgorithms().Named(item),
                                      SynchronizationSchemes().Named("global"), 16, 16, 42);
    REQUIRE(absl::IsInvalidArgument(policy.status()));
    return std::string(policy.status().message());
  };
  CHECK_THAT(error("opt"), Catch::Contains("trace replay") && Catch::Contains("a pool can run"));
  CHECK_THAT(error("lirs:stack=inf"), Catch::Contains("stack=2"));
  CHECK_THAT(error("lru2:history=inf"), Catch::Contains("history=0.5"));
}

TEST_CASE("Unknown synchronisation schemes are refused with the known ones") {
  const auto error = [](std::string_view item) {
    return std::string(SynchronizationSchemes().Parse(item).status().message());
  };
  CHECK_THAT(error("regions:0"), Catch::Contains("from 1 to"));
  CHECK_THAT(error("striped"), Catch::Contains("known: global, regions"));
  CHECK_THAT(error("global:lock=fair"), Catch::Contains("sleep, spin, ttas"));
  CHECK(SynchronizationSchemes().Named("regions:8").ToString() ==
        "regions:n=8:hits=unlocked:lock=sleep");
  CHECK(SynchronizationSchemes().Named("global").ToString() == "global:hits=unlocked:lock=sleep");
}

TEST_CASE("A hit takes no lock if a byte or a queue is enough, and one elsewhere") {
  for (const Combination& c : AllCombinations()) {
    CAPTURE(c.replacement, c.synchronization);
    const auto policy = Make(c, 16, 16);
    SmallPool pool(*policy, 16);
    pool.Fix(1);
    const uint64_t before = policy->stats().lock_acquisitions;
    for (int i = 0; i < 10; ++i) pool.Fix(1);
    const uint64_t locks = policy->stats().lock_acquisitions - before;
    const auto scheme_has = [&](std::string_view part) {
      return c.synchronization.find(part) != std::string::npos;
    };
    const HitNeeds needs = ReplacementAlgorithms().Find(c.replacement)->hit_needs;
    const bool needs_none = needs == HitNeeds::kNothing || needs == HitNeeds::kByte;
    if (needs_none && !scheme_has("hits=locked")) {
      CHECK(locks == 0);
    } else if (scheme_has("bp-wrapper") && !scheme_has("queue=1:")) {
      CHECK(locks <= 3);
    } else if (needs == HitNeeds::kLockUnlessMarked && !scheme_has("hits=locked")) {
      CHECK(locks == 1);  // the first hit
    } else {
      CHECK(locks == 10);
    }
    CHECK(policy->stats().contentions == 0);
  }
}

// ---- Many actors --------------------------------------------------------------------------------

// A pool of many actors, reduced to the policy's view: each frame is free, owned by one actor, or
// loaded and claimable.
class SharedPool {
 public:
  SharedPool(FixPolicy& policy, size_t frames)
      : policy_(policy), state_(frames + 1), page_(frames + 1) {}

  void Run(uint32_t actor, uint64_t seed, int steps) {
    Rng rng(seed);
    for (int step = 0; step < steps; ++step) {
      const uint64_t action = rng.Below(100);
      const FrameId frame{1 + static_cast<uint32_t>(rng.Below(state_.size() - 1))};
      if (action < 50) {
        // As in an optimistic visit: the page may have been evicted since it was read.
        policy_.OnFix(frame, PageId{page_[Raw(frame)].load(std::memory_order_relaxed)}, actor);
      } else if (action < 90) {
        Miss(PageId{rng.Below(1'000'000)}, actor, rng);
      } else if (action < 95) {
        Remove(frame, actor);
      } else {
        FrameId out[10];
        policy_.PeekColdest(out);
        policy_.stats();
      }
    }
  }
  size_t loaded() const {
    size_t count = 0;
    for (const auto& state : state_) count += state.load() == kLoaded ? 1 : 0;
    return count;
  }
  uint32_t violations() const { return violations_.load(); }

 private:
  enum State : uint8_t { kFree, kLoaded, kWithActor };

  bool Claim(FrameId frame) {
    uint8_t expected = kLoaded;
    return state_[Raw(frame)].compare_exchange_strong(expected, kWithActor);
  }
  void Expect(FrameId frame, uint8_t from, uint8_t to) {
    if (state_[Raw(frame)].exchange(to) != from) violations_.fetch_add(1);
  }
  void Load(FrameId frame, PageId page, uint32_t actor) {
    page_[Raw(frame)].store(Raw(page), std::memory_order_relaxed);
    policy_.OnLoad(frame, page, LoadKind::kDemand, actor);
    Expect(frame, kWithActor, kLoaded);
  }
  void Miss(PageId page, uint32_t actor, Rng& rng) {
    FrameId frame = policy_.TakeFreeFrame(page, actor);
    if (frame != kNoFrame) {
      Expect(frame, kFree, kWithActor);
      Load(frame, page, actor);
      return;
    }
    FrameId victims[4];
    const size_t count = policy_.Evict(
        page, victims, [this](FrameId f) { return Claim(f); }, actor);
    for (size_t i = 0; i < count; ++i) {
      if (rng.Below(10) == 0) {
        policy_.Reinstate(victims[i], PageId{page_[Raw(victims[i])].load()}, actor);
        Expect(victims[i], kWithActor, kLoaded);
      } else if (i == 0) {
        Load(victims[i], page, actor);
      } else {
        Expect(victims[i], kWithActor, kFree);
        policy_.ReturnFreeFrame(victims[i]);
      }
    }
  }
  void Remove(FrameId frame, uint32_t actor) {
    if (!Claim(frame)) return;
    policy_.OnRemove(frame, PageId{page_[Raw(frame)].load()}, actor);
    Expect(frame, kWithActor, kFree);
    policy_.ReturnFreeFrame(frame);
  }

  FixPolicy& policy_;
  std::vector<std::atomic<uint8_t>> state_;
  std::vector<std::atomic<uint64_t>> page_;
  std::atomic<uint32_t> violations_{0};
};

void RunActors(uint32_t count, const std::function<void(uint32_t)>& body) {
  std::vector<std::unique_ptr<Actor>> actors;
  for (uint32_t a = 0; a < count; ++a) {
    actors.push_back(ThreadRuntime().Spawn("fix-" + std::to_string(a), [&body, a] { body(a); }));
  }
}

TEST_CASE("No frame is lost or handed out twice among many actors") {
  for (const Combination& c : AllCombinations()) {
    CAPTURE(c.replacement, c.synchronization);
    const auto policy = Make(c, 64, 64);
    SharedPool pool(*policy, 64);
    RunActors(4, [&](uint32_t actor) { pool.Run(actor, 100 + actor, 3000); });
    CHECK(pool.violations() == 0);
    CHECK(pool.loaded() + policy->free_frames() == 64);
  }
}

// Holds three frames at a time, like an actor that pins a path of a tree.
void HoldThreeAtATime(FixPolicy& policy, std::vector<std::atomic<bool>>& claimable, uint32_t actor,
                      std::atomic<uint32_t>& given_up) {
  constexpr uint32_t kMostAttempts = 100'000;
  Rng rng(actor);
  for (uint64_t round = 0; round < 200; ++round) {
    std::vector<FrameId> held;
    Backoff backoff(ThreadRuntime());
    while (held.size() < 3 && backoff.attempts() < kMostAttempts) {
      const PageId page{rng.Below(1'000'000)};
      FrameId frame = policy.TakeFreeFrame(page, actor);
      const auto claim = [&](FrameId f) { return claimable[Raw(f)].exchange(false); };
      if (frame != kNoFrame || policy.Evict(page, {&frame, 1}, claim, actor) == 1) {
        policy.OnLoad(frame, page, LoadKind::kDemand, actor);
        held.push_back(frame);
      } else {
        backoff.Pause();
      }
    }
    if (held.size() < 3) given_up.fetch_add(1);
    for (const FrameId frame : held) claimable[Raw(frame)].store(true);
  }
}

TEST_CASE("Actors that together pin fewer frames than there are all get theirs") {
  for (const Combination& c : AllCombinations()) {
    CAPTURE(c.replacement, c.synchronization);
    const auto policy = Make(c, 16, 16);
    std::vector<std::atomic<bool>> claimable(17);
    std::atomic<uint32_t> given_up{0};
    RunActors(4, [&](uint32_t a) { HoldThreeAtATime(*policy, claimable, a, given_up); });
    CHECK(given_up.load() == 0);
  }
}

// A page cleaner that looked for cold frames read the division of the regions while a resize of the
// cache changed it.
TEST_CASE("Hits may be reported and cold frames looked for while a fix policy is resized") {
  for (const Combination& c : AllCombinations()) {
    CAPTURE(c.replacement, c.synchronization);
    const auto policy = Make(c, 64, 256);
    SmallPool pool(*policy, 64);
    for (uint64_t page = 0; page < 500; ++page) pool.Fix(page);
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> hits{0};
    std::unique_ptr<Actor> hitter = ThreadRuntime().Spawn("hitter", [&] {
      Rng rng(9);
      while (!stop.load()) {
        policy->OnFix(FrameId{1 + static_cast<uint32_t>(rng.Below(64))}, PageId{rng.Below(500)}, 1);
        hits.fetch_add(1);
        FrameId coldest[10];
        if (rng.Below(8) == 0) policy->PeekColdest(coldest);
        if (rng.Below(64) == 0) policy->stats();
        // On one core under SCHED_FIFO nothing else gives the resizing actor its turn.
        ThreadRuntime().BackOff(6);
      }
    });
    for (Backoff backoff(ThreadRuntime()); hits.load() == 0;) backoff.Pause();
    for (const size_t frames : {256, 64, 100, 65, 256, 200, 80, 64}) {
      pool.Resize(frames);
      pool.CheckNothingLost();
      for (uint64_t page = 500; page < 700; ++page) pool.Fix(page);
    }
    stop.store(true);
    hitter->Join();
    pool.CheckNothingLost();
  }
}

}  // namespace
}  // namespace latchkey::fix_policy_conformance_test
