// How one memory number, Options::cache_bytes, is divided: what the maps and the fixed parts need
// comes first, frames get the rest.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>

#include "engine/latchkey.h"

namespace latchkey {

struct MemoryPlan {
  uint32_t frames = 0;
  uint32_t max_frames = 0;      ///< what a later SetCacheBytes may grow to
  uint64_t reserved_bytes = 0;  ///< of cache_bytes, not for frames
  uint64_t version_bytes = 0;   ///< of these, the bound of the version store
};

/// What of `cache_bytes` the write-ahead log gets for records that are not written yet, when its
/// device has blocks of `logical_block` bytes: half of it holds the images of the three pages of a
/// split.
uint64_t LogBufferBytes(uint64_t cache_bytes, uint32_t logical_block, uint32_t page_size);

/// Divides `cache_bytes` for a database of `pages` page ids whose layout and log hold
/// `store_bytes`.
/// `version_bytes`: of the version store; 0 = a share.
/// InvalidArgument, with the minimum, when what is left is below the fewest frames that work.
absl::StatusOr<MemoryPlan> PlanMemory(uint64_t cache_bytes, uint32_t page_size, uint64_t pages,
                                      uint64_t store_bytes, uint64_t version_bytes = 0);

}  // namespace latchkey
