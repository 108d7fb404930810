#include "bufferpool/replacement/ghost_queue.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>

#include "storage/base/rng.h"

namespace latchkey {
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

TEST_CASE("A ghost costs at most 32 bytes") {
  for (const size_t capacity : {1000, 1024, 1025, 100'000}) {
    CHECK(GhostQueue(capacity).memory_bytes() <= 32 * capacity);
  }
}

}  // namespace
}  // namespace latchkey
