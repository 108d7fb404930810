#include "bufferpool/replacement/trace_replay.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <span>
#include <vector>

#include "storage/base/rng.h"

namespace latchkey::trace_replay_test {
namespace {

// The fewest misses of any choice of victims, by trying all choices.
uint64_t FewestMisses(std::set<uint32_t> cached, size_t frames, std::span<const uint32_t> rest) {
  while (!rest.empty() && cached.count(rest[0]) == 1) rest = rest.subspan(1);
  if (rest.empty()) return 0;
  const uint32_t page = rest[0];
  uint64_t fewest = UINT64_MAX;
  if (cached.size() < frames) {
    cached.insert(page);
    return 1 + FewestMisses(cached, frames, rest.subspan(1));
  }
  for (const uint32_t victim : cached) {
    std::set<uint32_t> next = cached;
    next.erase(victim);
    next.insert(page);
    fewest = std::min(fewest, 1 + FewestMisses(next, frames, rest.subspan(1)));
  }
  return fewest;
}

TEST_CASE("OPT misses as rarely as any choice of victims allows") {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Rng rng(seed);
    std::vector<uint32_t> trace(14);
    for (uint32_t& page : trace) page = static_cast<uint32_t>(rng.Below(6));
    const auto frames = static_cast<uint32_t>(1 + rng.Below(3));
    CAPTURE(seed, frames);
    CHECK(CountMisses(ReplacementAlgorithms().Named("opt"), frames, trace) ==
          FewestMisses({}, frames, trace));
  }
}

TEST_CASE("A trace that fits the cache misses once per page") {
  const std::vector<uint32_t> trace = {0, 1, 2, 1, 0, 2, 2, 3, 0};
  for (const ReplacementInfo& info : ReplacementAlgorithms()) {
    CHECK(CountMisses(ReplacementAlgorithms().Named(info.description.name), 4, trace) == 4);
  }
}

}  // namespace
}  // namespace latchkey::trace_replay_test
