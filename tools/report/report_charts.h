// The charts of a set of rows, ready for a page.
#pragma once

#include <string>
#include <vector>

#include "tools/report/row_set.h"

namespace latchkey {

struct ReportChart {
  std::string title = {};
  std::string svg = {};
  std::vector<std::string> legend = {};  ///< names for the colours 0, 1, ...; empty: none is needed
  bool lines = false;                    ///< the legend's keys are lines, not squares
};

/// The kind's figures: lines over the swept number, if there is one (FindSweptNumber); else a bar
/// for each row. With three or more repetitions the mean and its 95 % interval; else the median.
/// Charts of figures that no row has are left out, here and below.
std::vector<ReportChart> DrawFigures(const RowSet& set);
/// The figures of the samples. A sample shorter than a tenth of its run's longest one is left out:
/// a rate over so short a time is noise.
std::vector<ReportChart> DrawOverTime(const RowSet& set);
/// Latency by percentile, on a logarithmic axis.
std::vector<ReportChart> DrawLatencies(const RowSet& set);
/// One stacked bar for each row.
std::vector<ReportChart> DrawBreakdowns(const RowSet& set);

/// Lines in one chart. More are distributed over several charts.
inline constexpr size_t kMostLines = 6;

}  // namespace latchkey
