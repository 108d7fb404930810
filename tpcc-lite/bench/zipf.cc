#include "tpcc-lite/bench/zipf.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "storage/base/check.h"
#include "storage/base/hash.h"

namespace latchkey {
namespace {

// (exp(x) - 1) / x and log(1 + x) / x, continuous at 0. With them theta = 1 is no special case.
double ExpRatio(double x) {
  return std::abs(x) > 1e-8 ? std::expm1(x) / x : 1 + x / 2 * (1 + x / 3);
}
double LogRatio(double x) {
  return std::abs(x) > 1e-8 ? std::log1p(x) / x : 1 - x * (0.5 - x * (1.0 / 3 - x / 4));
}

}  // namespace

ZipfGenerator::ZipfGenerator(uint64_t n, double theta) : n_(n), theta_(theta) {
  LATCHKEY_CHECK(n >= 1 && theta > 0);
  integral_of_first_ = Integral(1.5) - 1;
  integral_of_last_ = Integral(static_cast<double>(n) + 0.5);
  shortcut_ = 2 - InverseIntegral(Integral(2.5) - Density(2));
}

double ZipfGenerator::Density(double x) const { return std::exp(-theta_ * std::log(x)); }

double ZipfGenerator::Integral(double x) const {
  const double log_x = std::log(x);
  return ExpRatio((1 - theta_) * log_x) * log_x;
}

double ZipfGenerator::InverseIntegral(double y) const {
  const double t = std::max(y * (1 - theta_), -1.0);  // below -1 only by rounding
  return std::exp(LogRatio(t) * y);
}

uint64_t ZipfGenerator::Next(Rng& rng) const {
  for (;;) {
    const double u = integral_of_last_ + rng.Unit() * (integral_of_first_ - integral_of_last_);
    const double x = InverseIntegral(u);
    const double k = std::clamp(std::floor(x + 0.5), 1.0, static_cast<double>(n_));
    if (k - x <= shortcut_ || u >= Integral(k + 0.5) - Density(k)) {
      return static_cast<uint64_t>(k) - 1;
    }
  }
}

Permutation::Permutation(uint64_t n, uint64_t seed) : n_(n) {
  LATCHKEY_CHECK(n >= 1);
  const int bits = std::max(2, static_cast<int>(std::bit_width(n - 1)));
  low_bits_ = bits / 2;
  high_bits_ = bits - low_bits_;
  Rng rng(seed);
  for (uint64_t& key : keys_) key = rng.Next();
}

uint64_t Permutation::Shuffle(uint64_t x) const {
  const uint64_t low_mask = (uint64_t{1} << low_bits_) - 1;
  const uint64_t high_mask = (uint64_t{1} << high_bits_) - 1;
  uint64_t low = x & low_mask;
  uint64_t high = x >> low_bits_;
  for (int round = 0; round < kRounds; round += 2) {
    low ^= MixHash(high ^ keys_[round]) & low_mask;
    high ^= MixHash(low ^ keys_[round + 1]) & high_mask;
  }
  return (high << low_bits_) | low;
}

uint64_t Permutation::operator()(uint64_t index) const {
  do {
    index = Shuffle(index);
  } while (index >= n_);
  return index;
}

}  // namespace latchkey
