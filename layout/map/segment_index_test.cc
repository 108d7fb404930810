#include "layout/map/segment_index.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <tuple>

#include "storage/base/rng.h"

namespace latchkey::segment_index_test {
namespace {

constexpr uint32_t kGroups = 2, kSlots = 70;

struct Filed {
  uint32_t group, live;
  uint64_t birth;
};

// What the index should say, from a look at every segment.
std::map<uint32_t, std::pair<uint64_t, uint32_t>> OldestByLive(
    const std::map<uint32_t, Filed>& filed, uint32_t group) {
  std::map<uint32_t, std::pair<uint64_t, uint32_t>> oldest;
  for (const auto& [segment, at] : filed) {
    if (at.group != group || at.live >= kSlots) continue;
    const std::pair mine(at.birth, segment);
    const auto [it, is_first] = oldest.try_emplace(at.live, mine);
    if (!is_first) it->second = std::min(it->second, mine);
  }
  return oldest;
}

TEST_CASE("The segment index finds what a look at every segment finds") {
  SegmentIndex index(kGroups, kSlots);
  REQUIRE(index.EnsureSize(300));
  std::map<uint32_t, Filed> filed;
  Rng rng(11);
  for (int step = 0; step < 20000; ++step) {
    const auto segment = static_cast<uint32_t>(rng.Below(300));
    if (rng.Below(4) == 0) {
      index.Remove(SegmentId{segment});
      filed.erase(segment);
    } else {
      const Filed at{static_cast<uint32_t>(rng.Below(kGroups)),
                     1 + static_cast<uint32_t>(rng.Below(kSlots)), rng.Below(50)};
      index.File(SegmentId{segment}, at.group, at.live, at.birth);
      filed[segment] = at;
    }
    if (step % 97 != 0) continue;
    for (uint32_t group = 0; group < kGroups; ++group) {
      auto expected = OldestByLive(filed, group);
      const std::optional<SegmentId> fullest = index.Fullest(group);
      REQUIRE(fullest.has_value() == !expected.empty());
      if (fullest) REQUIRE(filed[Raw(*fullest)].live == expected.rbegin()->first);
      index.ForEachOldest(group, [&](uint32_t live, uint64_t birth, SegmentId oldest) {
        REQUIRE(expected.at(live) == std::pair(birth, Raw(oldest)));
        expected.erase(live);
      });
      REQUIRE(expected.empty());
    }
  }
}

// Nodes visited to file one segment again and to choose one victim, on average.
double StepsPerChange(uint32_t segments) {
  SegmentIndex index(1, 256);
  REQUIRE(index.EnsureSize(segments));
  Rng rng(5);
  for (uint32_t s = 0; s < segments; ++s) {
    index.File(SegmentId{s}, 0, 1 + static_cast<uint32_t>(rng.Below(256)), s);
  }
  const uint64_t before = index.steps();
  constexpr int kChanges = 2000;
  for (int i = 0; i < kChanges; ++i) {
    index.File(SegmentId{static_cast<uint32_t>(rng.Below(segments))}, 0,
               1 + static_cast<uint32_t>(rng.Below(256)), segments + static_cast<uint32_t>(i));
    index.ForEachOldest(0, [](uint32_t, uint64_t, SegmentId) {});
  }
  return static_cast<double>(index.steps() - before) / kChanges;
}

TEST_CASE("Choosing a victim costs as much in a file of 1 TiB as in one of 1 GiB") {
  const double small = StepsPerChange(1u << 10);  // segments of 1 MiB
  const double large = StepsPerChange(1u << 20);
  CAPTURE(small, large);
  CHECK(large < 16 * small);  // 1,024 times as many segments: logarithmic
}

}  // namespace
}  // namespace latchkey::segment_index_test
