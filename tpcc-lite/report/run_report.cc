#include "tpcc-lite/report/run_report.h"

#include <array>
#include <vector>

#include "tpcc-lite/report/device_time.h"

namespace latchkey {
namespace {

Json LatenciesToJson(const std::optional<TpccResult>& result) {
  Json block = Json::object();
  for (size_t i = 0; i < kTpccTransactions; ++i) {
    block[std::string(kTpccTransactionNames[i])] =
        LatencyToJson(result ? result->types[i].latency_us : std::nullopt);
  }
  return block;
}

Json SampleToJson(const TpccSample& sample) {
  return {{"end_s", sample.end_s},
          {"seconds", sample.seconds},
          {"transactions", sample.transactions},
          {"new_orders", sample.new_orders},
          {"aborts", sample.aborts},
          {"latency_us", LatencyToJson(sample.latency_us)}};
}

Json ConsistencyToJson(const std::optional<ConsistencyReport>& report) {
  if (!report) return NullFields({"checked", "violated"});
  return {{"checked", report->checked}, {"violated", report->violated}};
}

void AddFigures(const std::optional<TpccResult>& result, Json& row) {
  const auto figure = [&](auto of) { return FigureOf(result, of); };
  row["duration_s"] = figure([](const TpccResult& r) { return r.duration_s; });
  row["new_order_per_min"] = figure([](const TpccResult& r) { return r.NewOrdersPerMinute(); });
  row["transactions_per_s"] = figure([](const TpccResult& r) { return r.TransactionsPerSecond(); });
  row["transactions"] = figure([](const TpccResult& r) { return r.Completed(); });
  row["aborts"] = figure([](const TpccResult& r) { return r.Aborts(); });
  row["latency_us"] = LatenciesToJson(result);
}

}  // namespace

Json RunToJson(const RunRecord& record) {
  const TpccConfig& config = record.config;
  Json row = DescribeSettings(record.settings);
  row["warehouses"] = config.warehouses;
  row["scale"] = config.scale;
  row["users"] = config.users;
  row["seed"] = config.seed;
  row["warmup_s"] = static_cast<double>(config.warmup) / kNanosPerSecond;
  row["transactions_limit"] = config.transactions > 0 ? Json(config.transactions) : Json(nullptr);
  AddFigures(record.result, row);
  AddStatistics(record, row);
  AddDeviceTime("transactions", row);
  row["consistency"] = ConsistencyToJson(record.consistency);
  AddOutcome(record, record.result && record.result->interrupted, row);
  row["samples"] = SamplesOf(record.result, record, SampleToJson);
  return row;
}

std::span<const std::string> RunFigures() {
  static const auto* const figures =
      new std::array<std::string, 4>{"/transactions_per_s", "/new_order_per_min",
                                     "/latency_us/new_order/p99", "/io/bytes_written"};
  return *figures;
}

std::span<const Column> RunColumns() {
  using enum ColumnFormat;
  static const auto* const columns = new std::vector<Column>(
      ColumnsWith({{
                       {"warehouses", "/warehouses", kCount, true},
                       {"scale", "/scale", kText, true},
                       {"users", "/users", kCount, true},
                       {"seed", "/seed", kText, true},
                       {"NewOrder/min (tpcc-lite, not TPC-C)", "/new_order_per_min", kCount},
                       {"transactions/s", "/transactions_per_s", kCount},
                       {"aborts", "/aborts", kCount},
                       {"NewOrder p50", "/latency_us/new_order/p50", kMicros},
                       {"p99", "/latency_us/new_order/p99", kMicros},
                       {"hits", "/buffer/hit_ratio", kPercent},
                       {"dirty", "/buffer/dirty_proportion", kPercent},
                       {"sync writes of I/O", "/buffer/sync_write_share_of_io", kPercent},
                       {"write cost", "/layout_stats/write_cost", kNumber},
                       {"write ampl.", "/layout_stats/write_amplification", kNumber},
                       {"flash ampl.", "/io/device_write_amplification", kNumber},
                       {"read", "/io/bytes_read", kBytes},
                       {"written", "/io/bytes_written", kBytes},
                       {"log written", "/log/bytes_written", kBytes},
                       {"file", "/space/file_bytes", kBytes},
                   },
                   DeviceTimeColumns("a transaction")}));
  return *columns;
}

}  // namespace latchkey
