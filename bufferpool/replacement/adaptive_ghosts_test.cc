#include "bufferpool/replacement/adaptive_ghosts.h"

#include <catch2/catch.hpp>

namespace latchkey::adaptive_ghosts_test {
namespace {

using List = AdaptiveGhosts::List;

AdaptiveGhosts WithGhosts(size_t frames, uint64_t in_b1, uint64_t in_b2) {
  AdaptiveGhosts ghosts;
  ghosts.Resize(frames);
  for (uint64_t i = 0; i < in_b1; ++i) ghosts.Remember(PageId{i}, List::kB1);
  for (uint64_t i = 0; i < in_b2; ++i) ghosts.Remember(PageId{100 + i}, List::kB2);
  return ghosts;
}

TEST_CASE("A miss in B1 raises the target by the ratio of the ghost lists, one in B2 lowers it") {
  AdaptiveGhosts ghosts = WithGhosts(20, 4, 10);
  CHECK(ghosts.TargetAfterMissIn(List::kNone) == 0);
  ghosts.TakeMiss(PageId{0}, List::kB1);
  CHECK(ghosts.target() == 2.5);
  ghosts.TakeMiss(PageId{100}, List::kB2);  // 3 ghosts in B1, 10 in B2: the step is at least 1
  CHECK(ghosts.target() == 1.5);
  ghosts.TakeMiss(PageId{101}, List::kB2);
  ghosts.TakeMiss(PageId{102}, List::kB2);
  CHECK(ghosts.target() == 0);
  CHECK(ghosts.Find(PageId{101}) == List::kNone);
  CHECK(ghosts.Find(PageId{103}) == List::kB2);
}

TEST_CASE("The target of T1 and the ghost lists follow the number of frames") {
  AdaptiveGhosts ghosts = WithGhosts(20, 10, 20);
  for (uint64_t page = 0; page < 4; ++page) ghosts.TakeMiss(PageId{page}, List::kB1);
  const double before = ghosts.target();
  ghosts.Resize(40);
  CHECK(ghosts.target() == 2 * before);
  CHECK(ghosts.Find(PageId{4}) == List::kB1);
  ghosts.Resize(4);
  CHECK(ghosts.target() == Approx(before / 5));
  CHECK(ghosts.Find(PageId{9}) == List::kB1);
  CHECK(ghosts.Find(PageId{4}) == List::kNone);
  CHECK(ghosts.Find(PageId{119}) == List::kB2);
  CHECK(ghosts.Find(PageId{100}) == List::kNone);
}

}  // namespace
}  // namespace latchkey::adaptive_ghosts_test
