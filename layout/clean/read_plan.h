// How the live pages of a victim are read: one by one, in runs across the gaps between them, or the
// whole victim at once, as measured costs say.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "layout/separate/write_cost_model.h"

namespace latchkey {

/// Device time of one request for `n` slots in a row: first_ns + (n - 1) * next_ns.
struct SlotReadCosts {
  double first_ns = 0;  ///< one page read by itself
  double next_ns = 0;   ///< each further slot of the request
};
/// The measured ones. Where no long read has been measured, a slot costs what a page of a segment
/// write does.
SlotReadCosts ReadCostsOf(const PageCosts& costs);

/// Slots of one segment that one request reads.
struct ReadRun {
  uint32_t first = 0;  ///< number of the block, counted through all segments
  uint32_t count = 0;
};

/// Sets `runs` to those that cover all `slots` at the least cost: two neighbours of a segment share a
/// run if reading the gap costs no more than another request. `slots`: indexes in ascending order;
/// each segment has `per_segment` of them. Takes no memory if `runs` has room for `slots.size()`.
void PlanReads(std::span<const uint32_t> slots, uint32_t per_segment, const SlotReadCosts& costs,
               std::vector<ReadRun>& runs);

}  // namespace latchkey
