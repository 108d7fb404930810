#include "tools/report/interval.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace latchkey::interval_test {
namespace {

TEST_CASE("Student's t distribution has the quantiles of the published tables") {
  // Table of two-sided 95 % and 99 % points; one degree of freedom is the Cauchy distribution.
  CHECK(StudentQuantile(0.975, 1) == Approx(12.7062).epsilon(1e-5));
  CHECK(StudentQuantile(0.975, 2) == Approx(4.30265).epsilon(1e-5));
  CHECK(StudentQuantile(0.975, 4) == Approx(2.77645).epsilon(1e-5));
  CHECK(StudentQuantile(0.975, 10) == Approx(2.22814).epsilon(1e-5));
  CHECK(StudentQuantile(0.995, 30) == Approx(2.75000).epsilon(1e-5));
  CHECK(StudentQuantile(0.975, 1e7) == Approx(1.95996).epsilon(1e-5));
  CHECK(StudentCdf(0, 3) == Approx(0.5));
  CHECK(StudentCdf(-1, 1) == Approx(0.25));
  CHECK(StudentCdf(1, 1) == Approx(0.75));
  CHECK(StudentCdf(-50, 3.5) + StudentCdf(50, 3.5) == Approx(1));
}

TEST_CASE("The mean of repetitions has the interval of the textbook") {
  const std::vector<double> samples = {9, 10, 11};
  const SampleMean mean = MeanOf(samples);
  CHECK(mean.mean == Approx(10));
  CHECK(mean.variance == Approx(1));
  const auto interval = MeanInterval(samples);
  REQUIRE(interval.has_value());
  CHECK(interval->low == Approx(10 - 4.30265 / std::sqrt(3.0)).epsilon(1e-5));
  CHECK(interval->high == Approx(10 + 4.30265 / std::sqrt(3.0)).epsilon(1e-5));
}

TEST_CASE(
    "Welch's interval of two samples of unequal variance and size has its degrees of freedom") {
  // Computed apart from this code, by integrating the density: 7.943 degrees, t = 2.3089.
  const std::vector<double> a = {27.5, 21.0, 19.0, 23.6, 17.0, 17.9};
  const std::vector<double> b = {27.1, 22.0, 20.8, 23.4};
  const auto interval = WelchInterval(a, b);
  REQUIRE(interval.has_value());
  CHECK(interval->low == Approx(-2.56538).epsilon(1e-5));
  CHECK(interval->high == Approx(7.21538).epsilon(1e-5));
}

TEST_CASE("With equal variances and sizes Welch's interval is Student's of two samples") {
  const auto interval = WelchInterval(std::vector<double>{1, 2, 3}, std::vector<double>{5, 6, 7});
  REQUIRE(interval.has_value());
  const double half = 2.77645 * std::sqrt(2.0 / 3);  // four degrees of freedom
  CHECK(interval->low == Approx(4 - half).epsilon(1e-5));
  CHECK(interval->high == Approx(4 + half).epsilon(1e-5));
}

TEST_CASE("Fewer than three repetitions have no interval") {
  CHECK(!MeanInterval(std::vector<double>{1, 2}));
  CHECK(!WelchInterval(std::vector<double>{1, 2}, std::vector<double>{5, 6, 7}));
  CHECK(!WelchInterval(std::vector<double>{1, 2, 3}, std::vector<double>{5}));
  CHECK(MeanOf({}).count == 0);
}

TEST_CASE("Without any variance the interval is the difference itself") {
  CHECK(WelchInterval(std::vector<double>(3, 4.0), std::vector<double>(5, 6.0)) == Interval{2, 2});
  CHECK(MeanInterval(std::vector<double>(3, 4.0)) == Interval{4, 4});
}

TEST_CASE("Equal samples have no variance, whatever their sum rounds to") {
  const std::vector<double> samples(3, 414.0461 / 3);
  CHECK(MeanOf(samples).variance == 0);
  CHECK(MeanOf(samples).mean == samples[0]);
  CHECK(WelchInterval(std::vector<double>(3, 0.1), std::vector<double>(3, 0.1)) == Interval{0, 0});
}

TEST_CASE("Values too large for their squares have no interval, and very small ones have one") {
  const double huge = std::numeric_limits<double>::max();
  CHECK(!WelchInterval(std::vector<double>{huge, -huge, 0}, std::vector<double>{1, 2, 3}));
  const auto small =
      WelchInterval(std::vector<double>{1e-9, 2e-9, 3e-9}, std::vector<double>{5e-9, 6e-9, 7e-9});
  REQUIRE(small.has_value());
  CHECK(small->low == Approx(4e-9 - 2.77645e-9 * std::sqrt(2.0 / 3)).epsilon(1e-4));
}

TEST_CASE("Of two equal populations Welch's interval excludes 0 in about five cases of a hundred") {
  std::mt19937_64 random(42);
  std::normal_distribution<double> one(100, 5), other(100, 1);
  constexpr int kTries = 4000;
  int excluded = 0;
  for (int i = 0; i < kTries; ++i) {
    std::vector<double> a, b;
    for (int n = 0; n < 5; ++n) a.push_back(one(random));
    for (int n = 0; n < 5; ++n) b.push_back(other(random));
    const auto interval = WelchInterval(a, b);
    excluded += interval->low > 0 || interval->high < 0;
  }
  CAPTURE(excluded);
  CHECK(excluded > kTries * 0.03);
  CHECK(excluded < kTries * 0.07);
}

}  // namespace
}  // namespace latchkey::interval_test
