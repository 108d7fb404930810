// Runs a trace of page requests through a replacement algorithm, without a pool: cold start, one
// page a request, a victim only when every frame is taken.
#pragma once

#include <cstdint>
#include <span>

#include "bufferpool/replacement/replacement_list.h"

namespace latchkey {

/// How many of `requests` miss in a cache of `frames` frames. The ids in `requests` must be dense:
/// the table of resident pages has an entry for each up to the largest. REQUIRES: frames >= 1.
uint64_t CountMisses(const ReplacementChoice& replacement, uint32_t frames,
                     std::span<const uint32_t> requests, uint64_t seed = 42);

}  // namespace latchkey
