// Runs a trace of page requests through a replacement algorithm, without a pool: cold start, one
// page per request, a victim only when every frame is in use.
#pragma once

#include <cstdint>
#include <span>

#include "bufferpool/replacement/replacement_list.h"

namespace latchkey {

/// The number of `requests` that miss in a cache of `frames` frames. The ids in `requests` should
/// be dense, because a table has an entry for each id up to the largest. REQUIRES: frames >= 1.
uint64_t CountMisses(const ReplacementChoice& replacement, uint32_t frames,
                     std::span<const uint32_t> requests, uint64_t seed = 42);

}  // namespace latchkey
