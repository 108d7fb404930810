// For tests: a cache of one actor that runs page requests through a fix policy.
#pragma once

#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "bufferpool/fix_policy.h"
#include "storage/base/rng.h"

namespace latchkey {

/// The misses of `requests`. An eviction brings up to `most_victims` frames. A missing page is loaded
/// as `kind` says; if it is read ahead, its first use follows at once.
inline uint64_t ReplayThrough(FixPolicy& policy, std::span<const uint64_t> requests,
                              size_t most_victims = 1, LoadKind kind = LoadKind::kDemand) {
  std::map<uint64_t, FrameId> frame_of;
  std::map<uint32_t, uint64_t> page_in;
  uint64_t misses = 0;
  std::array<FrameId, FixPolicy::kMostVictims> victims;
  for (const uint64_t page : requests) {
    if (const auto it = frame_of.find(page); it != frame_of.end()) {
      REQUIRE(policy.OnFix(it->second, PageId{page}, 0) == FixPolicy::Fix::kHit);
      continue;
    }
    ++misses;
    FrameId frame = policy.TakeFreeFrame(PageId{page}, 0);
    if (frame == kNoFrame) {
      const size_t count = policy.Evict(
          PageId{page}, std::span(victims).first(most_victims), [](FrameId) { return true; }, 0);
      REQUIRE(count >= 1);
      for (size_t i = 0; i < count; ++i) frame_of.erase(page_in.at(Raw(victims[i])));
      for (size_t i = 1; i < count; ++i) policy.ReturnFreeFrame(victims[i]);
      frame = victims[0];
    }
    frame_of[page] = frame;
    page_in[Raw(frame)] = page;
    policy.OnLoad(frame, PageId{page}, kind, 0);
    if (kind == LoadKind::kAhead) {
      REQUIRE(policy.OnFix(frame, PageId{page}, 0) == FixPolicy::Fix::kFirstUse);
    }
  }
  return misses;
}

/// Four in five requests go to one page in five.
inline std::vector<uint64_t> SkewedRequests(size_t count, uint64_t pages) {
  Rng rng(3);
  std::vector<uint64_t> requests(count);
  for (uint64_t& page : requests) {
    page = rng.Below(5) < 4 ? 5 * rng.Below(pages / 5) : rng.Below(pages);
  }
  return requests;
}

}  // namespace latchkey
