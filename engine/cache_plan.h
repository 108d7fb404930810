// The memory plan of an opened database, with room for the memory that its layout takes later.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>

#include "engine/latchkey.h"
#include "engine/memory_plan.h"
#include "storage/page_store.h"

namespace latchkey {

/// Divides `cache_bytes` for `store`, whose log has buffers of `log_buffer_bytes`. Leaves up to
/// half of the cache for the page copies that the layout takes once it writes. If that left too few
/// frames, the plan counts only what the layout holds now, and the database exceeds the plan once
/// it writes. Errors as PlanMemory.
absl::StatusOr<MemoryPlan> PlanCache(const PageStore& store, const Options& options,
                                     uint64_t cache_bytes, uint64_t log_buffer_bytes);

}  // namespace latchkey
