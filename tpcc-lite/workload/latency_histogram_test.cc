#include "tpcc-lite/workload/latency_histogram.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "storage/base/rng.h"

namespace latchkey::latency_histogram_test {
namespace {

TEST_CASE("an empty histogram has no latencies") {
  const LatencyHistogram histogram;
  CHECK(histogram.count() == 0);
  CHECK(histogram.Quantile(.5) == 0);
  CHECK(histogram.max() == 0);
}

TEST_CASE("small latencies are kept exactly") {
  for (Nanos value = 0; value < 128; ++value) {
    LatencyHistogram histogram;
    histogram.Record(value);
    CHECK(histogram.Quantile(.5) == value);
  }
}

TEST_CASE("every quantile is within a 64th of the exact one, at any magnitude") {
  Rng rng(11);
  for (const uint32_t bits : {8u, 14u, 20u, 33u, 39u}) {
    LatencyHistogram histogram;
    std::vector<Nanos> exact;
    for (int i = 0; i < 5000; ++i) {
      exact.push_back(rng.Below(Nanos{1} << bits));
      histogram.Record(exact.back());
    }
    std::sort(exact.begin(), exact.end());
    for (const double quantile : {.01, .5, .95, .99, .999}) {
      const auto expected =
          static_cast<double>(exact[static_cast<size_t>(quantile * 5000 + .999999) - 1]);
      const auto measured = static_cast<double>(histogram.Quantile(quantile));
      CHECK(measured == Approx(expected).epsilon(1.0 / 64).margin(1));
    }
    CHECK(histogram.Quantile(1) <= histogram.max());
    CHECK(histogram.max() == exact.back());
  }
}

TEST_CASE("latencies beyond the range keep their maximum") {
  LatencyHistogram histogram;
  histogram.Record(LatencyHistogram::kLimit * 3);
  CHECK(histogram.max() == LatencyHistogram::kLimit * 3);
  CHECK(histogram.Quantile(.5) == LatencyHistogram::kLimit * 3);
}

TEST_CASE("a merged histogram is that of both recordings") {
  LatencyHistogram one, two, both;
  for (Nanos value = 1; value < 100'000; value *= 3) {
    one.Record(value);
    two.Record(value * 2);
    both.Record(value);
    both.Record(value * 2);
  }
  one.Merge(two);
  CHECK(one.count() == both.count());
  CHECK(one.max() == both.max());
  CHECK(one.mean() == both.mean());
  for (const double quantile : {.1, .5, .9})
    CHECK(one.Quantile(quantile) == both.Quantile(quantile));
}

TEST_CASE("what was recorded since an earlier state is a histogram of its own") {
  LatencyHistogram histogram;
  for (Nanos value = 1; value <= 1000; ++value) histogram.Record(1'000'000);
  const LatencyHistogram earlier = histogram;
  CHECK(histogram.Since(earlier).count() == 0);
  for (Nanos value = 1; value <= 1000; ++value) histogram.Record(value);
  const LatencyHistogram since = histogram.Since(earlier);
  CHECK(since.count() == 1000);
  CHECK(since.mean() == 500.5);
  CHECK(since.Quantile(.5) == Approx(500).epsilon(1. / 64));
  CHECK(since.max() >= 1000);
  CHECK(since.max() <= 1000 + 1000 / 64);
  histogram.Clear();
  histogram.Record(7);
  CHECK(histogram.Since(earlier).count() == 1);
}

}  // namespace
}  // namespace latchkey::latency_histogram_test
