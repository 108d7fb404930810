#include "tools/report/html_page.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tools/cli/report_kinds.h"

namespace latchkey::html_page_test {
namespace {

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

Json LayoutRow(const std::string& layout, double rate) {
  Json row = {{"layout", layout}, {"device", "memory"}, {"throughput", rate}, {"repeat", 3}};
  for (const double factor : {0.99, 1.0, 1.01}) {
    row["repetitions"].push_back({{"throughput", rate * factor}});
  }
  for (int i = 1; i <= 5; ++i) {
    row["samples"].push_back({{"end_s", i}, {"seconds", 1.0}, {"operations", rate}});
  }
  row["read_latency_us"] = {{"p50", 10}, {"p95", 20}, {"p99", 30}, {"p99_9", 40}, {"max", 50}};
  row["device_time_s"] = {{"page_read", 3.0}, {"page_write", 1.0}};
  return row;
}

ResultDocument Document(std::string name, std::vector<Json> rows, const char* schema) {
  auto document = CheckResultDocument(
      std::move(name), {{"schema", schema}, {"host", {{"cores", 2}}}, {"results", std::move(rows)}},
      ReportKinds());
  REQUIRE(document.ok());
  return *std::move(document);
}

std::string PageOf(std::vector<Json> rows) {
  const ResultDocument document = Document("one.json", std::move(rows), "latchkey.layout/1");
  return ReportPage({&document, 1});
}

TEST_CASE("A page has the comparison, charts of each kind, tables and the machine") {
  const std::string page = PageOf({LayoutRow("overwrite", 100), LayoutRow("lfs", 200)});
  for (const char* section : {"Comparison", "Figures", "Over time", "Latency", "Where it goes",
                              "All results", "Settings of every row", "Machine and build"}) {
    CAPTURE(section);
    CHECK(Count(page, "<h2>" + std::string(section) + "</h2>") == 1);
  }
  CHECK(Count(page, "<td class=\"verdict good\">faster</td>") == 1);
  // Throughput, over time, reads' latency, device time: every chart has marks.
  CHECK(Count(page, "<figure") == 4);
  CHECK(Count(page, "class=\"mark bar s0\"") == 2 + 2);
  CHECK(Count(page, "class=\"mark dot s1\"") == 5 + 5);
  CHECK(Count(page, "class=\"whisker\"") == 2 * 3);
}

TEST_CASE("A page needs nothing from elsewhere and runs nothing") {
  const std::string page = PageOf({LayoutRow("overwrite", 100)});
  for (const char* mark : {"<script", "http:", "https:", "src=", "href=", "@import", "url("}) {
    CAPTURE(mark);
    CHECK(Count(page, mark) == 0);
  }
  CHECK(Count(page, "default-src 'none'") == 1);
}

TEST_CASE("Markup in a result stays text") {
  const std::string attack = "</text></svg><script>alert(1)</script><img src=x onerror='x()'>";
  Json row = LayoutRow(attack, 100);
  row["error"] = attack;
  row["warnings"] = {attack};
  row["unsteady"] = {attack};
  row["device"] = attack;
  Json other = LayoutRow("lfs", 50);
  const ResultDocument document = Document(attack, {row, other}, "latchkey.layout/1");
  const std::string page = ReportPage({&document, 1});
  CHECK(Count(page, "<script") == 0);
  CHECK(Count(page, "<img") == 0);
  CHECK(Count(page, "&lt;script&gt;") > 5);
}

TEST_CASE("A document of odd values has a page") {
  Json odd = {{"layout", {1, 2}},           {"device", 3},
              {"throughput", "fast"},       {"samples", {{{"seconds", "x"}}, Json::object()}},
              {"device_time_s", 7},         {"read_latency_us", {{"p50", -1}, {"max", nullptr}}},
              {"write_cost", 1e308},        {"repetitions", Json::array({{{"write_cost", 1e308}}})},
              {"latency_us", Json::array()}};
  CHECK(Count(PageOf({odd, Json::object()}), "</html>") == 1);
  CHECK(Count(PageOf({}), "No results") == 1);
}

TEST_CASE("A sum far below one unit is not written as 0.00") {
  Json row = LayoutRow("lfs", 100);
  row["device_time_s"] = {{"page_read", 0.0005}, {"page_write", 0.0001}};
  CHECK(Count(PageOf({row}), ">0.0006</text>") >= 1);
}

TEST_CASE("Documents of one kind share charts, and those of another have their own part") {
  const std::vector<ResultDocument> documents = {
      Document("a.json", {LayoutRow("lfs", 100)}, "latchkey.layout/1"),
      Document("b.json", {LayoutRow("lfs", 200)}, "latchkey.layout/1"),
      Document("c.json", {{{"trace", "t"}, {"replacement", "lru"}, {"miss_ratio", 0.3}}},
               "latchkey.cachesim/1")};
  const std::string page = ReportPage(documents);
  CHECK(Count(page, "<article>") == 2);
  CHECK(Count(page, "<h3>B against A</h3>") == 1);
  CHECK(Count(page, "<b>A: a.json</b>") == 1);
  CHECK(Count(page, "class=\"mark bar s1\"") >= 1);  // the second document's colour
  CHECK(ReportPage(documents) == page);
}

TEST_CASE("A swept number is drawn as lines, one for each of the other settings") {
  std::vector<Json> rows;
  for (const char* policy : {"pg2q", "pgclock"}) {
    for (const int processors : {1, 2, 4, 8}) {
      rows.push_back(
          {{"policy", policy}, {"processors", processors}, {"accesses_per_s", 1000 * processors}});
    }
  }
  const ResultDocument document =
      Document("m.json", std::move(rows), "latchkey.contention-model/1");
  const std::string page = ReportPage({&document, 1});
  CHECK(Count(page, "<polyline") == 2);
  CHECK(Count(page, "pgclock: 8 000 at processors 8") == 1);
}

TEST_CASE("Every kind of result has figures or columns, and its own schema") {
  for (const ReportKind& kind : ReportKinds()) {
    CAPTURE(kind.schema);
    CHECK(FindReportKind(ReportKinds(), kind.schema) == &kind);
    CHECK(!kind.title.empty());
    CHECK(!kind.columns.empty());
  }
  CHECK(FindReportKind(ReportKinds(), "latchkey.run/0") == nullptr);
}

}  // namespace
}  // namespace latchkey::html_page_test
