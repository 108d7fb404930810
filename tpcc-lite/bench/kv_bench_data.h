// Keys and values of the KV benchmark.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/base/rng.h"
#include "tpcc-lite/bench/kv_bench.h"

namespace latchkey {

/// Builds the key of a record: its number in eight big-endian bytes, so that key order is record
/// order, then filling bytes up to the key size.
class KvBenchKey {
 public:
  explicit KvBenchKey(uint32_t key_size) : bytes_(key_size, 'k') {}

  /// Valid until the next call.
  std::string_view Of(uint64_t record) {
    for (int i = 7; i >= 0; --i) {
      bytes_[static_cast<size_t>(i)] = static_cast<char>(record & 0xFF);
      record >>= 8;
    }
    return bytes_;
  }

 private:
  std::string bytes_;
};

/// Returns values that do not compress: slices of random bytes.
class KvBenchValues {
 public:
  KvBenchValues(uint32_t value_size, uint64_t seed);

  std::string_view Next(Rng& rng) const {
    return std::string_view(pool_).substr(rng.Below(kSlack), value_size_);
  }

 private:
  static constexpr uint64_t kSlack = 64 << 10;
  uint32_t value_size_;
  std::string pool_;
};

}  // namespace latchkey
