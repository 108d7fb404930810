// The figures of a TPC-C-lite run.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tpcc-lite/workload/latency_histogram.h"

namespace latchkey {

/// The five transactions (clause 2), in the order of every array below.
enum class TpccTransaction : uint8_t { kNewOrder, kPayment, kOrderStatus, kDelivery, kStockLevel };
inline constexpr size_t kTpccTransactions = 5;
/// The names of JSON fields: "new_order", ...
inline constexpr std::array<std::string_view, kTpccTransactions> kTpccTransactionNames = {
    "new_order", "payment", "order_status", "delivery", "stock_level"};

/// Microseconds from a transaction's first attempt to its end, retries included.
struct LatencySummary {
  double p50 = 0, p95 = 0, p99 = 0, p99_9 = 0, max = 0, mean = 0;
};

struct TpccTypeResult {
  uint64_t commits = 0;
  uint64_t rollbacks = 0;  ///< by the user: the 1 % of New-Orders with an unused item
  uint64_t aborts = 0;     ///< attempts that ended in a conflict; each was repeated
  std::optional<LatencySummary> latency_us;  ///< nullopt when none completed
};

/// Counts within one second of a run. The last sample may be shorter.
struct TpccSample {
  double end_s = 0;    ///< seconds since the measured part began
  double seconds = 0;  ///< length
  uint64_t transactions = 0, new_orders = 0, aborts = 0;
  std::optional<LatencySummary> latency_us = {};  ///< of all types; nullopt when none completed
};

struct TpccResult {
  bool interrupted = false;  ///< the stop flag ended it: figures are those of the part that ran
  double duration_s = 0;     ///< of the measured part
  std::array<TpccTypeResult, kTpccTransactions> types;
  std::vector<TpccSample> samples;

  const TpccTypeResult& Of(TpccTransaction type) const { return types[static_cast<size_t>(type)]; }
  /// Completed transactions: commits and the users' own rollbacks.
  uint64_t Completed() const;
  uint64_t Aborts() const;
  double TransactionsPerSecond() const;
  /// Committed New-Orders: "NewOrder/min (tpcc-lite, not TPC-C)".
  double NewOrdersPerMinute() const;
};

/// Percentiles of `histogram` in microseconds; nullopt: it is empty.
std::optional<LatencySummary> Summarize(const LatencyHistogram& histogram);

}  // namespace latchkey
