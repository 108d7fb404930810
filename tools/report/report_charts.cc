#include "tools/report/report_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tools/report/axis.h"
#include "tools/report/bar_chart.h"
#include "tools/report/line_chart.h"

namespace latchkey {
namespace {

constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();
constexpr double kShortestShare = 0.1;

std::vector<std::string> Letters(size_t documents) {
  std::vector<std::string> letters;
  for (size_t i = 0; documents > 1 && i < documents; ++i) letters.push_back(LetterOf(i));
  return letters;
}

/// A figure of one row with what its repetitions tell.
struct Measured {
  double value = kAbsent;
  std::optional<Interval> interval;
  std::vector<double> samples;  ///< empty where they are all the same
  std::string text;             ///< the value, as a table has it
  std::string tip;
};

Measured Measure(const Json& row, const ReportFigure& figure) {
  Measured measured;
  const std::vector<double> samples = SamplesOf(row, figure.pointer);
  if (samples.empty()) return measured;
  const SampleMean mean = MeanOf(samples);
  const bool repeated = samples.size() >= kFewestRepetitions;
  measured.value = repeated ? mean.mean : NumberAt(row, figure.pointer).value_or(mean.mean);
  measured.text = measured.tip = FormatValue(measured.value, figure.format);
  if (mean.variance == 0) return measured;
  measured.samples = samples;
  measured.interval = MeanInterval(samples);
  if (measured.interval) {
    measured.tip = fmt::format("{} (mean of {}, 95 % interval {} to {})", measured.text,
                               samples.size(), FormatValue(measured.interval->low, figure.format),
                               FormatValue(measured.interval->high, figure.format));
  }
  return measured;
}

/// Draws `chart` in parts of kMostLines lines. `chart.title` is of all.
void DrawInParts(LineChart chart, std::vector<ReportChart>& into) {
  const auto has_points = [](const LineSeries& series) {
    return std::any_of(series.points.begin(), series.points.end(),
                       [](const LinePoint& point) { return std::isfinite(point.y); });
  };
  std::erase_if(chart.series, [&](const LineSeries& series) { return !has_points(series); });
  const std::vector<LineSeries> all = std::move(chart.series);
  const std::string title = chart.title;
  const size_t parts = (all.size() + kMostLines - 1) / kMostLines;
  for (size_t part = 0; part < parts; ++part) {
    const size_t from = part * kMostLines, to = std::min(all.size(), from + kMostLines);
    chart.series.assign(all.begin() + static_cast<ptrdiff_t>(from),
                        all.begin() + static_cast<ptrdiff_t>(to));
    if (parts > 1) chart.title = fmt::format("{} ({} of {})", title, part + 1, parts);
    ReportChart drawn{.title = chart.title, .svg = DrawLines(chart), .lines = true};
    for (const LineSeries& series : chart.series) drawn.legend.push_back(series.name);
    if (!drawn.svg.empty()) into.push_back(std::move(drawn));
  }
}

/// The series of that name, added if there is none.
LineSeries& SeriesNamed(LineChart& chart, const std::string& name) {
  for (LineSeries& series : chart.series) {
    if (series.name == name) return series;
  }
  return chart.series.emplace_back(LineSeries{.name = name});
}

void DrawOverSweep(const RowSet& set, const ReportFigure& figure, const SweptNumber& swept,
                   std::vector<ReportChart>& into) {
  LineChart chart{.title = figure.title,
                  .x_title = swept.column.title,
                  .x_format = swept.column.format,
                  .y_format = figure.format,
                  .ticks_at_points = true};
  for (size_t i = 0; i < set.rows.size(); ++i) {
    const Measured measured = Measure(set.rows[i], figure);
    const double x = NumberAt(set.rows[i], swept.column.pointer).value_or(kAbsent);
    SeriesNamed(chart, swept.series_of[i])
        .points.push_back({x, measured.value, measured.interval,
                           fmt::format("{} at {} {}", measured.tip, swept.column.title,
                                       FormatShort(x, swept.column.format))});
  }
  for (LineSeries& series : chart.series) {
    std::stable_sort(series.points.begin(), series.points.end(),
                     [](const LinePoint& a, const LinePoint& b) { return a.x < b.x; });
  }
  DrawInParts(std::move(chart), into);
}

void DrawAsBars(const RowSet& set, const ReportFigure& figure, std::vector<ReportChart>& into) {
  BarChart chart{.title = figure.title, .format = figure.format};
  for (size_t i = 0; i < set.rows.size(); ++i) {
    Measured measured = Measure(set.rows[i], figure);
    Bar bar{.label = set.names[i], .value = "-"};
    if (std::isfinite(measured.value)) {
      bar.value = std::move(measured.text);
      bar.parts.push_back({measured.value, set.document_of[i], set.names[i] + ": " + measured.tip});
      bar.interval = measured.interval;
      bar.samples = std::move(measured.samples);
    }
    chart.bars.push_back(std::move(bar));
  }
  std::string svg = DrawBars(chart);
  if (svg.empty()) return;
  into.push_back({.title = figure.title, .svg = std::move(svg), .legend = Letters(set.documents)});
}

LineSeries OverTime(const std::string& name, const Json& row, const FigureOverTime& figure) {
  LineSeries series{.name = name};
  if (!row.contains("samples")) return series;
  const Json& samples = row.at("samples");
  double longest = 0;
  for (const Json& sample : samples) {
    longest = std::max(longest, NumberAt(sample, "/seconds").value_or(0));
  }
  for (const Json& sample : samples) {
    const double seconds = NumberAt(sample, "/seconds").value_or(0);
    if (seconds <= 0 || seconds < longest * kShortestShare) continue;
    const double end = NumberAt(sample, "/end_s").value_or(kAbsent);
    const double count = NumberAt(sample, figure.pointer).value_or(kAbsent);
    const double value = figure.per_second ? count / seconds : count;
    series.points.push_back(
        {end, value, std::nullopt,
         fmt::format("{} at {:.1f} s", FormatValue(value, figure.format), end)});
  }
  return series;
}

bool AnySeries(const LineChart& chart, size_t points) {
  return std::any_of(chart.series.begin(), chart.series.end(),
                     [&](const LineSeries& series) { return series.points.size() >= points; });
}

LineSeries Percentiles(const std::string& name, const Json& row, const std::string& block) {
  static constexpr const char* kFields[] = {"p50", "p95", "p99", "p99_9", "max"};
  LineSeries series{.name = name};
  for (size_t i = 0; i < std::size(kFields); ++i) {
    const double value = NumberAt(row, block + "/" + kFields[i]).value_or(kAbsent);
    series.points.push_back(
        {static_cast<double>(i), value, std::nullopt,
         fmt::format("{} {}", kFields[i], FormatValue(value, ColumnFormat::kMicros))});
  }
  return series;
}

/// The parts of `breakdown` that are above 0 in some row.
std::vector<std::pair<std::string, std::string>> PartsOf(const RowSet& set,
                                                         const Breakdown& breakdown) {
  std::vector<std::pair<std::string, std::string>> parts;
  for (const auto& part : breakdown.parts) {
    const bool some = std::any_of(set.rows.begin(), set.rows.end(), [&](const Json& row) {
      return NumberAt(row, part.second).value_or(0) > 0;
    });
    if (some) parts.push_back(part);
  }
  return parts;
}

}  // namespace

std::vector<ReportChart> DrawFigures(const RowSet& set) {
  std::vector<ReportChart> charts;
  const std::optional<SweptNumber> swept = FindSweptNumber(set);
  for (const ReportFigure& figure : set.kind->figures) {
    if (swept) {
      DrawOverSweep(set, figure, *swept, charts);
    } else {
      DrawAsBars(set, figure, charts);
    }
  }
  return charts;
}

std::vector<ReportChart> DrawOverTime(const RowSet& set) {
  constexpr size_t kFewestPoints = 2;
  std::vector<ReportChart> charts;
  for (const FigureOverTime& figure : set.kind->over_time) {
    LineChart chart{.title = figure.title,
                    .x_title = "seconds of the measured part",
                    .y_format = figure.format};
    for (size_t i = 0; i < set.rows.size(); ++i) {
      chart.series.push_back(OverTime(set.names[i], set.rows[i], figure));
    }
    if (AnySeries(chart, kFewestPoints)) DrawInParts(std::move(chart), charts);
  }
  return charts;
}

std::vector<ReportChart> DrawLatencies(const RowSet& set) {
  std::vector<ReportChart> charts;
  for (const LatencyBlock& block : set.kind->latencies) {
    LineChart chart{.title = block.title,
                    .x_title = "percentile (logarithmic time)",
                    .y_format = ColumnFormat::kMicros,
                    .steps = {"p50", "p95", "p99", "p99.9", "max"},
                    .logarithmic = true};
    for (size_t i = 0; i < set.rows.size(); ++i) {
      chart.series.push_back(Percentiles(set.names[i], set.rows[i], block.pointer));
    }
    DrawInParts(std::move(chart), charts);
  }
  return charts;
}

std::vector<ReportChart> DrawBreakdowns(const RowSet& set) {
  std::vector<ReportChart> charts;
  for (const Breakdown& breakdown : set.kind->breakdowns) {
    const auto parts = PartsOf(set, breakdown);
    if (parts.empty()) continue;
    BarChart chart{.title = breakdown.title, .format = breakdown.format};
    for (size_t i = 0; i < set.rows.size(); ++i) {
      Bar bar{.label = set.names[i], .value = "-"};
      double total = 0;
      for (size_t part = 0; part < parts.size(); ++part) {
        const std::optional<double> value = NumberAt(set.rows[i], parts[part].second);
        if (!value || *value < 0) continue;
        total += *value;
        bar.parts.push_back({*value, part,
                             fmt::format("{}, {}: {}", set.names[i], parts[part].first,
                                         FormatShort(*value, breakdown.format))});
      }
      if (!bar.parts.empty()) bar.value = FormatShort(total, breakdown.format);
      chart.bars.push_back(std::move(bar));
    }
    ReportChart drawn{.title = breakdown.title, .svg = DrawBars(chart)};
    for (const auto& part : parts) drawn.legend.push_back(part.first);
    if (!drawn.svg.empty()) charts.push_back(std::move(drawn));
  }
  return charts;
}

}  // namespace latchkey
