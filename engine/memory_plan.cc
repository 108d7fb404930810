#include "engine/memory_plan.h"

#include <absl/functional/function_ref.h>
#include <unistd.h>

#include <algorithm>

#include "bufferpool/buffer_pool.h"
#include "bufferpool/page_table.h"
#include "storage/base/status_macros.h"
#include "storage/wal/log.h"

namespace latchkey {
namespace {

// The share of versions and locks of running transactions. A transaction of a few thousand writes
// needs at least kUsualVersionBytes. A cache below 4 MiB sets less aside, and the store may exceed
// that while such a transaction runs.
constexpr uint64_t kVersionShare = 32, kVersionShareOfSmall = 8;
constexpr uint64_t kUsualVersionBytes = 512 << 10, kMaxVersionBytes = 1 << 30;

uint64_t VersionShare(uint64_t cache_bytes) {
  const uint64_t of_small = std::min(cache_bytes / kVersionShareOfSmall, kUsualVersionBytes);
  return std::clamp(cache_bytes / kVersionShare, of_small, kMaxVersionBytes);
}

// The page table, with room for more pages. PlanCache leaves that room to a small cache in another
// way, because a chunk of the table is much of it.
uint64_t TableBytes(uint64_t cache_bytes, uint64_t pages) {
  return cache_bytes < kOrdinaryCacheBytes ? PageTable::MemoryFor(pages)
                                           : PageTable::RoomFor(std::max<uint64_t>(pages, 1));
}

uint64_t PhysicalMemory() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
}

/// The least cache that is `need(itself)` or more. `need` grows by less than its argument.
uint64_t LeastCache(absl::FunctionRef<uint64_t(uint64_t cache_bytes)> need) {
  uint64_t cache_bytes = 0;
  while (need(cache_bytes) > cache_bytes) cache_bytes = need(cache_bytes);
  return cache_bytes;
}

}  // namespace

uint64_t LogBufferBytes(uint64_t cache_bytes, uint32_t logical_block, uint32_t page_size) {
  constexpr uint64_t kPagesPerHalf = 4;  // three of a split, and what goes with them
  constexpr uint64_t kStep = 64 << 10, kMost = 8 << 20;
  const uint64_t share = cache_bytes / 32 / kStep * kStep;
  const uint64_t least =
      std::max<uint64_t>(Log::LeastBufferBytes(logical_block), 2 * kPagesPerHalf * page_size);
  return std::clamp(share, least, kMost);
}

uint64_t BytesPerFrame(uint32_t page_size, const TechniqueChoices& choices) {
  return page_size + BufferPool::kFrameOverhead +
         PolicyBytesPerFrame(choices.replacement, choices.synchronization) +
         PrivateBytesPerFrame(choices.replacement, choices.synchronization, page_size);
}

absl::StatusOr<MemoryPlan> PlanMemory(uint64_t cache_bytes, uint32_t page_size,
                                      uint64_t bytes_per_frame, uint64_t pages,
                                      uint64_t store_bytes, uint64_t version_bytes) {
  const auto versions_of = [&](uint64_t cache) {
    return version_bytes != 0 ? version_bytes : VersionShare(cache);
  };
  const auto reserved_of = [&](uint64_t cache) {
    return store_bytes + TableBytes(cache, pages) + versions_of(cache);
  };
  const uint64_t versions = versions_of(cache_bytes);
  MemoryPlan plan;
  plan.version_bytes = version_bytes != 0
                           ? version_bytes
                           : std::max(versions, std::min(cache_bytes / 4, kUsualVersionBytes));
  plan.reserved_bytes = reserved_of(cache_bytes);
  const uint64_t for_frames = kFewestFrames * bytes_per_frame;
  if (cache_bytes < plan.reserved_bytes + for_frames) {
    // Some parts grow with the cache: versions, and the layout and the log by a smaller share, in
    // steps.
    constexpr uint64_t kStoreShare = 8, kStoreStep = 256 << 10;
    const uint64_t enough = LeastCache([&](uint64_t cache) {
      const uint64_t more =
          cache > cache_bytes ? (cache - cache_bytes) / kStoreShare + kStoreStep : 0;
      return reserved_of(cache) + more + for_frames;
    });
    return InvalidArgument(
        "a cache of {} bytes is too small: maps, buffers and versions of this database need {}, "
        "and "
        "{} frames of {} bytes are the fewest that work: give {} bytes",
        cache_bytes, plan.reserved_bytes, kFewestFrames, bytes_per_frame, enough);
  }
  constexpr uint64_t kMostFrames = PageState::kMaxFrames;
  plan.frames = static_cast<uint32_t>(
      std::min((cache_bytes - plan.reserved_bytes) / bytes_per_frame, kMostFrames));
  // This is address space only: frames beyond the current number take no memory.
  plan.max_frames = static_cast<uint32_t>(
      std::clamp<uint64_t>(PhysicalMemory() / page_size, plan.frames, kMostFrames));
  return plan;
}

}  // namespace latchkey
