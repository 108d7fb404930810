#include "bufferpool/replacement/ghost_queue.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <map>

#include "storage/base/rng.h"

namespace latchkey::ghost_queue_test {
namespace {

TEST_CASE("A ghost queue behaves as a plain queue with lookup does") {
  const uint64_t seed = GENERATE(1, 2, 3, 4);
  const size_t capacity = GENERATE(1, 2, 3, 17, 100);
  CAPTURE(seed, capacity);
  Rng rng(seed);
  GhostQueue ghosts(capacity);
  std::deque<PageId> model;  // oldest first
  for (int step = 0; step < 5000; ++step) {
    const PageId page{rng.Below(3 * capacity)};
    const auto place = std::find(model.begin(), model.end(), page);
    const bool known = place != model.end();
    REQUIRE(ghosts.Contains(page) == known);
    const uint64_t action = rng.Below(10);
    if (action < 6) {
      if (known) model.erase(place);
      model.push_back(page);
      if (model.size() > capacity) model.pop_front();
      ghosts.PushNewest(page);
    } else if (action < 9) {
      if (known) model.erase(place);
      REQUIRE(ghosts.Remove(page) == known);
    } else {
      const size_t left = rng.Below(capacity + 1);
      while (model.size() > left) model.pop_front();
      ghosts.TrimTo(left);
    }
    REQUIRE(ghosts.size() == model.size());
  }
}

TEST_CASE("A ghost queue keeps the newest when its capacity changes") {
  GhostQueue ghosts(8);
  for (uint64_t page = 0; page < 8; ++page) ghosts.PushNewest(PageId{page});
  ghosts.SetCapacity(3);
  CHECK(ghosts.size() == 3);
  CHECK_FALSE(ghosts.Contains(PageId{4}));
  CHECK(ghosts.Contains(PageId{5}));
  ghosts.SetCapacity(4);
  ghosts.PushNewest(PageId{100});
  CHECK(ghosts.Contains(PageId{5}));
  ghosts.PushNewest(PageId{101});
  CHECK_FALSE(ghosts.Contains(PageId{5}));
}

TEST_CASE("A ghost queue of capacity 0 remembers nothing") {
  GhostQueue ghosts(0);
  ghosts.PushNewest(PageId{1});
  CHECK(ghosts.size() == 0);
  CHECK_FALSE(ghosts.Contains(PageId{1}));
  CHECK_FALSE(ghosts.Remove(PageId{1}));
}

TEST_CASE(
    "A ghost keeps its entry until it is forgotten, and a new capacity tells where it moves") {
  GhostQueue ghosts(3);
  const uint32_t first = ghosts.PushNewest(PageId{10});
  const uint32_t second = ghosts.PushNewest(PageId{11});
  CHECK(ghosts.PushNewest(PageId{10}) == first);
  CHECK(ghosts.Find(PageId{11}) == second);
  CHECK(ghosts.PageOf(second) == PageId{11});
  CHECK(ghosts.Find(PageId{12}) == GhostQueue::kNone);
  std::map<uint32_t, uint32_t> moves;
  ghosts.SetCapacity(5, [&](uint32_t from, uint32_t to) { moves[from] = to; });
  CHECK(moves == std::map<uint32_t, uint32_t>{{first, ghosts.Find(PageId{10})},
                                              {second, ghosts.Find(PageId{11})}});
}

TEST_CASE("A ghost queue beyond its limit forgets the oldest ghosts, but not the incoming page") {
  GhostQueue ghosts(2 + GhostQueue::kBeyondLimit);
  for (uint64_t page = 1; page <= 4; ++page) ghosts.Remember(PageId{page}, kInvalidPageId, 2);
  CHECK(ghosts.size() == 2);
  ghosts.Remember(PageId{5}, PageId{3}, 2);  // 3 is the oldest
  CHECK(ghosts.Contains(PageId{3}));
  CHECK(ghosts.Contains(PageId{4}));
  ghosts.Remember(PageId{6}, PageId{3}, 2);
  CHECK(ghosts.Contains(PageId{3}));
  CHECK_FALSE(ghosts.Contains(PageId{4}));
  CHECK(ghosts.size() == 3);
}

TEST_CASE("A ghost queue with payloads keeps them when its limit changes") {
  PayloadGhostQueue<uint64_t> ghosts;
  ghosts.Remember(PageId{1}, 100, kInvalidPageId);  // limit 0: forgotten
  CHECK(ghosts.Take(PageId{1}) == std::nullopt);
  ghosts.SetLimit(3);
  for (uint64_t page = 1; page <= 5; ++page) {
    ghosts.Remember(PageId{page}, 100 + page, kInvalidPageId);
  }
  ghosts.SetLimit(2);
  CHECK(ghosts.size() == 2);
  ghosts.SetLimit(9);
  CHECK(ghosts.Take(PageId{3}) == std::nullopt);
  CHECK(ghosts.Take(PageId{4}) == 104);
  CHECK(ghosts.Take(PageId{5}) == 105);
  CHECK(ghosts.Take(PageId{5}) == std::nullopt);
}

TEST_CASE("A ghost costs at most 32 bytes") {
  for (const size_t capacity : {1000, 1024, 1025, 100'000}) {
    CHECK(GhostQueue(capacity).memory_bytes() <= 32 * capacity);
  }
}

}  // namespace
}  // namespace latchkey::ghost_queue_test
