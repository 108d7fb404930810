// The random data of TPC-C: NURand (clause 2.1.6), last names (4.3.2.3), strings (4.3.2.2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "storage/base/rng.h"
#include "tpcc-lite/workload/rows.h"
#include "tpcc-lite/workload/tpcc_config.h"

namespace latchkey {

/// One non-uniform distribution: NURand(A, x, y) = (((random(0, A) | random(x, y)) + C) mod
/// (y - x + 1)) + x.
struct NonUniform {
  uint32_t a = 0;
  uint32_t low = 0, high = 0;  ///< x and y
  uint32_t c = 0;              ///< constant, 0 to A

  uint32_t Draw(Rng& rng) const {
    const auto bits = static_cast<uint32_t>(rng.Below(uint64_t{a} + 1));
    const auto base = static_cast<uint32_t>(low + rng.Below(uint64_t{high} - low + 1));
    return ((bits | base) + c) % (high - low + 1) + low;
  }
};

/// The standard's A for `range` values if `full_a` belongs to `full_range`: the largest 2^k - 1
/// that keeps the proportion. So a scaled database is as skewed as a full one.
uint32_t ScaledA(uint32_t full_a, uint32_t full_range, uint32_t range);

/// The three distributions with their constants: one set for the load (only `last_name` is used),
/// one for a run.
struct TpccDistributions {
  NonUniform item;       ///< NURand(8191, 1, items)
  NonUniform customer;   ///< NURand(1023, 1, customers)
  NonUniform last_name;  ///< NURand(255, 0, last_names - 1)

  static TpccDistributions ForLoad(const TpccScale& sizes, uint64_t seed);
  /// Draws C-run for last names such that |C-run - C-load| is in [65, 119] and neither 96 nor 112
  /// (clause 2.1.6.1). For a scaled database with A < 255 the rule does not apply: any constant.
  static TpccDistributions ForRun(const TpccScale& sizes, uint64_t seed,
                                  uint32_t load_last_name_constant);
};

/// A last name: three of ten syllables, by the digits of `number` (0 to 999). At most 15 bytes.
struct LastName {
  explicit LastName(uint32_t number);
  std::string_view view() const { return {bytes, size}; }
  char bytes[16];
  size_t size = 0;
};

/// Fills `to` with `low` to `high` random letters and digits; returns their number.
size_t RandomText(Rng& rng, size_t low, size_t high, char* to);
/// Fills `to` with exactly `size` random digits.
void RandomDigits(Rng& rng, size_t size, char* to);

template <size_t N>
void AssignRandom(Rng& rng, size_t low, size_t high, Text<N>* text) {
  static_assert(N > 0);
  const size_t size = RandomText(rng, low, high < N ? high : N, text->bytes);
  std::memset(text->bytes + size, 0, N - size);
}

}  // namespace latchkey
