#include "engine/watch/metrics_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace latchkey {
namespace {

constexpr double kSecondsPerNano = 1e-9;
// Bounds of the histograms, as powers of two nanoseconds: 128 ns to 69 s.
constexpr uint32_t kLeastBound = 7, kMostBound = 36;

double Seconds(uint64_t ns) { return static_cast<double>(ns) * kSecondsPerNano; }

std::string Value(const NamedStatistic& figure) {
  return figure.is_integer ? fmt::format("{}", figure.integer) : fmt::format("{}", figure.real);
}

/// Cuts `suffix` off the end of `*text`, if it is there.
bool CutEnd(std::string_view suffix, std::string* text) {
  if (!text->ends_with(suffix)) return false;
  text->resize(text->size() - suffix.size());
  return true;
}

void AddFigure(const NamedStatistic& figure, std::string* text) {
  std::string name = fmt::format("latchkey_{}", figure.name);
  std::replace(name.begin(), name.end(), '.', '_');
  std::string value = Value(figure);
  if (CutEnd("_ns", &name)) {
    name += "_seconds";
    value = fmt::format("{}", figure.real * kSecondsPerNano);
  } else if (CutEnd("_s", &name)) {
    name += "_seconds";
  }
  if (figure.is_counter) name += "_total";
  *text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{0} {3}\n", name, figure.help,
                 figure.is_counter ? "counter" : "gauge", value);
}

void AddHistogram(const OperationLatency& latency, std::string* text) {
  constexpr std::string_view kName = "latchkey_operation_seconds";
  auto bucket = latency.buckets.begin();
  uint64_t within = 0;
  for (uint32_t power = kLeastBound; power <= kMostBound; ++power) {
    const uint64_t bound = uint64_t{1} << power;
    for (; bucket != latency.buckets.end() && bucket->most_ns <= bound; ++bucket) within += bucket->count;
    *text += fmt::format("{}_bucket{{operation=\"{}\",le=\"{}\"}} {}\n", kName,
                   latency.operation, Seconds(bound), within);
  }
  *text += fmt::format(
                 "{0}_bucket{{operation=\"{1}\",le=\"+Inf\"}} {2}\n"
                 "{0}_sum{{operation=\"{1}\"}} {3}\n{0}_count{{operation=\"{1}\"}} {2}\n",
                 kName, latency.operation, latency.count, Seconds(latency.sum_ns));
}

void AddJson(const OperationLatency& latency, std::string* text) {
  *text += fmt::format("\"{}\":{{\"count\":{}", latency.operation, latency.count);
  if (latency.count > 0) {
    *text += fmt::format(
                   ",\"mean_s\":{},\"p50_s\":{},\"p90_s\":{},\"p99_s\":{},\"p999_s\":{},\"longest_s\":{}",
                   Seconds(latency.sum_ns) / static_cast<double>(latency.count), Seconds(latency.Quantile(.5)),
                   Seconds(latency.Quantile(.9)), Seconds(latency.Quantile(.99)), Seconds(latency.Quantile(.999)),
                   Seconds(latency.longest_ns));
    *text += ",\"buckets\":[";
    for (const OperationLatency::Bucket& bucket : latency.buckets) {
      const bool has_bound = bucket.most_ns != UINT64_MAX;
      *text += fmt::format("{}[{},{}]", text->back() == '[' ? "" : ",",
                           has_bound ? fmt::format("{}", bucket.most_ns) : "null", bucket.count);
    }
    *text += ']';
  }
  *text += '}';
}

}  // namespace

std::string PrometheusText(const std::vector<NamedStatistic>& figures,
                           const std::vector<OperationLatency>& latencies) {
  std::string text;
  for (const NamedStatistic& figure : figures) {
    if (figure.measured) AddFigure(figure, &text);
  }
  text += "# HELP latchkey_operation_seconds latencies: of calls, those that were timed; of what calls wait for, all\n"
          "# TYPE latchkey_operation_seconds histogram\n";
  for (const OperationLatency& latency : latencies) AddHistogram(latency, &text);
  text += "# HELP latchkey_operation_longest_seconds the longest of these latencies since the open\n"
          "# TYPE latchkey_operation_longest_seconds gauge\n";
  for (const OperationLatency& latency : latencies) {
    text += fmt::format("latchkey_operation_longest_seconds{{operation=\"{}\"}} {}\n",
                   latency.operation, Seconds(latency.longest_ns));
  }
  return text;
}

std::string JsonText(int64_t written_at, const std::vector<NamedStatistic>& figures,
                     const std::vector<OperationLatency>& latencies) {
  std::string text = fmt::format("{{\"written_at\":{},\"statistics\":{{", written_at);
  for (const NamedStatistic& figure : figures) {
    if (text.back() != '{') text += ',';
    const bool has_number = figure.measured && std::isfinite(figure.real);
    text += fmt::format("\"{}\":{}", figure.name,
                   has_number ? Value(figure) : "null");
  }
  text += "},\"latencies\":{";
  for (const OperationLatency& latency : latencies) {
    if (text.back() != '{') text += ',';
    AddJson(latency, &text);
  }
  return text + "}}\n";
}

std::string MetricsText(MetricsFormat format, int64_t written_at, const Statistics& statistics,
                        const std::vector<OperationLatency>& latencies) {
  const std::vector<NamedStatistic> figures = ListStatistics(statistics);
  return format == MetricsFormat::kPrometheus ? PrometheusText(figures, latencies)
                                              : JsonText(written_at, figures, latencies);
}

}  // namespace latchkey
