#include "tpcc-lite/bench/zipf.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

namespace latchkey::zipf_test {
namespace {

TEST_CASE("Zipf ranks come as often as their probabilities say") {
  const double theta = GENERATE(0.5, 0.99, 1.0, 1.5);
  constexpr uint64_t kRanks = 1000;
  constexpr int kDraws = 400'000;
  const ZipfGenerator zipf(kRanks, theta);
  Rng rng(42);
  std::vector<int> counts(kRanks, 0);
  for (int i = 0; i < kDraws; ++i) ++counts.at(zipf.Next(rng));
  double zeta = 0;
  for (uint64_t k = 1; k <= kRanks; ++k) zeta += std::pow(static_cast<double>(k), -theta);
  CAPTURE(theta);
  for (const uint64_t rank : {0, 1, 2, 9, 99}) {
    const double expected = kDraws * std::pow(static_cast<double>(rank + 1), -theta) / zeta;
    CAPTURE(rank, expected);
    CHECK(std::abs(counts[rank] - expected) < 6 * std::sqrt(expected));
  }
}

TEST_CASE("Zipf draws stay below n, for tiny and for huge n") {
  const uint64_t n = GENERATE(1, 2, 3, 10'000'000'000ull);
  const ZipfGenerator zipf(n, 0.99);
  Rng rng(7);
  for (int i = 0; i < 10'000; ++i) REQUIRE(zipf.Next(rng) < n);
}

TEST_CASE("The same seed draws the same ranks") {
  const ZipfGenerator zipf(1'000'000, 0.99);
  Rng one(5), two(5);
  for (int i = 0; i < 1000; ++i) REQUIRE(zipf.Next(one) == zipf.Next(two));
}

TEST_CASE("A permutation visits every number once") {
  const uint64_t n = GENERATE(1, 2, 3, 5, 64, 1000, 4097);
  const Permutation permutation(n, 42);
  std::vector<bool> seen(n, false);
  for (uint64_t i = 0; i < n; ++i) {
    const uint64_t to = permutation(i);
    REQUIRE(to < n);
    REQUIRE(!seen[to]);
    seen[to] = true;
  }
}

TEST_CASE("A permutation scatters neighbours") {
  constexpr uint64_t kRecords = 100'000;
  const Permutation permutation(kRecords, 42);
  int close = 0;
  for (uint64_t i = 0; i + 1 < 1000; ++i) {
    const auto here = static_cast<int64_t>(permutation(i));
    const auto next = static_cast<int64_t>(permutation(i + 1));
    if (std::abs(here - next) < 100) ++close;
  }
  CHECK(close < 20);
}

}  // namespace
}  // namespace latchkey::zipf_test
