// Writes results as a table for readers.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tpcc-lite/report/json.h"

namespace latchkey {

/// The format of a column's values. null is always "-".
enum class ColumnFormat {
  kText,     ///< as it is, to the left
  kCount,    ///< rounded, with thousands separated: 12 345
  kNumber,   ///< two digits after the point
  kShare,    ///< four digits after the point
  kBytes,    ///< 1.5 GiB
  kPercent,  ///< of a share: 97.3 %
  kMicros    ///< microseconds, with the fitting unit: 850 us, 1.25 ms
};

struct Column {
  std::string title;
  std::string pointer;  ///< JSON pointer into a result: "/buffer/hit_ratio"
  ColumnFormat format = ColumnFormat::kText;
  /// A setting, not a figure. It is a column only if it differs between the rows that have it;
  /// otherwise it is shown once, above the table.
  bool setting = false;
};

/// One value in a column's format.
std::string FormatValue(const Json& value, ColumnFormat format);

/// The columns of a table, and the settings that stand above it.
struct ColumnSplit {
  std::vector<Column> shown;
  size_t leading = 0;  ///< of `shown`: the settings in front, which tell the rows apart
  /// Names of the rows that do not have the settings ("" = all rows have them), and the settings.
  std::vector<std::pair<std::string, std::vector<std::string>>> common;
};
/// Leaves out columns without a value. The first setting names the rows, so it is always shown.
ColumnSplit SplitColumns(std::span<const Json> results, std::span<const Column> columns);

/// Width limit of a table, terminal columns, where no terminal says otherwise.
inline constexpr size_t kTableWidth = 100;

/// The table, with a second row of relative spreads below each result of several repetitions ("-"
/// for none, see spread.h). Columns without a value in any row are left out. Settings that are
/// equal in all rows that have them stand above the table, with the engines that do not have them.
/// If a table is wider than `width`, its headers break into lines. If that is not enough, its
/// columns break into blocks below each other, each with the settings that distinguish the rows.
/// Ends with a line break.
std::string ToTable(std::span<const Json> results, std::span<const Column> columns,
                    size_t width = kTableWidth);

/// Names that distinguish the rows: the values of the settings that the table shows as columns,
/// joined by commas.
std::vector<std::string> RowNames(std::span<const Json> results, std::span<const Column> columns);

/// Aligns lines of cells as a table: the first `headers` lines are the header; `right[i]` aligns
/// column i to the right. Widths count code points.
std::string AlignCells(const std::vector<std::vector<std::string>>& lines,
                       const std::vector<bool>& right, size_t headers = 1);

/// As AlignCells, at most `width` code points wide. If the table is wider, the header, which is the
/// first line, breaks into lines. If that is not enough, the columns break into blocks below each
/// other, each with the first `leading_columns`.
std::string FitCells(std::vector<std::vector<std::string>> lines, const std::vector<bool>& right,
                     size_t leading_columns, size_t width);

/// The first `width` code points of `text`.
std::string CutText(const std::string& text, size_t width);

/// `text` broken at spaces into lines of at most `width` code points, unless a word is longer. All
/// lines but the first are indented by `indent` spaces. No line break at the end.
std::string WrapText(const std::string& text, size_t width, size_t indent);

}  // namespace latchkey
