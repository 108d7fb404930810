#include "tools/cli/watched_metrics.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "storage/base/status_macros.h"
#include "tpcc-lite/report/json.h"

namespace latchkey {
namespace {

using Buckets = WatchedMetrics::Buckets;

Buckets BucketsOf(const Json& latency) {
  Buckets buckets;
  if (!latency.contains("buckets")) return buckets;
  for (const Json& bucket : latency.at("buckets")) {
    const uint64_t most = bucket.at(0).is_null() ? UINT64_MAX : bucket.at(0).get<uint64_t>();
    buckets[most] = bucket.at(1).get<uint64_t>();
  }
  return buckets;
}

WatchedMetrics Read(const Json& document) {
  WatchedMetrics metrics;
  metrics.written_at = document.at("written_at").get<int64_t>();
  for (const auto& [name, value] : document.at("statistics").items()) {
    if (!value.is_null()) metrics.figures.emplace(name, value.get<double>());
  }
  for (const auto& [operation, latency] : document.at("latencies").items()) {
    metrics.latencies.emplace(operation, BucketsOf(latency));
  }
  return metrics;
}

Buckets Difference(const Buckets& from, const Buckets& to) {
  Buckets more;
  for (const auto& [most, count] : to) {
    const auto before = from.find(most);
    const uint64_t had = before == from.end() ? 0 : before->second;
    if (count > had) more[most] = count - had;
  }
  return more;
}

const Buckets& Of(const WatchedMetrics& metrics, const std::string& operation) {
  static const auto* const none = new Buckets();
  const auto found = metrics.latencies.find(operation);
  return found == metrics.latencies.end() ? *none : found->second;
}

double Figure(const WatchedMetrics& metrics, std::string_view name) {
  const auto found = metrics.figures.find(name);
  return found == metrics.figures.end() ? 0 : found->second;
}

}  // namespace

absl::StatusOr<WatchedMetrics> ParseMetrics(const std::string& text) {
  const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  try {
    if (document.is_object()) return Read(document);
  } catch (const Json::exception&) {
  }
  return InvalidArgument(
      "no metrics of a database: a program writes them with the option metrics-path={}",
      "DB/metrics.json");
}

std::optional<LatencySummary> Between(const Buckets& from, const Buckets& to) {
  const Buckets more = Difference(from, to);
  uint64_t count = 0;
  for (const auto& [most, in] : more) count += in;
  if (count == 0) return std::nullopt;
  const auto quantile_us = [&](double share) {
    const auto rank = static_cast<uint64_t>(std::ceil(share * static_cast<double>(count)));
    uint64_t seen = 0;
    for (const auto& [most, in] : more) {
      seen += in;
      if (seen >= std::max<uint64_t>(rank, 1)) return static_cast<double>(most) / kNanosPerMicro;
    }
    return 0.;
  };
  return LatencySummary{.p50 = quantile_us(.5),
                        .p95 = quantile_us(.95),
                        .p99 = quantile_us(.99),
                        .p99_9 = quantile_us(.999),
                        .max = quantile_us(1)};
}

LiveSample SampleBetween(const WatchedMetrics& from, const WatchedMetrics& to, double seconds) {
  LiveSample sample{.seconds = seconds, .latency_us = {}};
  const double commits = Figure(to, "commits") - Figure(from, "commits");
  sample.rate = seconds > 0 ? std::max(0., commits) / seconds : 0;
  Buckets before = Of(from, "commit"), now = Of(to, "commit");
  for (const auto& [most, count] : Of(from, "write")) before[most] += count;
  for (const auto& [most, count] : Of(to, "write")) now[most] += count;
  sample.latency_us = Between(before, now);
  for (const char* operation : {"get", "put", "log_sync", "page_read", "page_write"}) {
    const auto us = Between(Of(from, operation), Of(to, operation));
    if (us) sample.more_us.emplace_back(operation, *us);
  }
  return sample;
}

}  // namespace latchkey
