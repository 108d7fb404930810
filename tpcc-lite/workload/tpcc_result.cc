#include "tpcc-lite/workload/tpcc_result.h"

namespace latchkey {

uint64_t TpccResult::Completed() const {
  uint64_t sum = 0;
  for (const TpccTypeResult& type : types) sum += type.commits + type.rollbacks;
  return sum;
}

uint64_t TpccResult::Aborts() const {
  uint64_t sum = 0;
  for (const TpccTypeResult& type : types) sum += type.aborts;
  return sum;
}

double TpccResult::TransactionsPerSecond() const {
  return duration_s > 0 ? static_cast<double>(Completed()) / duration_s : 0;
}

double TpccResult::NewOrdersPerMinute() const {
  const auto commits = static_cast<double>(Of(TpccTransaction::kNewOrder).commits);
  return duration_s > 0 ? commits * 60 / duration_s : 0;
}

std::optional<LatencySummary> Summarize(const LatencyHistogram& histogram) {
  if (histogram.count() == 0) return std::nullopt;
  const auto us = [](Nanos nanos) { return static_cast<double>(nanos) / kNanosPerMicro; };
  return LatencySummary{.p50 = us(histogram.Quantile(.5)),
                        .p95 = us(histogram.Quantile(.95)),
                        .p99 = us(histogram.Quantile(.99)),
                        .p99_9 = us(histogram.Quantile(.999)),
                        .max = us(histogram.max()),
                        .mean = histogram.mean() / kNanosPerMicro};
}

}  // namespace latchkey
