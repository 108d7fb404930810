// A log-linear latency histogram (as HdrHistogram): 64 buckets to each power of two. So the error
// of a percentile is at most 1/64 of its value. A histogram takes constant memory, and an entry a
// few instructions.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "storage/base/log_linear_buckets.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// One actor records. Others may read it and merge it meanwhile.
class LatencyHistogram {
 public:
  /// Latencies above this (about 18 minutes) share the last bucket; max() stays exact.
  static constexpr Nanos kLimit = LogLinearBuckets<6, 40>::kLimit;

  void Record(Nanos latency) {
    counts_[Buckets::Of(latency)].Add(1);
    count_.Add(1);
    sum_.Add(latency);
    if (latency > max_) max_ = latency;
  }
  void Merge(const LatencyHistogram& other);
  /// What was recorded since `earlier`, an older state of this histogram. Its max is that of its last
  /// bucket. A histogram that was cleared meanwhile has only what came afterwards.
  LatencyHistogram Since(const LatencyHistogram& earlier) const;
  void Clear() { *this = LatencyHistogram(); }

  uint64_t count() const { return count_; }
  Nanos max() const { return max_; }
  double mean() const { return count_ == 0 ? 0 : static_cast<double>(sum_) / count_; }
  /// The latency that the share `quantile` (0 to 1) of the records does not exceed: the middle of
  /// its bucket, and never above max(). 0: nothing was recorded.
  Nanos Quantile(double quantile) const;

 private:
  using Buckets = LogLinearBuckets<6, 40>;

  // A number that one actor writes and others read. It can be copied.
  class Number {
   public:
    Number() = default;
    Number(uint64_t value) : value_(value) {}  // NOLINT: it is a number
    Number(const Number& other) : value_(uint64_t{other}) {}
    Number& operator=(const Number& other) {
      value_.store(other, std::memory_order_relaxed);
      return *this;
    }
    operator uint64_t() const { return value_.load(std::memory_order_relaxed); }  // NOLINT
    void Add(uint64_t more) { *this = *this + more; }

   private:
    std::atomic<uint64_t> value_{0};
  };

  std::array<Number, Buckets::kCount> counts_;
  Number count_, sum_, max_;
};

}  // namespace latchkey
