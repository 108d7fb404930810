// Mattson's algorithm against a stack that is searched, and against LRU itself.
#include "tools/trace/stack_depth.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "bufferpool/replacement/trace_replay.h"
#include "storage/base/rng.h"

namespace latchkey::stack_depth_test {
namespace {

/// Skewed references to `pages` pages.
std::vector<uint32_t> SomeReferences(uint64_t seed, size_t count, uint32_t pages) {
  Rng rng(seed);
  std::vector<uint32_t> references;
  for (size_t i = 0; i < count; ++i) {
    references.push_back(static_cast<uint32_t>(rng.Below(1 + rng.Below(pages))));
  }
  return references;
}

/// As the thesis defines it: the number of pages with a smaller recency.
std::vector<uint64_t> NaiveCounts(const std::vector<uint32_t>& references) {
  std::vector<uint32_t> stack;  // the newest page first
  std::vector<uint64_t> counts;
  for (const uint32_t page : references) {
    const auto found = std::find(stack.begin(), stack.end(), page);
    if (found != stack.end()) {
      const auto depth = static_cast<size_t>(found - stack.begin());
      if (depth >= counts.size()) counts.resize(depth + 1);
      ++counts[depth];
      stack.erase(found);
    }
    stack.insert(stack.begin(), page);
  }
  return counts;
}

TEST_CASE("Stack depths are those of a stack that is searched") {
  for (const uint32_t pages : {1u, 3u, 40u, 700u}) {
    const std::vector<uint32_t> references = SomeReferences(pages, 6000, pages);
    StackDepths depths;
    for (const uint32_t page : references) depths.Reference(page);
    CAPTURE(pages);
    CHECK(depths.counts() == NaiveCounts(references));
    CHECK(depths.references() == references.size());
  }
}

TEST_CASE("LRU hits the references of a depth below its number of pages") {
  const std::vector<uint32_t> references = SomeReferences(5, 20'000, 900);
  StackDepths depths;
  for (const uint32_t page : references) depths.Reference(page);
  for (const uint32_t frames : {1u, 2u, 17u, 100u, 400u, 900u}) {
    const uint64_t misses =
        CountMisses(ReplacementAlgorithms().Named("lru"), frames, references, 42);
    const auto hits = static_cast<double>(references.size() - misses);
    CHECK(depths.HitRatio(frames) == Approx(hits / static_cast<double>(references.size())));
  }
  CHECK(depths.HitRatio(0) == 0);
  CHECK(StackDepths().HitRatio(5) == 0);
}

}  // namespace
}  // namespace latchkey::stack_depth_test
