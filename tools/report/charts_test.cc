#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "tools/report/axis.h"
#include "tools/report/bar_chart.h"
#include "tools/report/html_text.h"
#include "tools/report/line_chart.h"
#include "tools/report/svg.h"

namespace latchkey::charts_test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// The values of an attribute in `svg`, of elements that have `css` as their first class.
std::vector<double> Attribute(const std::string& svg, const std::string& css,
                              const std::string& name) {
  std::vector<double> values;
  for (size_t at = svg.find("class=\"" + css); at != std::string::npos;
       at = svg.find("class=\"" + css, at + 1)) {
    const size_t from = svg.find(" " + name + "=\"", at) + name.size() + 3;
    values.push_back(std::stod(svg.substr(from, svg.find('"', from) - from)));
  }
  return values;
}

TEST_CASE("Text of results is no markup") {
  CHECK(EscapeHtml("<script>alert('x') & \"y\"</script>") ==
        "&lt;script&gt;alert(&#39;x&#39;) &amp; &quot;y&quot;&lt;/script&gt;");
  CHECK(EscapeHtml("a\tb\nc") == "a\tb\nc");
  CHECK(EscapeHtml("gr\xC3\xBC\xC3\x9F"
                   "e \xE2\x82\xAC \xF0\x9F\x94\x91") ==
        "gr\xC3\xBC\xC3\x9F"
        "e \xE2\x82\xAC \xF0\x9F\x94\x91");
}

TEST_CASE("Bytes that are no text of HTML become replacement characters") {
  const std::string bad = "\xEF\xBF\xBD";
  CHECK(EscapeHtml(std::string_view("\0\x01\x1B\x7F", 4)) == bad + bad + bad + bad);
  CHECK(EscapeHtml("\xFF") == bad);
  CHECK(EscapeHtml("\xC3") == bad);                      // cut
  CHECK(EscapeHtml("\xC0\xAF") == bad + bad);            // overlong
  CHECK(EscapeHtml("\xED\xA0\x80") == bad + bad + bad);  // a surrogate
  CHECK(EscapeHtml("\xF4\x90\x80\x80<") == bad + bad + bad + bad + "&lt;");
}

TEST_CASE("Short values have their unit and at most three digits") {
  CHECK(FormatShort(0, ColumnFormat::kCount) == "0");
  CHECK(FormatShort(20'000, ColumnFormat::kCount) == "20 k");
  CHECK(FormatShort(1'250'000, ColumnFormat::kCount) == "1.25 M");
  CHECK(FormatShort(999.9, ColumnFormat::kCount) == "1 k");
  CHECK(FormatShort(-1500, ColumnFormat::kCount) == "-1.5 k");
  CHECK(FormatShort(0.25, ColumnFormat::kNumber) == "0.25");
  CHECK(FormatShort(0.3, ColumnFormat::kPercent) == "30 %");
  CHECK(FormatShort(0, ColumnFormat::kPercent) == "0 %");
  CHECK(FormatShort(1536, ColumnFormat::kBytes) == "1.5 KiB");
  CHECK(FormatShort(850, ColumnFormat::kMicros) == "850 us");
  CHECK(FormatShort(1250, ColumnFormat::kMicros) == "1.25 ms");
  CHECK(FormatShort(kNan, ColumnFormat::kCount) == "-");
}

TEST_CASE("A linear axis begins at 0 and has round ticks up to the largest value") {
  const Axis axis = Axis::Linear({3, 17'300}, ColumnFormat::kCount);
  CHECK(axis.ticks() == std::vector<double>{0, 5000, 10'000, 15'000, 20'000});
  CHECK(axis.Share(0) == 0);
  CHECK(axis.Share(20'000) == 1);
  CHECK(axis.Share(5000) == Approx(0.25));
  CHECK(axis.Label(5000) == "5 k");
}

TEST_CASE("Ticks of bytes are round in binary units") {
  const Axis axis = Axis::Linear({3.5 * 1024 * 1024}, ColumnFormat::kBytes);
  CHECK(axis.Label(axis.ticks().at(1)) == "1 MiB");
}

TEST_CASE("An axis of negative values, of zeros, of nothing and of extremes has ticks") {
  const Axis negative = Axis::Linear({-3, 5}, ColumnFormat::kNumber);
  CHECK(negative.low() <= -3);
  CHECK(negative.high() >= 5);
  CHECK(std::count(negative.ticks().begin(), negative.ticks().end(), 0.0) == 1);
  for (const std::vector<double>& values :
       {std::vector<double>{}, {0}, {0, 0}, {-4}, {1e-12}, {9e99}, {-9e99, 9e99}, {1e-320}}) {
    CAPTURE(values.size());
    const Axis axis = Axis::Linear(values, ColumnFormat::kNumber);
    CHECK(axis.ticks().size() >= 2);
    CHECK(axis.ticks().size() <= 8);
    for (const double value : values) {
      CHECK(axis.Share(value) >= 0);
      CHECK(axis.Share(value) <= 1);
    }
  }
}

TEST_CASE("A logarithmic axis spans decades") {
  const Axis axis = Axis::Logarithmic({11, 16'000}, ColumnFormat::kMicros);
  CHECK(axis.ticks() == std::vector<double>{10, 100, 1000, 10'000, 100'000});
  CHECK(axis.Share(1000) == Approx(0.5));
  CHECK(axis.Label(1000) == "1 ms");
  CHECK(Axis::Logarithmic({100}, ColumnFormat::kMicros).ticks().size() == 2);
  CHECK(Axis::Logarithmic({1e-9, 1e9}, ColumnFormat::kMicros).ticks().size() <= 7);
}

BarChart Bars(std::vector<double> values) {
  BarChart chart{.title = "rates"};
  for (const double value : values) {
    chart.bars.push_back({.label = "row", .value = "v", .parts = {{value, 0, "a tip"}}});
  }
  return chart;
}

TEST_CASE("Every bar has a mark in proportion to its value") {
  const std::string svg = DrawBars(Bars({50, 100, 0}));
  const std::vector<double> widths = Attribute(svg, "mark bar", "width");
  REQUIRE(widths.size() == 3);
  CHECK(widths[1] == Approx(2 * widths[0]).margin(0.02));
  CHECK(widths[2] == 1);  // a zero is seen
  CHECK(Count(svg, "<title>a tip</title>") == 3);
}

TEST_CASE("A negative bar lies left of zero") {
  const std::string svg = DrawBars(Bars({-50, 100}));
  const std::vector<double> left = Attribute(svg, "mark bar", "x");
  const std::vector<double> width = Attribute(svg, "mark bar", "width");
  CHECK(left[0] + width[0] == Approx(left[1]).margin(0.02));
  CHECK(width[1] == Approx(2 * width[0]).margin(0.02));
}

TEST_CASE("A chart without a value that can be drawn is no chart") {
  CHECK(DrawBars({}).empty());
  CHECK(DrawBars(Bars({kNan, kInfinity, 1e300})).empty());
  CHECK(DrawLines({}).empty());
  CHECK(DrawLines({.series = {{.name = "x", .points = {{0, kNan, {}, ""}}}}}).empty());
  CHECK(DrawLines({.logarithmic = true, .series = {{.name = "x", .points = {{0, 0, {}, ""}}}}})
            .empty());
}

TEST_CASE("Absent bars keep their label beside those that have a mark") {
  const std::string svg = DrawBars(Bars({kNan, 5}));
  CHECK(Count(svg, "class=\"mark bar") == 1);
  CHECK(Count(svg, ">row</text>") == 2);
}

TEST_CASE("A whisker spans its interval and dots stand for repetitions") {
  BarChart chart = Bars({100});
  chart.bars[0].interval = Interval{90, 120};
  chart.bars[0].samples = {95, 100, 105, kNan};
  const std::string svg = DrawBars(chart);
  const double zero = Attribute(svg, "mark bar", "x")[0];
  const double unit = Attribute(svg, "mark bar", "width")[0] / 100;
  CHECK(Attribute(svg, "whisker", "x1")[0] == Approx(zero + 90 * unit).margin(0.02));
  CHECK(Attribute(svg, "whisker", "x2")[0] == Approx(zero + 120 * unit).margin(0.02));
  CHECK(Count(svg, "class=\"sample\"") == 3);
}

TEST_CASE("The parts of a stack follow each other") {
  BarChart chart{.title = "time"};
  chart.bars.push_back(
      {.label = "row", .parts = {{10, 0, ""}, {30, 1, ""}, {kNan, 2, ""}, {-5, 3, ""}}});
  const std::string svg = DrawBars(chart);
  const auto x = Attribute(svg, "mark bar", "x"), width = Attribute(svg, "mark bar", "width");
  REQUIRE(x.size() == 2);
  CHECK(x[1] == Approx(x[0] + width[0]).margin(0.02));
  CHECK(width[1] == Approx(3 * width[0]).margin(0.02));
}

TEST_CASE("A long label is broken so that it stays within the chart") {
  BarChart chart = Bars({1});
  chart.bars[0].label = "overwrite, s3-fifo:small=0.1:ghost=0.9, " + std::string(120, 'x');
  const std::string svg = DrawBars(chart);
  CHECK(Count(svg, "class=\"label") >= 3);
  for (const std::string& line : WrapToWidth(chart.bars[0].label, 200)) {
    CHECK(TextWidth(line) <= 200);
  }
  CHECK(WrapToWidth("one two", 1000) == std::vector<std::string>{"one two"});
  CHECK(WrapToWidth("one two", TextWidth("one t")) == std::vector<std::string>{"one", "two"});
  CHECK(WrapToWidth("", 10) == std::vector<std::string>{""});
}

TEST_CASE("A line has a gap where a value is absent, and a mark for a single point") {
  LineChart chart{.title = "rate"};
  chart.series.push_back(
      {"a", {{1, 5, {}, "p"}, {2, 6, {}, "q"}, {3, kNan, {}, ""}, {4, 7, {}, "r"}}});
  const std::string svg = DrawLines(chart);
  CHECK(Count(svg, "<polyline") == 2);
  CHECK(Count(svg, "<circle") == 3);
  CHECK(Count(svg, "<title>a: q</title>") == 1);
  CHECK(Count(DrawLines({.series = {{.name = "x", .points = {{7, 0, {}, ""}}}}}), "<circle") == 1);
}

TEST_CASE("Points of a chart lie within it, whatever their values") {
  for (const bool at_points : {false, true}) {
    LineChart chart{.ticks_at_points = at_points};
    chart.series.push_back({"a", {{-3, -1e99, {}, ""}, {0, 0, {}, ""}, {1e50, 1e99, {}, ""}}});
    const std::string svg = DrawLines(chart);
    for (const char* axis : {"cx", "cy"}) {
      for (const double at : Attribute(svg, "mark dot", axis)) {
        CHECK(at >= 0);
        CHECK(at <= kChartWidth);
      }
    }
  }
}

TEST_CASE("A swept number over decades has a logarithmic axis with ticks at its values") {
  LineChart chart{.ticks_at_points = true};
  chart.series.push_back({"a", {{1, 1, {}, ""}, {10, 1, {}, ""}, {100, 1, {}, ""}}});
  const std::string svg = DrawLines(chart);
  const std::vector<double> x = Attribute(svg, "mark dot", "cx");
  CHECK(x[1] - x[0] == Approx(x[2] - x[1]).margin(0.02));
  for (const char* tick : {">1</text>", ">10</text>", ">100</text>"}) CHECK(Count(svg, tick) >= 1);
}

TEST_CASE("A long run is one line without a mark for each sample") {
  LineChart chart;
  LineSeries series{.name = "a"};
  for (int i = 0; i < 500; ++i) series.points.push_back({double(i), 1.0, {}, ""});
  chart.series.push_back(series);
  const std::string svg = DrawLines(chart);
  CHECK(Count(svg, "<polyline") == 1);
  CHECK(Count(svg, "<circle") == 0);
}

}  // namespace
}  // namespace latchkey::charts_test
