#include "tpcc-lite/workload/latency_histogram.h"

#include <algorithm>
#include <cmath>

namespace latchkey {

void LatencyHistogram::Merge(const LatencyHistogram& other) {
  for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
}

Nanos LatencyHistogram::Quantile(double quantile) const {
  if (count_ == 0) return 0;
  const double clamped = std::clamp(quantile, 0.0, 1.0);
  const auto rank = std::max<uint64_t>(
      1, static_cast<uint64_t>(std::ceil(clamped * static_cast<double>(count_))));
  uint64_t seen = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= rank) return i == counts_.size() - 1 ? max_ : std::min(Buckets::Middle(i), max_);
  }
  return max_;
}

}  // namespace latchkey
