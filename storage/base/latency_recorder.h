// LatencyRecorder: a histogram of latencies that many actors fill.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "storage/base/log_linear_buckets.h"

namespace latchkey {

/// What a LatencyRecorder has seen. Sums of readings that are not of one instant: `count` is that of the
/// buckets, the rest may be some recordings ahead or behind.
struct RecordedLatencies {
  /// Up to 137 s. Bucket i holds what is above Lowest(i) and at most Lowest(i + 1), bucket 0 also 0. Its end
  /// is at most 25 % above its beginning, apart from the first ones.
  using Buckets = LogLinearBuckets<2, 37>;

  std::array<uint64_t, Buckets::kCount> buckets{};
  uint64_t count = 0;
  uint64_t sum_ns = 0, longest_ns = 0;
};

/// Takes 1.2 KiB. Thread-safety: all actors may call every member at once; a recording is two or three atomic
/// additions.
class LatencyRecorder {
 public:
  void Record(uint64_t ns) {
    const uint64_t below = ns == 0 ? 0 : ns - 1;  // so that a bucket holds its upper bound
    buckets_[RecordedLatencies::Buckets::Of(below)].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(ns, std::memory_order_relaxed);
    uint64_t longest = longest_.load(std::memory_order_relaxed);
    while (ns > longest && !longest_.compare_exchange_weak(longest, ns, std::memory_order_relaxed)) {
    }
  }

  RecordedLatencies Read() const {
    RecordedLatencies read;
    for (size_t i = 0; i < buckets_.size(); ++i) {
      read.buckets[i] = buckets_[i].load(std::memory_order_relaxed);
      read.count += read.buckets[i];
    }
    read.sum_ns = sum_.load(std::memory_order_relaxed);
    read.longest_ns = longest_.load(std::memory_order_relaxed);
    return read;
  }

 private:
  std::array<std::atomic<uint64_t>, RecordedLatencies::Buckets::kCount> buckets_{};
  std::atomic<uint64_t> sum_{0}, longest_{0};
};

}  // namespace latchkey
