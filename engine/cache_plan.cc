#include "engine/cache_plan.h"

#include <algorithm>

#include "bufferpool/buffer_pool.h"
#include "bufferpool/cleaning/page_cleaner.h"
#include "engine/txn/snapshot_manager.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

constexpr uint32_t kEnoughFrames = 256;  // for tens of users at once
constexpr uint64_t kSlots = SnapshotManager::kMaxTransactions * sizeof(TxnSlot);

// An ordinary cache: the database may be larger than now, but its maps are a small part.
uint64_t StoreBytesOfOrdinary(const PageStore& store, uint64_t cache_bytes, uint64_t buffer_bytes) {
  // Parts of the cache that are seldom used together, such as the spare segment, have room for it.
  constexpr uint64_t kCoveredMaps = 1 << 20;
  const uint64_t now = store.memory_bytes();
  return std::min(buffer_bytes, cache_bytes / 2) + kSlots + now - std::min(now, kCoveredMaps);
}

// A small cache: the maps as they are, room for them to grow, and all buffers.
uint64_t StoreBytesOfSmall(const PageStore& store, uint64_t cache_bytes, uint64_t buffer_bytes) {
  constexpr uint64_t kGrowthShare = 8, kMostGrowth = 512 << 10, kUsualSlots = 16 << 10;
  return store.memory_bytes() + std::min(cache_bytes / kGrowthShare, kMostGrowth) + kUsualSlots +
         buffer_bytes;
}

}  // namespace

uint64_t ExpectedWriterPages(const ResolvedOptions& options) {
  constexpr uint64_t kOtherWriters = 3 * 64;
  const uint64_t cleaners = options.techniques.cleaners;
  const uint32_t depth =
      PageCleaners::WriterDepth(*options.choices.cleaner.Make(), options.techniques.cleaners);
  return cleaners * depth + kOtherWriters;
}

absl::StatusOr<CachePlan> PlanCache(const PageStore& store, const ResolvedOptions& options,
                                    uint64_t cache_bytes, uint64_t log_buffer_bytes,
                                    uint64_t buffer_bytes) {
  const uint64_t bytes_per_frame = BytesPerFrame(store.page_size(), options.choices);
  const auto plan = [&](uint64_t store_bytes) {
    return PlanMemory(cache_bytes, store.page_size(), bytes_per_frame, store.page_id_limit(),
                      store_bytes + log_buffer_bytes + options.techniques.change_buffer_bytes,
                      options.version_store_bytes);
  };
  const bool is_small = cache_bytes < kOrdinaryCacheBytes;
  const uint64_t needed = is_small ? StoreBytesOfSmall(store, cache_bytes, buffer_bytes)
                                   : StoreBytesOfOrdinary(store, cache_bytes, buffer_bytes);
  const absl::StatusOr<MemoryPlan> roomy = plan(needed);
  if (roomy.ok() && (is_small || roomy->frames >= kEnoughFrames)) {
    // Half of an ordinary cache is reserved for buffers at most. Long segments may need more.
    const uint64_t reserved =
        is_small || buffer_bytes <= cache_bytes ? buffer_bytes : cache_bytes / 2;
    return CachePlan{*roomy, buffer_bytes - reserved};
  }
  const uint64_t now = store.memory_bytes();
  LATCHKEY_ASSIGN_OR_RETURN(const MemoryPlan planned, plan(now));
  CachePlan tight{planned};
  if (is_small) tight.frames = std::min(tight.frames, kEnoughFrames);
  const uint64_t most = tight.reserved_bytes - now + needed + tight.frames * bytes_per_frame;
  tight.over_bytes = most - std::min(most, cache_bytes);
  return tight;
}

}  // namespace latchkey
