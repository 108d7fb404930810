// A log-linear latency histogram (as HdrHistogram): 64 buckets to each power of two. So the error
// of a percentile is at most 1/64 of its value. A histogram takes constant memory, and an entry a
// few instructions.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "storage/runtime/runtime.h"

namespace latchkey {

/// Not thread-safe: one per actor, merged afterwards.
class LatencyHistogram {
 public:
  /// Latencies above this (about 18 minutes) share the last bucket; max() stays exact.
  static constexpr Nanos kLimit = Nanos{1} << 40;

  void Record(Nanos latency) {
    ++counts_[BucketOf(latency)];
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
  static constexpr uint32_t kSubBits = 6;
  static constexpr uint32_t kSubBuckets = 1u << kSubBits;
  static constexpr size_t kBuckets = (40 - kSubBits + 1) * kSubBuckets;

  // Each value below 2 * kSubBuckets has its own bucket; above, the top kSubBits + 1 bits choose
  // it.
  static size_t BucketOf(Nanos value) {
    if (value >= kLimit) return kBuckets - 1;
    if (value < kSubBuckets) return value;
    const uint32_t shift = static_cast<uint32_t>(std::bit_width(value)) - kSubBits - 1;
    return (size_t{shift} << kSubBits) + (value >> shift);
  }
  static Nanos MiddleOf(size_t bucket);

  std::array<uint64_t, kBuckets> counts_{};
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  Nanos max_ = 0;
};

}  // namespace latchkey
