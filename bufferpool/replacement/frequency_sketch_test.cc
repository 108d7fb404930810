#include "bufferpool/replacement/frequency_sketch.h"

#include <algorithm>
#include <catch2/catch.hpp>

namespace latchkey::frequency_sketch_test {
namespace {

TEST_CASE("A frequency sketch never counts a page too low and stops at fifteen") {
  FrequencySketch sketch;
  sketch.Resize(1000);
  for (uint64_t page = 0; page < 100; ++page) {
    for (uint64_t i = 0; i < page; ++i) sketch.Add(PageId{page});
  }
  uint64_t too_high = 0;
  for (uint64_t page = 0; page < 100; ++page) {
    const uint32_t true_count =
        static_cast<uint32_t>(std::min<uint64_t>(page, FrequencySketch::kHighestCount));
    CHECK(sketch.Estimate(PageId{page}) >= true_count);
    too_high += sketch.Estimate(PageId{page}) - true_count;
  }
  CHECK(too_high <= 5);
}

TEST_CASE("A frequency sketch halves its counts after ten requests per frame") {
  FrequencySketch sketch;
  sketch.Resize(64);
  for (int i = 0; i < 15; ++i) sketch.Add(PageId{1'000'000});
  REQUIRE(sketch.Estimate(PageId{1'000'000}) == 15);
  for (uint64_t i = 0; i < 640; ++i) sketch.Add(PageId{i});
  CHECK(sketch.Estimate(PageId{1'000'000}) <= 8);
}

TEST_CASE("A frequency sketch keeps its counts when it grows and forgets them when it shrinks") {
  FrequencySketch sketch;
  sketch.Resize(100);
  for (int i = 0; i < 5; ++i) sketch.Add(PageId{7});
  sketch.Resize(1000);
  CHECK(sketch.Estimate(PageId{7}) == 5);
  sketch.Resize(100);
  CHECK(sketch.Estimate(PageId{7}) == 0);
}

}  // namespace
}  // namespace latchkey::frequency_sketch_test
