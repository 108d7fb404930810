#include "layout/separate/wolf_separator.h"

#include <algorithm>

namespace latchkey {

Placement WolfSeparator::OnWrite(PageId id) {
  const uint32_t rate = frequency_.Rate(id);
  frequency_.OnWrite(id);
  const uint32_t median = median_.load(std::memory_order_relaxed);
  const uint32_t step = std::max(1u, median / 64);
  if (rate > median) {
    median_.store(median + step, std::memory_order_relaxed);
    return Placement::kHot;
  }
  if (rate < median) median_.store(median - std::min(median, step), std::memory_order_relaxed);
  return Placement::kHotSecond;
}

void WolfSeparator::Tune(const TuningInputs& inputs, absl::FunctionRef<bool(PageId)> is_live) {
  frequency_.EndEpoch(inputs.page_id_limit, is_live);
}

}  // namespace latchkey
