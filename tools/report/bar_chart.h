// Horizontal bars, each below its label: long labels stay readable on a phone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/report/interval.h"
#include "tpcc-lite/report/table.h"

namespace latchkey {

struct BarPart {
  double value = 0;
  size_t color = 0;  ///< see ColorClass
  std::string tip = {};
};

struct Bar {
  std::string label = {};
  std::string value = {};           ///< text at the right of the label
  std::vector<BarPart> parts = {};  ///< one, which may be negative; or several, stacked from 0
  std::optional<Interval> interval = {};  ///< drawn as a whisker
  std::vector<double> samples = {};       ///< drawn as dots
};

struct BarChart {
  std::string title = {};
  ColumnFormat format = ColumnFormat::kNumber;
  std::vector<Bar> bars = {};
};

/// The chart as an SVG element; "" if no bar has a value that can be drawn. Parts of a stack that
/// are negative or not drawable are left out. A bar without parts keeps its label.
std::string DrawBars(const BarChart& chart);

}  // namespace latchkey
