#include "tools/cli/watched_metrics.h"

#include <catch2/catch.hpp>

#include "engine/latchkey.h"
#include "engine/testing/testing_database.h"

namespace latchkey::watched_metrics_test {
namespace {

TEST_CASE("the metrics of a database are read as they were written") {
  const TempDir dir;
  Options options;
  options.latency_sampling = 1;
  const auto db = OpenOrFail(dir.File("db"), options);
  const Tree tree = TreeOrFail(*db, "t");
  const absl::StatusOr<WatchedMetrics> from = ParseMetrics(db->GetMetrics(MetricsFormat::kJson));
  REQUIRE_OK(from.status());
  std::string value;
  for (int i = 0; i < 10; ++i) REQUIRE_OK(db->Put(tree, "k", "v"));
  for (int i = 0; i < 20; ++i) REQUIRE_OK(db->Get(tree, "k", &value));
  const absl::StatusOr<WatchedMetrics> to = ParseMetrics(db->GetMetrics(MetricsFormat::kJson));
  REQUIRE_OK(to.status());
  CHECK(to->written_at > 1'700'000'000);
  CHECK(to->figures.at("cache_bytes") == static_cast<double>(options.cache_bytes));
  CHECK_FALSE(to->figures.contains("recovery.redo_s"));
  const LiveSample sample = SampleBetween(*from, *to, 2);
  CHECK(sample.rate == 5);
  REQUIRE(sample.latency_us.has_value());
  CHECK(sample.latency_us->p50 > 0);
  REQUIRE_FALSE(sample.more_us.empty());
  CHECK(sample.more_us[0].first == "get");
}

TEST_CASE("percentiles are of what came between two readings") {
  const WatchedMetrics::Buckets from = {{1000, 100}, {8000, 1}},
                                to = {{1000, 100}, {2000, 98}, {8000, 3}};
  const auto between = Between(from, to);
  REQUIRE(between.has_value());
  CHECK(between->p50 == 2);
  CHECK(between->p95 == 2);
  CHECK(between->p99 == 8);
  CHECK_FALSE(Between(to, to).has_value());
}

TEST_CASE("a file that has no metrics is refused") {
  for (const char* text :
       {"", "{", "[]", "{}", R"({"written_at":1})",
        R"({"written_at":"x","statistics":{},"latencies":{}})",
        R"({"written_at":1,"statistics":{},"latencies":{"get":{"buckets":[7]}}})"}) {
    CAPTURE(text);
    CHECK(absl::IsInvalidArgument(ParseMetrics(text).status()));
  }
}

}  // namespace
}  // namespace latchkey::watched_metrics_test
