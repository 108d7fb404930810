// Results as a table for people.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tpcc-lite/report/json.h"

namespace latchkey {

/// How the values of a column are written. null is always "-".
enum class ColumnFormat {
  kText,     ///< as it is, to the left
  kCount,    ///< rounded, with thousands separated: 12 345
  kNumber,   ///< two digits after the point
  kBytes,    ///< 1.5 GiB
  kPercent,  ///< of a share: 97.3 %
  kMicros    ///< microseconds, with the fitting unit: 850 us, 1.25 ms
};

struct Column {
  std::string title;
  std::string pointer;  ///< JSON pointer into a result: "/buffer/hit_ratio"
  ColumnFormat format = ColumnFormat::kText;
  /// A setting, not a figure: shown as a column only when it differs between the rows that have
  /// it, and otherwise once, above the table.
  bool setting = false;
};

/// One value in a column's format.
std::string FormatValue(const Json& value, ColumnFormat format);

/// The table, with a second row of relative spreads below each result of several repetitions.
/// Columns without a value in any row are left out. Ends with a line break.
std::string ToTable(std::span<const Json> results, std::span<const Column> columns);

/// Lines of cells as an aligned table: the first line is the header; `right[i]` aligns column i to
/// the right. Widths count code points.
std::string AlignCells(const std::vector<std::vector<std::string>>& lines,
                       const std::vector<bool>& right);

}  // namespace latchkey
