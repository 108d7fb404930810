// The memory plan of an opened database, with room for the memory that its layout takes later.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>

#include "engine/latchkey.h"
#include "engine/memory_plan.h"
#include "engine/open_store.h"
#include "storage/page_store.h"

namespace latchkey {

/// Divides `cache_bytes` for `store`, whose log has buffers of `log_buffer_bytes`, and whose buffers
/// will take up to `buffer_bytes`, the most of SegmentStore::MostBufferBytes. If that leaves too few
/// frames, the plan counts only what the layout holds now; the database then exceeds it once it
/// writes, and `over_bytes` says by how much at most. Errors as PlanMemory.
struct CachePlan : MemoryPlan {
  uint64_t over_bytes = 0;  ///< 0 = the plan holds
};
absl::StatusOr<CachePlan> PlanCache(const PageStore& store, const ResolvedOptions& options,
                                    uint64_t cache_bytes, uint64_t log_buffer_bytes,
                                    uint64_t buffer_bytes);

/// Frames that the page writers of a database with these options usually have.
uint64_t ExpectedWriterPages(const ResolvedOptions& options);

}  // namespace latchkey
