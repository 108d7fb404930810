// Skewed choices over a key space, for benchmarks.
#pragma once

#include <cstdint>

#include "storage/base/rng.h"

namespace latchkey {

/// Ranks 0 (most frequent) to n - 1 with probability proportional to 1 / (rank + 1)^theta, by
/// rejection-inversion (Hoermann and Derflinger, 1996): constant time and memory, exact for every
/// n. Immutable: one generator may serve every actor, each with its own Rng.
class ZipfGenerator {
 public:
  /// `n` >= 1, `theta` > 0 (1 included).
  ZipfGenerator(uint64_t n, double theta);

  uint64_t Next(Rng& rng) const;

 private:
  double Integral(double x) const;
  double InverseIntegral(double y) const;
  double Density(double x) const;

  uint64_t n_;
  double theta_;
  double integral_of_first_;
  double integral_of_last_;
  double shortcut_;
};

/// A seeded bijection of [0, n) that looks random. It spreads the frequent ranks over the key space
/// without the collisions of hashing, and gives every key once in random order without a table. A
/// four-round Feistel network over the next power of two, applied again until the result is below
/// n.
class Permutation {
 public:
  Permutation(uint64_t n, uint64_t seed);  ///< n >= 1

  uint64_t operator()(uint64_t index) const;  ///< REQUIRES: index < n

 private:
  static constexpr int kRounds = 4;
  uint64_t Shuffle(uint64_t x) const;

  uint64_t n_;
  int low_bits_;
  int high_bits_;
  uint64_t keys_[kRounds];
};

}  // namespace latchkey
