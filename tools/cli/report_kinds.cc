#include "tools/cli/report_kinds.h"

#include <utility>

#include "tools/cli/cachesim_command.h"
#include "tools/cli/contention_command.h"
#include "tools/cli/contention_model_command.h"
#include "tools/cli/trace_command.h"
#include "tools/layout_lab/lab_report.h"
#include "tools/layout_model/model_report.h"
#include "tpcc-lite/bench/bench_report.h"
#include "tpcc-lite/report/run_report.h"

namespace latchkey {
namespace {

using enum ColumnFormat;
using enum Sense;

std::vector<Column> CopyOf(std::span<const Column> columns) {
  return {columns.begin(), columns.end()};
}

/// The figures of the engine's samples (AddBufferSamples), after `first`.
std::vector<FigureOverTime> EngineOverTime(std::vector<FigureOverTime> first) {
  const FigureOverTime more[] = {
      {"Longest wait for a frame, ms", "/buffer/longest_frame_wait_ms", kNumber},
      {"Page reads per second", "/buffer/page_reads", kCount, true},
      {"Page writes per second, by the cleaner", "/buffer/async_page_writes", kCount, true},
      {"Page writes per second, by users", "/buffer/sync_page_writes", kCount, true},
      {"Sync writes, share of page I/O", "/buffer/sync_write_share_of_io", kPercent},
      {"Dirty frames", "/buffer/dirty_frames", kCount},
      {"Page cleaner's writes in flight", "/buffer/cleaner_outstanding", kNumber}};
  first.insert(first.end(), std::begin(more), std::end(more));
  return first;
}

std::vector<Breakdown> EngineBreakdowns() {
  return {{"Device time, seconds",
           kNumber,
           {{"page reads", "/layout_stats/busy_s/page_read"},
            {"page writes", "/layout_stats/busy_s/page_write"},
            {"segment reads", "/layout_stats/busy_s/segment_read"},
            {"segment writes", "/layout_stats/busy_s/segment_write"},
            {"torn-write protection", "/layout_stats/busy_s/protection"},
            {"its syncs", "/layout_stats/busy_s/protection_sync"},
            {"map and headers", "/layout_stats/busy_s/meta"}}},
          {"Pages written",
           kCount,
           {{"in place", "/layout_stats/pages_in_place"},
            {"into holes", "/layout_stats/pages_into_holes"},
            {"appended", "/layout_stats/pages_appended"},
            {"moved by segment cleaning", "/layout_stats/pages_moved"},
            {"plugged", "/layout_stats/pages_plugged"}}}};
}

ReportKind RunKind() {
  return {
      .schema = std::string(kRunSchema),
      .title = "TPC-C-lite",
      .columns = CopyOf(RunColumns()),
      .figures = {{"NewOrder/min (tpcc-lite, not TPC-C)", "/new_order_per_min", kCount, kRate},
                  {"Transactions per second", "/transactions_per_s", kCount, kRate},
                  {"NewOrder p99", "/latency_us/new_order/p99", kMicros, kTime},
                  {"Bytes written", "/io/bytes_written", kBytes, kNeutral}},
      .over_time = EngineOverTime({{"Transactions per second", "/transactions", kCount, true},
                                   {"Latency p50, all transactions", "/latency_us/p50", kMicros},
                                   {"Latency p99, all transactions", "/latency_us/p99", kMicros},
                                   {"Aborts per second", "/aborts", kCount, true}}),
      .latencies = {{"NewOrder", "/latency_us/new_order"},
                    {"Payment", "/latency_us/payment"},
                    {"OrderStatus", "/latency_us/order_status"},
                    {"Delivery", "/latency_us/delivery"},
                    {"StockLevel", "/latency_us/stock_level"}},
      .breakdowns = EngineBreakdowns()};
}

ReportKind BenchKind() {
  std::vector<Breakdown> breakdowns = EngineBreakdowns();
  breakdowns.push_back({"Reopening after a crash, seconds",
                        kNumber,
                        {{"page map", "/reopen/layout_s"},
                         {"log read", "/reopen/log_read_s"},
                         {"redo", "/reopen/redo_s"},
                         {"undo", "/reopen/undo_s"},
                         {"checkpoint", "/reopen/checkpoint_s"}}});
  return {.schema = std::string(kBenchSchema),
          .title = "KV benchmark",
          .columns = CopyOf(BenchColumns()),
          .figures = {{"Operations per second", "/operations_per_s", kCount, kRate},
                      {"Latency p99", "/latency_us/p99", kMicros, kTime},
                      {"Share of the device's rate of overwrites with sync", "/share_of_device",
                       kNumber, kGain},
                      {"Reopening after a crash, seconds", "/reopen/open_s", kNumber, kTime},
                      {"Redo, seconds", "/reopen/redo_s", kNumber, kTime}},
          .over_time = EngineOverTime({{"Operations per second", "/operations", kCount, true},
                                       {"Latency p50", "/latency_us/p50", kMicros},
                                       {"Latency p99", "/latency_us/p99", kMicros}}),
          .latencies = {{"Operation", "/latency_us"}},
          .breakdowns = std::move(breakdowns)};
}

ReportKind LayoutKind() {
  return {.schema = std::string(kLayoutSchema),
          .title = "Layout laboratory",
          .columns = CopyOf(LabColumns()),
          .figures = {{"Pages per second, read and written", "/throughput", kCount, kRate},
                      {"Write cost", "/write_cost", kNumber, kCost},
                      {"Write amplification", "/write_amplification", kNumber, kCost},
                      {"Cleaning utilisation u", "/cleaning_utilization", kNumber, kCost},
                      {"Segment I/O efficiency eta", "/segment_io_efficiency", kNumber, kNeutral},
                      {"Longest wait, ms", "/longest_wait_ms", kNumber, kTime}},
          .over_time = {{"Pages per second", "/operations", kCount, true}},
          .latencies = {{"Page reads", "/read_latency_us"}, {"Page writes", "/write_latency_us"}},
          .breakdowns = {{"Device time, seconds",
                          kNumber,
                          {{"page reads", "/device_time_s/page_read"},
                           {"page writes", "/device_time_s/page_write"},
                           {"plugged pages", "/device_time_s/plug_write"},
                           {"segment reads", "/device_time_s/segment_read"},
                           {"segment writes", "/device_time_s/segment_write"},
                           {"torn-write protection", "/device_time_s/protection"},
                           {"its syncs", "/device_time_s/protection_sync"},
                           {"map and headers", "/device_time_s/meta"}}},
                         {"Pages written",
                          kCount,
                          {{"in place", "/pages_written/in_place"},
                           {"into holes", "/pages_written/into_holes"},
                           {"appended", "/pages_written/appended"},
                           {"moved by segment cleaning", "/pages_written/moved"},
                           {"plugged", "/pages_written/plugged"}}}}};
}

ReportKind ModelKind() {
  return {.schema = std::string(kModelSchema),
          .title = "Write cost model",
          .columns = CopyOf(ModelColumns()),
          .figures = {{"Write cost of overwrite", "/cost/overwrite", kNumber, kCost},
                      {"Write cost of lfs, cleaning", "/cost/lfs_cleaning", kNumber, kCost},
                      {"Write cost of lfs, plugging", "/cost/lfs_plugging", kNumber, kCost},
                      {"Write cost of hylog", "/cost/hylog", kNumber, kCost},
                      {"Best share of hot pages, hylog", "/best_hot_proportion", kShare, kNeutral},
                      {"Cleaning utilisation u", "/u", kShare, kCost}},
          .exact = true};
}

ReportKind CacheSimKind() {
  return {.schema = kCacheSimSchema,
          .title = "Cache simulation",
          .columns = CopyOf(CacheSimColumns()),
          .figures = {{"Miss ratio", "/miss_ratio", kPercent, kCost},
                      {"Cache speedup", "/cache_speedup", kNumber, kGain},
                      {"Speedup over random", "/speedup_over_random", kNumber, kGain},
                      {"Dirty writes", "/dirty_writes", kCount, kCost}},
          .exact = true};
}

const ReportFigure kAccessRate = {"Accesses per second", "/accesses_per_s", kCount, kRate};
const ReportFigure kContentions = {"Contentions per million accesses", "/contentions_per_million",
                                   kNumber, kCost};

ReportKind ContentionKind() {
  return {.schema = kContentionSchema,
          .title = "Contention",
          .columns = CopyOf(ContentionColumns()),
          .figures = {kAccessRate,
                      kContentions,
                      {"Hit ratio", "/hit_ratio", kPercent, kGain},
                      {"Lock requests per million accesses", "/locks_per_million", kCount, kCost},
                      {"Wait for the lock, ns per access", "/wait_ns_per_access", kNumber, kTime},
                      {"Lock held, ns per access", "/held_ns_per_access", kNumber, kTime}}};
}

ReportKind ContentionModelKind() {
  return {.schema = kContentionModelSchema,
          .title = "Contention on a modelled machine",
          .columns = CopyOf(ContentionModelColumns()),
          .figures = {kAccessRate,
                      kContentions,
                      {"Hit ratio", "/hit_ratio", kPercent, kGain},
                      {"Lock requests per million accesses", "/locks_per_million", kCount, kCost}},
          .exact = true};
}

ReportKind SensitivityKind() {
  return {.schema = kSensitivitySchema,
          .title = "Contention: statements and the costs that turn them",
          .columns = CopyOf(SensitivityColumns()),
          .exact = true};
}

ReportKind TraceInfoKind() {
  return {.schema = kTraceInfoSchema,
          .title = "Trace of page fixes",
          .columns = CopyOf(TraceInfoColumns()),
          .figures = {{"Share of the fixes", "/share", kPercent, kNeutral},
                      {"Fixes per transaction", "/fixes_per_unit", kNumber, kNeutral}},
          .breakdowns = {{"Fixes",
                          kCount,
                          {{"shared", "/shared"}, {"exclusive", "/exclusive"}, {"new", "/new"}}}},
          .exact = true};
}

ReportKind TraceDepthKind() {
  return {.schema = kTraceDepthSchema,
          .title = "Trace: LRU stack depths",
          .columns = CopyOf(TraceDepthColumns()),
          .figures = {{"Hit ratio of LRU", "/hit_ratio", kPercent, kGain}},
          .exact = true};
}

ReportKind TraceSkewKind() {
  return {.schema = kTraceSkewSchema,
          .title = "Trace: skew",
          .columns = CopyOf(TraceSkewColumns()),
          .figures = {{"Share of the fixes", "/fixes_share", kPercent, kNeutral}},
          .exact = true};
}

}  // namespace

std::span<const ReportKind> ReportKinds() {
  static const auto* const kinds = new std::vector<ReportKind>{
      RunKind(),       BenchKind(),      LayoutKind(),          ModelKind(),
      CacheSimKind(),  ContentionKind(), ContentionModelKind(), SensitivityKind(),
      TraceInfoKind(), TraceDepthKind(), TraceSkewKind()};
  return *kinds;
}

}  // namespace latchkey
