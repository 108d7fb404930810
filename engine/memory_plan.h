// The division of one memory number, Options::cache_bytes: first what the maps and the fixed parts
// need, then frames from the rest.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>

#include "engine/latchkey.h"
#include "engine/technique_choices.h"
#include "layout/write/store_buffers.h"

namespace latchkey {

/// From this cache size on the buffers have their full sizes, and what the database takes in
/// addition to them (maps that grow with it) is a small part. Below it the plan counts every byte.
inline constexpr uint64_t kOrdinaryCacheBytes = StoreBuffers::kOrdinaryCache;

/// Every user may latch a path and its siblings at once. With fewer frames fixes begin to fail.
inline constexpr uint32_t kFewestFrames = 64;

/// A smaller cache is refused before the store is opened, unless its frames are small enough.
inline constexpr uint64_t kLeastCacheBytes = 1 << 20;

struct MemoryPlan {
  uint32_t frames = 0;
  uint32_t max_frames = 0;      ///< the most frames that a later SetCacheBytes may ask for
  uint64_t reserved_bytes = 0;  ///< part of cache_bytes that is not for frames
  uint64_t version_bytes = 0;   ///< part of reserved_bytes: the bound of the version store
};

/// Part of `cache_bytes` for log records that are not written yet. `logical_block`: block size of
/// the log's device, bytes. Half of the result holds the images of the three pages of a split.
uint64_t LogBufferBytes(uint64_t cache_bytes, uint32_t logical_block, uint32_t page_size);

/// Bytes of memory that a frame takes, with the page in it and its part of the private frames, in a
/// pool with these techniques.
uint64_t BytesPerFrame(uint32_t page_size, const TechniqueChoices& choices);

/// Divides `cache_bytes` for a database of `pages` page ids whose layout and log take
/// `store_bytes`. `bytes_per_frame`: see BytesPerFrame.
/// `version_bytes`: bound of the version store; 0 = a share.
/// InvalidArgument, with a size that is enough, if too few bytes for the smallest number of frames
/// are left. `store_bytes` may grow by an eighth of what the cache grows and 256 KiB. Before the store
/// is open (`store_bytes` 0) the size may be too small in its turn.
absl::StatusOr<MemoryPlan> PlanMemory(uint64_t cache_bytes, uint32_t page_size,
                                      uint64_t bytes_per_frame, uint64_t pages,
                                      uint64_t store_bytes, uint64_t version_bytes = 0);

}  // namespace latchkey
