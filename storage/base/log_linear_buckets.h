// The buckets of a log-linear histogram (as HdrHistogram): each power of two has the same number of them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace latchkey {

/// 2^kSubBits buckets to each power of two below 2^kBits: a value lies at most 1/2^kSubBits of itself above
/// the lowest of its bucket. Values below 2^(kSubBits+1) have buckets of their own. Larger ones than kLimit
/// share the last bucket.
template <uint32_t kSubBits, uint32_t kBits>
struct LogLinearBuckets {
  static constexpr uint64_t kLimit = uint64_t{1} << kBits;
  static constexpr size_t kCount = size_t{kBits - kSubBits + 1} << kSubBits;

  /// The top kSubBits + 1 bits of a value choose its bucket.
  static size_t Of(uint64_t value) {
    if (value >= kLimit) return kCount - 1;
    if (value < uint64_t{1} << kSubBits) return value;
    const uint32_t shift = static_cast<uint32_t>(std::bit_width(value)) - kSubBits - 1;
    return (size_t{shift} << kSubBits) + (value >> shift);
  }
  /// The smallest value of `bucket`; of bucket kCount, which holds none: kLimit.
  static uint64_t Lowest(size_t bucket) {
    const uint32_t shift = ShiftOf(bucket);
    return (bucket - (size_t{shift} << kSubBits)) << shift;
  }
  static uint64_t Middle(size_t bucket) {
    return Lowest(bucket) + (uint64_t{1} << ShiftOf(bucket)) / 2;
  }

 private:
  static uint32_t ShiftOf(size_t bucket) {
    constexpr size_t kExact = size_t{2} << kSubBits;  // buckets of one value
    return bucket < kExact ? 0 : static_cast<uint32_t>(bucket >> kSubBits) - 1;
  }
};

}  // namespace latchkey
