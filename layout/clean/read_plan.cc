#include "layout/clean/read_plan.h"

namespace latchkey {

SlotReadCosts ReadCostsOf(const PageCosts& costs) {
  const double first = costs.page_read_ns > 0 ? costs.page_read_ns : costs.segment_read_ns;
  const double next = costs.slot_read_ns > 0 ? costs.slot_read_ns : costs.segment_write_ns;
  return {.first_ns = first, .next_ns = next};
}

// Whether two neighbours share a run does not depend on any other slot, so the choice gap by gap is
// the best one.
void PlanReads(std::span<const uint32_t> slots, uint32_t per_segment, const SlotReadCosts& costs,
               std::vector<ReadRun>& runs) {
  runs.clear();
  for (const uint32_t slot : slots) {
    if (!runs.empty()) {
      ReadRun& last = runs.back();
      const uint32_t further = slot - (last.first + last.count) + 1;
      const bool same_segment = slot / per_segment == last.first / per_segment;
      if (same_segment && further * costs.next_ns <= costs.first_ns) {
        last.count += further;
        continue;
      }
    }
    runs.push_back({slot, 1});
  }
}

}  // namespace latchkey
