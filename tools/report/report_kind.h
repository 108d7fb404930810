// What a report shows of one kind of result document: a schema and the figures that matter in it.
// The list of kinds is in tools/cli/report_kinds.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tpcc-lite/report/table.h"

namespace latchkey {

/// The word for a higher value of a figure.
enum class Sense {
  kRate,    ///< higher: faster
  kTime,    ///< higher: slower
  kGain,    ///< higher is better: a hit ratio
  kCost,    ///< higher is worse: a write cost
  kNeutral  ///< neither: bytes written within a fixed time
};

/// A figure that is drawn and compared. Its repetitions are in /repetitions of the row under the
/// last name of `pointer` (tpcc-lite/report/spread.h).
struct ReportFigure {
  std::string title = {};
  std::string pointer = {};  ///< into a row
  ColumnFormat format = ColumnFormat::kNumber;
  Sense sense = Sense::kNeutral;
};

/// A figure of each sample (row /samples), drawn over the run's time.
struct FigureOverTime {
  std::string title = {};
  std::string pointer = {};  ///< into a sample
  ColumnFormat format = ColumnFormat::kNumber;
  bool per_second = false;  ///< a count, divided by the sample's seconds
};

/// A block with p50, p95, p99, p99_9 and max, in microseconds.
struct LatencyBlock {
  std::string title = {};
  std::string pointer = {};  ///< into a row
};

/// Parts that add up to a whole: stacked bars.
struct Breakdown {
  std::string title = {};
  ColumnFormat format = ColumnFormat::kCount;
  std::vector<std::pair<std::string, std::string>> parts = {};  ///< title, pointer into a row
};

struct ReportKind {
  std::string schema = {};
  std::string title = {};  ///< "TPC-C-lite"
  std::vector<Column> columns = {};
  std::vector<ReportFigure> figures = {};
  std::vector<FigureOverTime> over_time = {};
  std::vector<LatencyBlock> latencies = {};
  std::vector<Breakdown> breakdowns = {};
  /// The figures are computed, not measured: the same input gives the same figures.
  bool exact = false;
};

/// The kind of `schema`; nullptr: there is none.
const ReportKind* FindReportKind(std::span<const ReportKind> kinds, std::string_view schema);

}  // namespace latchkey
