// Runs a trace of page requests through a replacement algorithm, without a pool: cold start, one
// page per request, a victim only when every frame is in use.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "bufferpool/replacement/replacement_list.h"

namespace latchkey {

struct TraceReplaySettings {
  uint32_t frames = 0;     ///< at least 1
  uint32_t regions = 1;    ///< as `regions:N` divides the frames of a pool
  uint64_t seed = 42;      ///< of algorithms that draw lots
  uint64_t hash_seed = 0;  ///< of the regions' hash; 0: that of the pool
  const std::atomic<bool>* stop = nullptr;  ///< ends the replay early; may be nullptr
};

struct TraceReplayResult {
  uint64_t misses = 0;
  uint64_t dirty_writes = 0;  ///< evictions of pages that were written since they were loaded
  bool stopped = false;       ///< the figures are those of a part of the requests
};

/// Replays `requests`. The ids should be dense, because a table has an entry for each id up to the
/// largest. An algorithm that needs the future gets it. REQUIRES: ids below UINT32_MAX; one region
/// for such an algorithm. `writes`: for each request whether it writes its page; empty: none does.
TraceReplayResult ReplayTrace(const ReplacementChoice& replacement,
                              const TraceReplaySettings& settings,
                              std::span<const uint32_t> requests,
                              const std::vector<bool>& writes = {});

/// The misses of one region. REQUIRES: frames >= 1.
inline uint64_t CountMisses(const ReplacementChoice& replacement, uint32_t frames,
                            std::span<const uint32_t> requests, uint64_t seed = 42) {
  return ReplayTrace(replacement, {.frames = frames, .seed = seed}, requests).misses;
}

}  // namespace latchkey
