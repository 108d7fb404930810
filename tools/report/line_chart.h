// Lines over time, over a swept number, or over named steps.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/report/interval.h"
#include "tpcc-lite/report/table.h"

namespace latchkey {

struct LinePoint {
  double x = 0;
  double y = 0;  ///< not finite: absent, the line has a gap
  std::optional<Interval> interval = {};
  std::string tip = {};
};

struct LineSeries {
  std::string name = {};
  std::vector<LinePoint> points = {};  ///< in the order of x
};

struct LineChart {
  std::string title = {};
  std::string x_title = {};
  ColumnFormat x_format = ColumnFormat::kCount;
  ColumnFormat y_format = ColumnFormat::kNumber;
  /// x is 0, 1, ... and these are its labels; empty: x is a number.
  std::vector<std::string> steps = {};
  bool ticks_at_points = false;  ///< x ticks at the values of the points, not at round numbers
  bool logarithmic = false;      ///< y; values of 0 and below are absent then
  std::vector<LineSeries> series = {};
};

/// x is logarithmic if its ticks are at the points, all are positive and the largest is at least
/// eight times the least. Returns the chart as an SVG element; "" if no point can be drawn.
std::string DrawLines(const LineChart& chart);

}  // namespace latchkey
