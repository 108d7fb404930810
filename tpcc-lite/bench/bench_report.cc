#include "tpcc-lite/bench/bench_report.h"

#include <array>
#include <vector>

#include "tpcc-lite/report/device_time.h"

namespace latchkey {
namespace {

Json SampleToJson(const KvBenchSample& sample) {
  return {{"end_s", sample.end_s},
          {"seconds", sample.seconds},
          {"operations", sample.operations},
          {"latency_us", LatencyToJson(sample.latency_us)}};
}

Json ReopenToJson(const std::optional<ReopenResult>& reopen, uint32_t page_size) {
  if (!reopen) {
    return NullFields({"commits", "dirty_bytes", "dirty_share", "open_s", "layout_s", "log_read_s",
                       "redo_s", "undo_s", "checkpoint_s", "checkpointed_s", "log_bytes",
                       "log_records", "redone_changes", "undone_changes"});
  }
  const Statistics::Recovery& phases = reopen->phases;
  return {{"commits", reopen->commits},
          {"dirty_bytes", reopen->dirty_pages * page_size},
          {"dirty_share", reopen->dirty_share},
          {"open_s", reopen->open_s},
          {"layout_s", phases.layout_s},
          {"log_read_s", phases.log_read_s},
          {"redo_s", phases.redo_s},
          {"undo_s", phases.undo_s},
          {"checkpoint_s", phases.checkpoint_s},
          {"checkpointed_s", reopen->checkpointed_s},
          {"log_bytes", phases.log_bytes},
          {"log_records", phases.log_records},
          {"redone_changes", phases.redone_changes},
          {"undone_changes", phases.undone_changes}};
}

void AddWorkload(const KvBenchConfig& config, Json& row) {
  const bool known = config.workload != nullptr;
  row["workload"] = known ? Json(std::string(config.workload->name)) : Json();
  row["zipf"] = known && config.workload->zipf ? Json(config.zipf_theta) : Json();
  row["records"] = config.records;
  row["key_size"] = config.key_size;
  row["value_size"] = config.value_size;
  row["threads"] = config.threads;
  row["batch"] = known && config.workload->only_puts() ? Json(config.batch) : Json();
  row["seed"] = config.seed;
  row["warmup_s"] = static_cast<double>(config.warmup) / kNanosPerSecond;
  row["operations_limit"] = config.operations > 0 ? Json(config.operations) : Json();
}

void AddFigures(const BenchRecord& record, Json& row) {
  const std::optional<KvBenchResult>& result = record.result;
  const auto figure = [&](auto of) { return FigureOf(result, of); };
  row["duration_s"] = figure([](const KvBenchResult& r) { return r.duration_s; });
  row["operations_per_s"] = figure([](const KvBenchResult& r) { return r.OperationsPerSecond(); });
  row["operations"] = figure([](const KvBenchResult& r) { return r.operations; });
  row["retries"] = figure([](const KvBenchResult& r) { return r.retries; });
  const double device_rate = record.device_rate ? record.device_rate->PerSecond() : 0;
  row["device_overwrites_per_s"] = device_rate > 0 ? Json(device_rate) : Json(nullptr);
  row["share_of_device"] =
      device_rate > 0 && result ? Json(result->OperationsPerSecond() / device_rate) : Json(nullptr);
  row["latency_us"] = LatencyToJson(result ? result->latency_us : std::nullopt);
  row["reopen"] = ReopenToJson(record.reopen, record.settings.kv.page_size);
}

}  // namespace

Json BenchToJson(const BenchRecord& record) {
  Json row = DescribeSettings(record.settings);
  AddWorkload(record.config, row);
  AddFigures(record, row);
  AddStatistics(record, row);
  AddDeviceTime("operations", row);
  AddOutcome(record, record.result && record.result->interrupted, row);
  row["samples"] = SamplesOf(record.result, record, SampleToJson);
  return row;
}

std::span<const std::string> BenchFigures() {
  static const auto* const figures = new std::array<std::string, 11>{
      "/operations_per_s", "/latency_us/p99",      "/device_overwrites_per_s", "/share_of_device",
      "/reopen/open_s",    "/reopen/layout_s",     "/reopen/log_read_s",       "/reopen/redo_s",
      "/reopen/undo_s",    "/reopen/checkpoint_s", "/reopen/checkpointed_s"};
  return *figures;
}

std::span<const Column> BenchColumns() {
  using enum ColumnFormat;
  static const auto* const columns = new std::vector<Column>(
      ColumnsWith({{
                       {"workload", "/workload", kText, true},
                       {"zipf", "/zipf", kText, true},
                       {"records", "/records", kCount, true},
                       {"key size", "/key_size", kCount, true},
                       {"value size", "/value_size", kCount, true},
                       {"threads", "/threads", kCount, true},
                       {"batch", "/batch", kCount, true},
                       {"seed", "/seed", kText, true},
                       {"operations/s", "/operations_per_s", kCount},
                       {"device: overwrite + sync/s", "/device_overwrites_per_s", kCount},
                       {"of device", "/share_of_device", kNumber},
                       {"p50", "/latency_us/p50", kMicros},
                       {"p99", "/latency_us/p99", kMicros},
                       {"p99.9", "/latency_us/p99_9", kMicros},
                       {"retries", "/retries", kCount},
                       {"at the crash: dirty", "/reopen/dirty_bytes", kBytes},
                       {"of cached pages", "/reopen/dirty_share", kPercent},
                       {"log", "/reopen/log_bytes", kBytes},
                       {"changes redone", "/reopen/redone_changes", kCount},
                       {"open: seconds", "/reopen/open_s", kNumber},
                       {"page map", "/reopen/layout_s", kNumber},
                       {"log read", "/reopen/log_read_s", kNumber},
                       {"redo", "/reopen/redo_s", kNumber},
                       {"undo", "/reopen/undo_s", kNumber},
                       {"checkpoint", "/reopen/checkpoint_s", kNumber},
                       {"checkpointed after", "/reopen/checkpointed_s", kNumber},
                       {"hits", "/buffer/hit_ratio", kPercent},
                       {"read", "/io/bytes_read", kBytes},
                       {"written", "/io/bytes_written", kBytes},
                       {"flash ampl.", "/io/device_write_amplification", kNumber},
                       {"log written", "/log/bytes_written", kBytes},
                       {"file", "/space/file_bytes", kBytes},
                   },
                   DeviceTimeColumns("an operation")}));
  return *columns;
}

}  // namespace latchkey
