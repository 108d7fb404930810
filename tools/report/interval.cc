#include "tools/report/interval.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace latchkey {
namespace {

constexpr double kTwoSided = 0.5 + kConfidence / 2;

/// The continued fraction of the incomplete beta function, by Lentz's method (NIST DLMF 8.17.22).
double BetaFraction(double x, double a, double b) {
  constexpr int kMostSteps = 1000;
  constexpr double kTiny = 1e-300;
  const auto away_from_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double result = d;
  for (int m = 1; m <= kMostSteps; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    result *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    result *= d * c;
    if (std::abs(d * c - 1) < std::numeric_limits<double>::epsilon()) break;
  }
  return result;
}

/// I_x(a, b), the regularised incomplete beta function.
double RegularisedBeta(double x, double a, double b) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  // The fraction converges quickly on this side of the mean.
  if (x < (a + 1) / (a + b + 2)) return front * BetaFraction(x, a, b) / a;
  return 1 - front * BetaFraction(1 - x, b, a) / b;
}

std::optional<Interval> Around(double centre, double half_width) {
  if (!std::isfinite(centre) || !std::isfinite(half_width)) return std::nullopt;
  return Interval{centre - half_width, centre + half_width};
}

}  // namespace

SampleMean MeanOf(std::span<const double> samples) {
  SampleMean result{.count = samples.size()};
  if (samples.empty()) return result;
  const auto count = static_cast<double>(samples.size());
  // Equal samples have no variance; rounding the sum would give them one.
  const bool equal = std::all_of(samples.begin(), samples.end(),
                                 [&](double sample) { return sample == samples.front(); });
  if (equal) {
    result.mean = samples.front();
    return result;
  }
  for (const double sample : samples) result.mean += sample / count;
  if (samples.size() < 2) return result;
  for (const double sample : samples) {
    result.variance += (sample - result.mean) * (sample - result.mean) / (count - 1);
  }
  return result;
}

double StudentCdf(double t, double degrees) {
  const double tail = RegularisedBeta(degrees / (degrees + t * t), degrees / 2, 0.5) / 2;
  return t < 0 ? tail : 1 - tail;
}

double StudentQuantile(double probability, double degrees) {
  double low = 0, high = 1;
  while (StudentCdf(high, degrees) < probability && high < 1e12) high *= 2;
  for (int step = 0; step < 200 && high - low > 1e-13 * high; ++step) {
    const double middle = (low + high) / 2;
    (StudentCdf(middle, degrees) < probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

std::optional<Interval> MeanInterval(std::span<const double> samples) {
  if (samples.size() < kFewestRepetitions) return std::nullopt;
  const SampleMean m = MeanOf(samples);
  const auto count = static_cast<double>(m.count);
  return Around(m.mean, StudentQuantile(kTwoSided, count - 1) * std::sqrt(m.variance / count));
}

std::optional<Interval> WelchInterval(std::span<const double> a, std::span<const double> b) {
  if (a.size() < kFewestRepetitions || b.size() < kFewestRepetitions) return std::nullopt;
  const SampleMean from = MeanOf(a), to = MeanOf(b);
  const double square_a = from.variance / static_cast<double>(a.size());
  const double square_b = to.variance / static_cast<double>(b.size());
  const double square = square_a + square_b;
  const double difference = to.mean - from.mean;
  if (square == 0) return Around(difference, 0);
  // As shares of the sum, so that small variances are not lost when they are squared.
  const double share_a = square_a / square, share_b = square_b / square;
  const double degrees = 1 / (share_a * share_a / static_cast<double>(a.size() - 1) +
                              share_b * share_b / static_cast<double>(b.size() - 1));
  if (!std::isfinite(degrees)) return std::nullopt;
  return Around(difference, StudentQuantile(kTwoSided, degrees) * std::sqrt(square));
}

}  // namespace latchkey
