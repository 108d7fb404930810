// Confidence intervals of the mean of a few repetitions.
//
// Means, not medians: of three to ten repetitions a median has no useful distribution-free interval
// (three samples cover the median with 75 %). Student's t interval assumes that the repetitions are
// independent and that their mean is about normal; see the folder's README for what follows if not.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace latchkey {

/// Repetitions below which no interval is given. With two, the t interval is 12.7 standard errors
/// wide on each side, and one odd run decides.
inline constexpr size_t kFewestRepetitions = 3;
/// Confidence of every interval, two-sided.
inline constexpr double kConfidence = 0.95;

struct Interval {
  double low = 0;
  double high = 0;
  bool operator==(const Interval&) const = default;
};

struct SampleMean {
  size_t count = 0;
  double mean = 0;      ///< 0 without samples
  double variance = 0;  ///< of one sample, unbiased; 0 with fewer than two samples
};
SampleMean MeanOf(std::span<const double> samples);

/// P(T <= t) of Student's t distribution. `degrees` > 0, need not be whole.
double StudentCdf(double t, double degrees);
/// The t for which StudentCdf is `probability`, 0.5 <= probability < 1.
double StudentQuantile(double probability, double degrees);

/// Student's t interval of the mean. nullopt: fewer than kFewestRepetitions, or not finite.
std::optional<Interval> MeanInterval(std::span<const double> samples);

/// Welch's t interval of mean(b) - mean(a): the two need not have the same variance. Degrees of
/// freedom after Welch and Satterthwaite. Without any variance the interval is the difference
/// itself. nullopt: either has fewer than kFewestRepetitions, or the interval is not finite.
std::optional<Interval> WelchInterval(std::span<const double> a, std::span<const double> b);

}  // namespace latchkey
