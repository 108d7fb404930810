#include "tpcc-lite/workload/latency_histogram.h"

#include <algorithm>
#include <cmath>

namespace latchkey {

void LatencyHistogram::Merge(const LatencyHistogram& other) {
  for (size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
}

Nanos LatencyHistogram::MiddleOf(size_t bucket) {
  if (bucket < 2 * kSubBuckets) return bucket;
  const uint32_t shift = static_cast<uint32_t>(bucket >> kSubBits) - 1;
  const Nanos low = static_cast<Nanos>(bucket - (size_t{shift} << kSubBits)) << shift;
  return low + (Nanos{1} << shift) / 2;
}

Nanos LatencyHistogram::Quantile(double quantile) const {
  if (count_ == 0) return 0;
  const double clamped = std::clamp(quantile, 0.0, 1.0);
  const auto rank = std::max<uint64_t>(
      1, static_cast<uint64_t>(std::ceil(clamped * static_cast<double>(count_))));
  uint64_t seen = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    seen += counts_[i];
    if (seen >= rank) return i == kBuckets - 1 ? max_ : std::min(MiddleOf(i), max_);
  }
  return max_;
}

}  // namespace latchkey
