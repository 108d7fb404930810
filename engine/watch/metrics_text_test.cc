#include "engine/watch/metrics_text.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "engine/testing/testing_database.h"

namespace latchkey::metrics_text_test {
namespace {

OperationLatency Latency(std::string_view operation, std::vector<OperationLatency::Bucket> buckets) {
  OperationLatency latency;
  latency.operation = operation;
  latency.buckets = std::move(buckets);
  for (const auto& bucket : latency.buckets) latency.count += bucket.count;
  return latency;
}

bool Has(const std::string& text, std::string_view line) {
  return ("\n" + text).find("\n" + std::string(line) + "\n") != std::string::npos;
}

TEST_CASE("each measured figure has its help, its type and a value in base units") {
  Statistics statistics;
  statistics.fixes = 12345678901;
  statistics.longest_frame_wait_ns = 1'500'000;
  statistics.device_busy_s = 2.5;
  statistics.space_utilization = .75;
  Statistics::Log log;
  log.syncs = 7;
  statistics.log = log;
  const std::string text = PrometheusText(ListStatistics(statistics), {});
  CHECK(Has(text, "# HELP latchkey_fixes_total visits of pages: hits, misses and new pages"));
  CHECK(Has(text, "# TYPE latchkey_fixes_total counter"));
  CHECK(Has(text, "latchkey_fixes_total 12345678901"));
  CHECK(Has(text, "# TYPE latchkey_longest_frame_wait_seconds gauge"));
  CHECK(Has(text, "latchkey_longest_frame_wait_seconds 0.0015"));
  CHECK(Has(text, "latchkey_device_busy_seconds_total 2.5"));
  CHECK(Has(text, "latchkey_space_utilization 0.75"));
  CHECK(Has(text, "latchkey_log_syncs_total 7"));
  CHECK(text.find("latchkey_recovery") == std::string::npos);
  CHECK(text.find("latchkey_write_cost") == std::string::npos);
}

TEST_CASE("a histogram counts for each bound the latencies that do not exceed it") {
  const std::string text =
      PrometheusText({}, {Latency("get", {{128, 5}, {160, 1}, {1024, 2}, {UINT64_MAX, 1}})});
  CHECK(Has(text, "latchkey_operation_seconds_bucket{operation=\"get\",le=\"1.28e-07\"} 5"));
  CHECK(Has(text, "latchkey_operation_seconds_bucket{operation=\"get\",le=\"2.56e-07\"} 6"));
  CHECK(Has(text, "latchkey_operation_seconds_bucket{operation=\"get\",le=\"1.024e-06\"} 8"));
  CHECK(Has(text, "latchkey_operation_seconds_bucket{operation=\"get\",le=\"+Inf\"} 9"));
  CHECK(Has(text, "latchkey_operation_seconds_count{operation=\"get\"} 9"));
}

// What a scraper takes: comments, and lines NAME[{LABELS}] NUMBER; each series once.
TEST_CASE("every line of a database's metrics is a comment or a series with a number") {
  const TempDir dir;
  Options options;
  options.latency_sampling = 1;
  const auto db = OpenOrFail(dir.File("db"), options);
  REQUIRE_OK(db->Put(TreeOrFail(*db, "t"), "k", "v"));
  std::istringstream lines(db->GetMetrics(MetricsFormat::kPrometheus));
  std::set<std::string> series;
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    if (line.starts_with("# HELP ") || line.starts_with("# TYPE ")) continue;
    const size_t space = line.rfind(' ');
    REQUIRE(space != std::string::npos);
    char* end = nullptr;
    std::strtod(line.c_str() + space + 1, &end);
    CHECK((*end == '\0' && end != line.c_str() + space + 1));
    CHECK(series.insert(line.substr(0, space)).second);
  }
  CHECK(series.contains("latchkey_commits_total"));
  CHECK(series.contains("latchkey_operation_seconds_count{operation=\"write\"}"));
}

TEST_CASE("the JSON text has every figure, and null for what was not measured") {
  Statistics statistics;
  statistics.commits = 3;
  statistics.write_cost = 1. / 0.;
  const std::string text =
      JsonText(7, ListStatistics(statistics), {Latency("get", {{1024, 2}}), Latency("put", {})});
  CHECK(text.starts_with("{\"written_at\":7,\"statistics\":{\"fixes\":0,"));
  CHECK(text.find("\"commits\":3,") != std::string::npos);
  CHECK(text.find("\"log.syncs\":null,") != std::string::npos);
  CHECK(text.find("\"write_cost\":null,") != std::string::npos);
  CHECK(text.find("\"latencies\":{\"get\":{\"count\":2,\"mean_s\":") != std::string::npos);
  CHECK(text.find(",\"buckets\":[[1024,2]]}") != std::string::npos);
  CHECK(text.ends_with("\"put\":{\"count\":0}}}\n"));
}

}  // namespace
}  // namespace latchkey::metrics_text_test
