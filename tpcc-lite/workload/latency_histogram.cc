#include "tpcc-lite/workload/latency_histogram.h"

#include <algorithm>
#include <cmath>

namespace latchkey {

void LatencyHistogram::Merge(const LatencyHistogram& other) {
  for (size_t i = 0; i < counts_.size(); ++i) counts_[i].Add(other.counts_[i]);
  count_.Add(other.count_);
  sum_.Add(other.sum_);
  max_ = std::max<uint64_t>(max_, other.max_);
}

LatencyHistogram LatencyHistogram::Since(const LatencyHistogram& earlier) const {
  const auto more = [](uint64_t now, uint64_t before) { return now > before ? now - before : 0; };
  LatencyHistogram since;
  for (size_t i = 0; i < counts_.size(); ++i) {
    since.counts_[i] = more(counts_[i], earlier.counts_[i]);
    if (since.counts_[i] == 0) continue;
    since.count_.Add(since.counts_[i]);
    since.max_ = i + 1 == counts_.size() ? uint64_t{max_}
                                         : std::min<uint64_t>(Buckets::Lowest(i + 1) - 1, max_);
  }
  since.sum_ = more(sum_, earlier.sum_);
  return since;
}

Nanos LatencyHistogram::Quantile(double quantile) const {
  if (count_ == 0) return 0;
  const double clamped = std::clamp(quantile, 0.0, 1.0);
  const auto rank = std::max<uint64_t>(
      1, static_cast<uint64_t>(std::ceil(clamped * static_cast<double>(count_))));
  uint64_t seen = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen < rank) continue;
    return i + 1 == counts_.size() ? max() : std::min(Buckets::Middle(i), max());
  }
  return max_;
}

}  // namespace latchkey
