#include "tools/cli/live_view.h"

#include <catch2/catch.hpp>
#include <string>

namespace latchkey::live_view_test {
namespace {

size_t CodePoints(const std::string& text) {
  size_t points = 0;
  for (const char byte : text) points += (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
  return points;
}

TEST_CASE("a sparkline has a bar for each of the newest values, in eighths of the largest") {
  CHECK(Sparkline({}, 10).empty());
  CHECK(Sparkline({0, 0}, 10) == "  ");
  CHECK(Sparkline({8, 4, 2, 0.01, 0}, 10) == "█▄▂▁ ");
  CHECK(Sparkline({100, 1, 2}, 2) == "▄█");
}

TEST_CASE("a live view has the rate, the latency, and what the engine did in the last second") {
  LiveView view("overwrite", "transactions");
  Statistics statistics;
  LatencySummary latency;
  latency.p50 = 20;
  latency.p99 = 850;
  std::vector<std::string> lines = view.Add(
      {.end_s = 1, .seconds = 1, .rate = 1000, .latency_us = latency}, FiguresOf(statistics), 80);
  CHECK(lines.size() == 3);  // of the engine there are no differences yet
  statistics.fixes = 1000;
  statistics.hits = 900;
  statistics.page_reads = 200;
  Statistics::Log log;
  log.syncs = 50;
  statistics.log = log;
  const LiveFigures figures = FiguresOf(statistics);
  CHECK_FALSE(figures.contains("write_cost"));
  lines = view.Add(
      {.end_s = 2, .seconds = 2, .rate = 500, .latency_us = {}, .more_us = {{"get", latency}}},
      figures, 80);
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  CAPTURE(text);
  CHECK(lines[0] == "overwrite: 2 s");
  CHECK(text.find("transactions/s              500  █▄") != std::string::npos);
  CHECK(text.find("get                       20 us  p50, p99 850 us") != std::string::npos);
  CHECK(text.find("page reads                100/s  hits 90.0 %") != std::string::npos);
  CHECK(text.find("u_d 0.000, write cost -") != std::string::npos);
  for (const std::string& line :
       view.Add({.end_s = 3, .seconds = 1, .rate = 1, .latency_us = {}}, figures, 30)) {
    CHECK(CodePoints(line) <= 30);
  }
}

TEST_CASE("of an engine without figures a live view shows rate and latency") {
  LiveView view("lmdb", "operations");
  const LiveSample sample{.end_s = 1, .seconds = 1, .rate = 1, .latency_us = {}};
  CHECK(view.Add(sample, {}, 80).size() == 3);
  CHECK(view.Add(sample, {}, 80).size() == 3);
}

}  // namespace
}  // namespace latchkey::live_view_test
