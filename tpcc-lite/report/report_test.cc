#include <catch2/catch.hpp>
#include <vector>

#include "tpcc-lite/report/csv.h"
#include "tpcc-lite/report/device_time.h"
#include "tpcc-lite/report/environment.h"
#include "tpcc-lite/report/run_report.h"
#include "tpcc-lite/report/spread.h"
#include "tpcc-lite/report/steadiness.h"
#include "tpcc-lite/report/table.h"

namespace latchkey::report_test {
namespace {

const std::vector<std::string> kRate = {"/rate"};

TEST_CASE("The median is the middle value, or the mean of the two in the middle") {
  CHECK(Median({7}) == 7);
  CHECK(Median({9, 1, 5}) == 5);
  CHECK(Median({4, 1, 3, 2}) == 2.5);
}

TEST_CASE("Repetitions combine into medians, with the median repetition's texts and samples") {
  const std::vector<Json> runs = {
      {{"rate", 10.0}, {"count", 4}, {"name", "x"}, {"samples", {1}}, {"gone", nullptr}},
      {{"rate", 30.0}, {"count", 6}, {"name", "x"}, {"samples", {3}}, {"gone", nullptr}},
      {{"rate", 20.0}, {"count", nullptr}, {"name", "x"}, {"samples", {2}}, {"gone", nullptr}}};
  const Json combined = CombineRepetitions(runs, kRate);
  CHECK(combined["rate"] == 20.0);
  CHECK(combined["count"] == 5);
  CHECK(combined["gone"].is_null());
  CHECK(combined["samples"] == Json({2}));
  CHECK(combined["repeat"] == 3);
  CHECK(combined["repetitions"].size() == 3);
  CHECK(combined["repetitions"][1]["rate"] == 30.0);
  CHECK(combined["repetitions"][1]["samples"] == Json({3}));
  CHECK(combined["spread"]["rate"]["min"] == 10.0);
  CHECK(combined["spread"]["rate"]["max"] == 30.0);
  CHECK(combined["spread"]["rate"]["half_range"] == 0.5);
}

TEST_CASE("A spread around next to nothing is no share of it: null, and a dash in the table") {
  const std::vector<Json> runs = {{{"rate", 0.001}, {"engine", "x"}},
                                  {{"rate", 900.0}, {"engine", "x"}},
                                  {{"rate", 0.0}, {"engine", "x"}}};
  const Json combined = CombineRepetitions(runs, kRate);
  CHECK(combined["spread"]["rate"]["half_range"].is_null());
  CHECK(combined["spread"]["rate"]["max"] == 900.0);
  const std::vector<Column> columns = {{"engine", "/engine", ColumnFormat::kText, true},
                                       {"rate", "/rate", ColumnFormat::kNumber}};
  CHECK(ToTable(std::vector<Json>{combined}, columns) ==
        "engine         rate\n"
        "-------------------\n"
        "x              0.00\n"
        "  spread of 3     -\n");
}

TEST_CASE("The spread of what nobody measured is null") {
  const std::vector<Json> runs = {{{"rate", nullptr}}, {{"rate", nullptr}}};
  const Json combined = CombineRepetitions(runs, kRate);
  CHECK(combined["rate"].is_null());
  CHECK(combined["spread"]["rate"].is_null());
}

TEST_CASE("CSV fields are quoted when they must be") {
  CHECK(CsvField("plain") == "plain");
  CHECK(CsvField("a,b") == "\"a,b\"");
  CHECK(CsvField("say \"x\"") == "\"say \"\"x\"\"\"");
  CHECK(CsvField("two\nlines") == "\"two\nlines\"");
}

TEST_CASE("CSV has the union of all fields, nested by path, and nothing for null") {
  const std::vector<Json> results = {
      {{"engine", "a"},
       {"io", {{"reads", 3}}},
       {"warnings", {"w, 1", "w2"}},
       {"samples", {{{"s", 1}}}}},
      {{"engine", "b"}, {"io", {{"reads", nullptr}}}, {"late", true}}};
  CHECK(ToCsv(results) ==
        "engine,io.reads,warnings,late\n"
        "a,3,\"w, 1; w2\",\n"
        "b,,,true\n");
}

TEST_CASE("Values are written in the format of their column, null as a dash") {
  CHECK(FormatValue(nullptr, ColumnFormat::kCount) == "-");
  CHECK(FormatValue(1234567.4, ColumnFormat::kCount) == "1 234 567");
  CHECK(FormatValue(999, ColumnFormat::kCount) == "999");
  CHECK(FormatValue(4096, ColumnFormat::kBytes) == "4 KiB");
  CHECK(FormatValue(1610612736, ColumnFormat::kBytes) == "1.50 GiB");
  CHECK(FormatValue(0.9734, ColumnFormat::kPercent) == "97.3 %");
  CHECK(FormatValue(0.80693, ColumnFormat::kShare) == "0.8069");
  CHECK(FormatValue(850.2, ColumnFormat::kMicros) == "850 us");
  CHECK(FormatValue(1250, ColumnFormat::kMicros) == "1.25 ms");
  CHECK(FormatValue("auto", ColumnFormat::kBytes) == "auto");
  CHECK(FormatValue(0.8, ColumnFormat::kText) == "0.8");
}

const std::vector<Column> kColumns = {{"engine", "/engine", ColumnFormat::kText, true},
                                      {"users", "/users", ColumnFormat::kCount, true},
                                      {"rate/s", "/rate", ColumnFormat::kCount},
                                      {"never", "/never", ColumnFormat::kCount}};

TEST_CASE("The table shows what differs in columns and what is common above them") {
  const std::vector<Json> results = {{{"engine", "latchkey"}, {"users", 2}, {"rate", 84000.0}},
                                     {{"engine", "rocksdb"}, {"users", 2}, {"rate", nullptr}}};
  CHECK(ToTable(results, kColumns) ==
        "Every row: users 2\n"
        "\n"
        "engine    rate/s\n"
        "----------------\n"
        "latchkey  84 000\n"
        "rocksdb        -\n");
}

TEST_CASE("A setting that only some engines have is common when they agree") {
  const std::vector<Json> results = {{{"engine", "latchkey"}, {"users", 2}, {"rate", 1.0}},
                                     {{"engine", "rocksdb"}, {"users", nullptr}, {"rate", 2.0}}};
  CHECK(ToTable(results, kColumns) ==
        "Every row but rocksdb: users 2\n"
        "\n"
        "engine    rate/s\n"
        "----------------\n"
        "latchkey       1\n"
        "rocksdb        2\n");
}

TEST_CASE("Repeated results have a row of spreads below them") {
  const std::vector<Json> runs = {{{"engine", "x"}, {"users", 1}, {"rate", 90.0}},
                                  {{"engine", "x"}, {"users", 1}, {"rate", 110.0}}};
  const std::vector<Json> results = {CombineRepetitions(runs, kRate)};
  CHECK(ToTable(results, kColumns) ==
        "Every row: users 1\n"
        "\n"
        "engine           rate/s\n"
        "-----------------------\n"
        "x                   100\n"
        "  spread of 2  +-10.0 %\n");
}

size_t WidestLine(const std::string& text) {
  size_t widest = 0;
  for (size_t from = 0; from < text.size();) {
    const size_t end = text.find('\n', from);
    widest = std::max(widest, end - from);
    from = end + 1;
  }
  return widest;
}

TEST_CASE("A table fits a narrow terminal and uses a wide one") {
  std::vector<Column> columns = {{"engine", "/engine", ColumnFormat::kText, true}};
  Json row = {{"engine", "latchkey"}};
  for (int i = 0; i < 20; ++i) {
    columns.push_back({"figure " + std::to_string(i), "/f", ColumnFormat::kCount});
  }
  row["f"] = 123456789;
  for (const size_t width : {40, 60, 80, 100, 120, 200}) {
    CAPTURE(width);
    const std::string table = ToTable(std::vector<Json>{row}, columns, width);
    CHECK(WidestLine(table) <= width);
    CHECK(WidestLine(table) > width / 2);
    // No column is lost: each value stands in one of the blocks.
    size_t values = 0;
    for (size_t at = table.find("123 456 789"); at != std::string::npos;
         at = table.find("123 456 789", at + 1)) {
      ++values;
    }
    CHECK(values == 20);
  }
}

TEST_CASE("A table wider than 100 columns breaks its headers, and then its columns into blocks") {
  std::vector<Column> columns = {{"engine", "/engine", ColumnFormat::kText, true}};
  Json row = {{"engine", "latchkey"}};
  for (int i = 0; i < 9; ++i) {
    const std::string name = "f" + std::to_string(i);
    columns.push_back({"a long title " + name, "/" + name, ColumnFormat::kCount});
    row[name] = 123456789;
  }
  Json other = row;
  other["engine"] = "rocksdb";
  const std::string table = ToTable(std::vector<Json>{row, other}, columns);
  CHECK(WidestLine(table) <= kTableWidth);
  const auto lines = std::count(table.begin(), table.end(), '\n');
  CHECK(table.starts_with(std::string(15, ' ') + "a long       a long"));
  CHECK(table.find("\nengine       title f0     title f1") != std::string::npos);
  CHECK(table.find("\nengine       title f7     title f8\n") != std::string::npos);
  CHECK(lines == 2 * 5 + 1);
}

TEST_CASE("What stands above the table is broken into lines of 100 columns, too") {
  std::vector<Column> columns = {{"engine", "/engine", ColumnFormat::kText, true}};
  Json row = {{"engine", "x"}};
  for (int i = 0; i < 20; ++i) {
    const std::string name = "setting " + std::to_string(i);
    columns.push_back({name, "/" + name, ColumnFormat::kText, true});
    row[name] = "value";
  }
  const std::string table = ToTable(std::vector<Json>{row}, columns);
  CHECK(table.find("Every row: setting 0 value, ") == 0);
  CHECK(table.find("\n  setting ") != std::string::npos);
  for (size_t from = 0; from < table.size(); from = table.find('\n', from) + 1) {
    CHECK(table.find('\n', from) - from <= kTableWidth);
  }
}

Json SteadinessOf(std::vector<int> counts, Json others = Json::object()) {
  Json row = {{"engine", "x"}, {"things_per_s", 5.0}, {"samples", Json::array()}};
  for (const int count : counts) row["samples"].push_back({{"seconds", 1.0}, {"things", count}});
  row.update(others);
  AddSteadiness(row, "/things_per_s");
  return row;
}

TEST_CASE("A row that drifts from its first half to its second is not steady") {
  CHECK(SteadinessOf({100, 100, 96, 96})["steady"] == true);
  const Json slower = SteadinessOf({100, 100, 60, 60});
  CHECK(slower["drift"].get<double>() == Approx(-0.4));
  CHECK(slower["steady"] == false);
  CHECK(slower["unsteady"][0] ==
        "second half 40 % slower than the first, limit 10 %: give a longer --duration or --warmup");
  // The middle sample lies half in each half.
  CHECK(SteadinessOf({100, 100, 80, 60, 60})["drift"].get<double>() == Approx(160.0 / 240 - 1));
  // Too short for halves.
  CHECK(SteadinessOf({100, 10})["drift"].is_null());
  CHECK(SteadinessOf({100, 10})["steady"] == true);
}

TEST_CASE("Repetitions far apart and a log whose cleaning has not begun are not steady") {
  const std::vector<int> even = {5, 5, 5, 5};
  CHECK(
      SteadinessOf(even, {{"spread", {{"things_per_s", {{"half_range", 0.14}}}}}})["unsteady"][0] ==
      "repetitions +-14 %, limit 10 %: give a higher --repeat or a longer --duration");
  CHECK(SteadinessOf(even, {{"layout_stats", {{"steady", false}}}})["steady"] == false);
  CHECK(SteadinessOf(even, {{"layout_stats", {{"steady", nullptr}}}})["steady"] == true);
  CHECK(SteadinessOf(even, {{"things_per_s", nullptr}})["steady"].is_null());
}

TEST_CASE("A rate of zero is not steady") {
  const Json row = SteadinessOf({0, 0, 0, 0}, {{"things_per_s", 0.0}});
  CHECK(row["steady"] == false);
  CHECK(row["unsteady"] == Json{"nothing was counted: give a longer --duration"});
}

TEST_CASE("A row of the layout laboratory is told the flags that its verb has") {
  Json row = {{"throughput", 5.0}, {"samples", Json::array()}};
  for (const int count : {100, 100, 60, 60}) {
    row["samples"].push_back({{"seconds", 1.0}, {"operations", count}});
  }
  row["spread"] = {{"throughput", {{"half_range", 0.14}}}};
  AddSteadiness(row, "/throughput");
  CHECK(row["unsteady"] ==
        Json{"second half 40 % slower than the first, limit 10 %: give a larger --measure or "
             "--warmup",
             "repetitions +-14 %, limit 10 %: give a higher --repeat or a larger --measure"});
}

TEST_CASE("Rows that are not steady are named as the table names them") {
  std::vector<Json> rows = {SteadinessOf({9, 9, 1, 1}), SteadinessOf({5, 5, 5, 5})};
  rows[0]["layout"] = "lfs";
  rows[1]["layout"] = "hylog";
  const std::vector<Column> columns = {{"engine", "/engine", ColumnFormat::kText, true},
                                       {"layout", "/layout", ColumnFormat::kText, true},
                                       {"rate", "/things_per_s", ColumnFormat::kNumber}};
  CHECK(
      DescribeUnsteady(rows, columns) ==
      std::vector<std::string>{"x, lfs: second half 89 % slower than the first, limit 10 %: give a "
                               "longer --duration or --warmup"});
}

TEST_CASE("A text is cut between code points") {
  CHECK(CutText("a\u2581b", 2) == "a\u2581");
  CHECK(CutText("ab", 2) == "ab");
  CHECK(CutText("ab", 0).empty());
}

TEST_CASE("Cells wider than the table break into blocks, each with the leading columns") {
  CHECK(FitCells({{"name", "long title", "x"}, {"one", "22", "3333333"}}, {false, true, true}, 1,
                 14) ==
        "       long\nname  title\n-----------\none      22\n\n"
        "name        x\n-------------\none   3333333\n");
}

TEST_CASE("An empty result list is said to be empty") {
  CHECK(ToTable({}, kColumns) == "(no results: no run has ended)\n");
}

RunRecord RecordOf(const char* engine) {
  RunRecord record;
  record.settings.engine = engine;
  record.config.warehouses = 3;
  return record;
}

// The fields that the schema promises, at the top and inside its blocks.
const std::vector<const char*> kFields = {"/engine",
                                          "/layout",
                                          "/replacement",
                                          "/synchronization",
                                          "/fix",
                                          "/page_in",
                                          "/cleaner",
                                          "/cleaners",
                                          "/cleaning_scope",
                                          "/victims",
                                          "/eviction_batch",
                                          "/change_buffer_bytes",
                                          "/device",
                                          "/space_utilization",
                                          "/torn_write_protection",
                                          "/warehouses",
                                          "/users",
                                          "/cache_bytes",
                                          "/page_size",
                                          "/durability",
                                          "/snapshot",
                                          "/held_snapshots/scans",
                                          "/held_snapshots/rows_per_scan",
                                          "/held_snapshots/ended_early",
                                          "/backup",
                                          "/backups/finished",
                                          "/backups/bytes",
                                          "/backups/mb_per_s",
                                          "/seed",
                                          "/duration_s",
                                          "/new_order_per_min",
                                          "/transactions_per_s",
                                          "/aborts",
                                          "/latency_us/new_order/p50",
                                          "/latency_us/payment/p95",
                                          "/latency_us/order_status/p99",
                                          "/latency_us/delivery/p99_9",
                                          "/latency_us/stock_level/max",
                                          "/buffer/hit_ratio",
                                          "/buffer/sync_write_proportion",
                                          "/buffer/dirty_proportion",
                                          "/buffer/cleaner_outstanding",
                                          "/buffer/locks_per_million",
                                          "/buffer/contentions_per_million",
                                          "/buffer/fixes",
                                          "/buffer/leaf_fixes",
                                          "/buffer/inner_fixes",
                                          "/buffer/scouting_fixes",
                                          "/buffer/demand_reads",
                                          "/buffer/ahead_reads",
                                          "/buffer/wasted_reads",
                                          "/buffer/change_reads",
                                          "/buffer/change_buffer_puts",
                                          "/buffer/failed_page_ins",
                                          "/buffer/new_pages",
                                          "/layout_stats/write_cost",
                                          "/layout_stats/segment_io_efficiency",
                                          "/layout_stats/cleaning_utilization",
                                          "/layout_stats/hot_page_proportion",
                                          "/layout_stats/write_amplification",
                                          "/layout_stats/min_space_utilization",
                                          "/layout_stats/max_space_utilization",
                                          "/layout_stats/effective_space_utilization",
                                          "/layout_stats/pages_in_place",
                                          "/layout_stats/pages_into_holes",
                                          "/layout_stats/pages_appended",
                                          "/layout_stats/pages_moved",
                                          "/layout_stats/pages_plugged",
                                          "/layout_stats/protection_bytes",
                                          "/layout_stats/protection_syncs",
                                          "/layout_stats/mean_segment_write_bytes",
                                          "/layout_stats/busy_s",
                                          "/layout_stats/steady",
                                          "/io/reads",
                                          "/io/writes",
                                          "/io/bytes_read",
                                          "/io/bytes_written",
                                          "/io/user_bytes_written",
                                          "/io/device_write_amplification",
                                          "/device_time/reads",
                                          "/device_time/read_bytes",
                                          "/device_time/read_us",
                                          "/device_time/writes",
                                          "/device_time/written_bytes",
                                          "/device_time/write_us",
                                          "/device_time/us",
                                          "/device_time/operations_per_s",
                                          "/device_time/reached",
                                          "/log/record_bytes",
                                          "/log/bytes_written",
                                          "/log/syncs",
                                          "/log/file_bytes",
                                          "/log/checkpoints",
                                          "/space/live_bytes",
                                          "/space/file_bytes",
                                          "/consistency/checked",
                                          "/consistency/violated",
                                          "/samples"};

TEST_CASE("A run's result has every field of the schema") {
  const Json json = RunToJson(RecordOf("latchkey"));
  for (const char* field : kFields) {
    CAPTURE(field);
    CHECK(json.contains(Json::json_pointer(field)));
  }
}

// A row of 200 operations in 2 seconds, with `scale` times as many requests as a row of scale 1.
Json RowOfDevice(double scale) {
  return {
      {"operations", 200},
      {"duration_s", 2.0},
      {"io",
       {{"reads", 300 * scale},
        {"writes", 100 * scale},
        {"bytes_read", 300 * 4096 * scale},
        {"bytes_written", 100 * 8192 * scale},
        {"device_busy_s", 1.8 * scale}}},
      {"layout_stats", {{"busy_s", {{"page_read", 1.0 * scale}, {"segment_read", 0.2 * scale}}}}}};
}

Json DeviceTimeOf(Json row) {
  AddDeviceTime("operations", row);
  return row["device_time"];
}

TEST_CASE("The device time of an operation is that of its reads and writes") {
  const Json time = DeviceTimeOf(RowOfDevice(1));
  CHECK(time["reads"] == 1.5);
  CHECK(time["read_bytes"] == 1.5 * 4096);
  CHECK(time["read_us"].get<double>() == Approx(4000));
  CHECK(time["writes"] == 0.5);
  CHECK(time["written_bytes"] == 0.5 * 8192);
  CHECK(time["write_us"].get<double>() == Approx(6000));
  CHECK(time["us"].get<double>() == Approx(1.5 * 4000 + 0.5 * 6000));
  CHECK(time["operations_per_s"].get<double>() == Approx(200 / 1.8));
  CHECK(time["reached"].get<double>() == Approx(0.9));
}

TEST_CASE("Operations that found everything in the cache took no time of the device") {
  const Json time = DeviceTimeOf(RowOfDevice(0));
  CHECK(time["reads"] == 0);
  CHECK(time["us"] == 0);
  CHECK(time["reached"] == 0);
  CHECK(time["read_us"].is_null());
  CHECK(time["operations_per_s"].is_null());
}

TEST_CASE("Without operations, or figures of the device, the device time is null") {
  for (const char* field : {"/operations", "/io/device_busy_s", "/layout_stats/busy_s"}) {
    CAPTURE(field);
    Json row = RowOfDevice(1);
    row[Json::json_pointer(field)] = nullptr;
    const Json time = DeviceTimeOf(std::move(row));
    CHECK(time["reads"].is_null());
    CHECK(time["us"].is_null());
  }
}

TEST_CASE("What was not measured is null, never 0") {
  const Json json = RunToJson(RecordOf("rocksdb"));
  for (const char* field :
       {"/layout", "/replacement", "/cleaners", "/space_utilization", "/duration_s",
        "/new_order_per_min", "/aborts", "/latency_us/payment/p99", "/buffer/hit_ratio",
        "/layout_stats/write_cost", "/layout_stats/steady", "/io/reads", "/io/bytes_written",
        "/log/bytes_written", "/space/live_bytes", "/consistency/checked"}) {
    CAPTURE(field);
    CHECK(json.at(Json::json_pointer(field)).is_null());
  }
  CHECK(json["warehouses"] == 3);
}

TEST_CASE("A run's figures are those of its measured part alone") {
  RunRecord record = RecordOf("latchkey");
  record.settings.traits.techniques = true;
  record.settings.kv.page_size = 4096;
  record.result = TpccResult();
  record.result->duration_s = 2;
  record.result->types[0].commits = 100;
  Statistics begin, end;
  begin.hits = 100, begin.misses = 100, begin.reads = 7, begin.user_page_writes = 1;
  end.hits = 190, end.misses = 110, end.reads = 10, end.user_page_writes = 3;
  end.sync_page_writes = 1, end.async_page_writes = 1, end.demand_reads = 5, end.ahead_reads = 3;
  end.policy_lock_acquisitions = 20, end.policy_lock_contentions = 5;
  record.begin = KvStatistics();
  record.begin->latchkey = begin;
  record.end = KvStatistics();
  record.end->latchkey = end;
  const Json json = RunToJson(record);
  CHECK(json["transactions_per_s"] == 50.0);
  CHECK(json["new_order_per_min"] == 3000.0);
  CHECK(json["buffer"]["hit_ratio"] == 0.9);
  CHECK(json["buffer"]["sync_write_proportion"] == 0.5);
  CHECK(json["buffer"]["sync_write_share_of_io"] == 0.1);
  CHECK(json["buffer"]["ahead_reads"] == 3);
  CHECK(json["buffer"]["locks_per_million"] == 200'000.0);
  CHECK(json["buffer"]["contentions_per_million"] == 50'000.0);
  CHECK(json["io"]["reads"] == 3);
  CHECK(json["io"]["user_bytes_written"] == 8192);
  CHECK(json["io"]["device_write_amplification"].is_null());
  CHECK(json["latency_us"]["new_order"]["p99"].is_null());
  CHECK(json["layout"] == "overwrite");
}

TEST_CASE("The write amplification of flash is that of the measured part") {
  RunRecord record = RecordOf("latchkey");
  MediumStats begin, end;
  begin.host_pages_written = 100, begin.moved_pages = 900;
  end.host_pages_written = 200, end.moved_pages = 950;
  record.begin = KvStatistics();
  record.begin->medium = begin;
  record.end = KvStatistics();
  record.end->medium = end;
  CHECK(RunToJson(record)["io"]["device_write_amplification"] == 1.5);
}

TEST_CASE("The document names its schema, the build and the host") {
  const std::vector<Json> results = {RunToJson(RecordOf("latchkey"))};
  const Json document = MakeDocument(kRunSchema, ".", results);
  CHECK(document["schema"] == "latchkey.run/1");
  CHECK(document["results"].size() == 1);
  for (const char* field :
       {"/build/version", "/build/revision", "/build/compiler", "/build/type", "/build/libraries",
        "/host/cpu", "/host/cores", "/host/memory_bytes", "/host/kernel", "/host/file_system"}) {
    CAPTURE(field);
    CHECK(document.contains(Json::json_pointer(field)));
  }
}

}  // namespace
}  // namespace latchkey::report_test
