// A log-linear latency histogram (as HdrHistogram): 64 buckets to each power of two. So the error
// of a percentile is at most 1/64 of its value. A histogram takes constant memory, and an entry a
// few instructions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "storage/base/log_linear_buckets.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// Not thread-safe: one per actor, merged afterwards.
class LatencyHistogram {
 public:
  /// Latencies above this (about 18 minutes) share the last bucket; max() stays exact.
  static constexpr Nanos kLimit = LogLinearBuckets<6, 40>::kLimit;

  void Record(Nanos latency) {
    ++counts_[Buckets::Of(latency)];
    ++count_;
    sum_ += latency;
    if (latency > max_) max_ = latency;
  }
  void Merge(const LatencyHistogram& other);
  void Clear() { *this = LatencyHistogram(); }

  uint64_t count() const { return count_; }
  Nanos max() const { return max_; }
  double mean() const { return count_ == 0 ? 0 : static_cast<double>(sum_) / count_; }
  /// The latency that the share `quantile` (0 to 1) of the records does not exceed: the middle of
  /// its bucket, and never above max(). 0: nothing was recorded.
  Nanos Quantile(double quantile) const;

 private:
  using Buckets = LogLinearBuckets<6, 40>;

  std::array<uint64_t, Buckets::kCount> counts_{};
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  Nanos max_ = 0;
};

}  // namespace latchkey
