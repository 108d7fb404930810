#include "engine/cache_plan.h"

#include <algorithm>

#include "bufferpool/cleaning_controller.h"
#include "engine/txn/snapshot_manager.h"

namespace latchkey {
namespace {

// Bytes of page copies that a layout holds at most once it writes: those of page cleaners, of a few
// other writers, of the segment cleaner and of open segments, and the doublewrite batches.
uint64_t CopiesOf(const PageStore& store, const Options& options) {
  constexpr uint64_t kOtherWriters = 3 * 64, kSegments = 10, kUsualSegment = 256 << 10;
  constexpr uint64_t kDoublewrite = 2 * 126;
  const uint64_t page_size = store.page_size();
  const uint64_t segment = options.techniques.segment_size != 0 ? options.techniques.segment_size
                                                                : kUsualSegment * page_size / 4096;
  const bool twice = options.durability != Durability::kNone &&
                     options.torn_write_protection == TornWriteProtection::kDoublewrite;
  const uint64_t pages = options.techniques.cleaners * uint64_t{kMaxOutstandingWrites} +
                         kOtherWriters + (twice ? kDoublewrite : 0);
  return pages * page_size + kSegments * segment;
}

}  // namespace

absl::StatusOr<MemoryPlan> PlanCache(const PageStore& store, const Options& options,
                                     uint64_t cache_bytes, uint64_t log_buffer_bytes) {
  constexpr uint32_t kEnoughFrames = 256;  // for tens of users at once
  constexpr uint64_t kSlots = SnapshotManager::kMaxTransactions * sizeof(TxnSlot);
  const auto plan = [&](uint64_t store_bytes) {
    return PlanMemory(cache_bytes, store.page_size(), store.page_id_limit(),
                      store_bytes + log_buffer_bytes, options.version_store_bytes);
  };
  const uint64_t now = store.memory_bytes();
  const uint64_t later = std::min(CopiesOf(store, options), cache_bytes / 2);
  const absl::StatusOr<MemoryPlan> roomy = plan(std::max(now, later) + kSlots);
  return roomy.ok() && roomy->frames >= kEnoughFrames ? roomy : plan(now);
}

}  // namespace latchkey
