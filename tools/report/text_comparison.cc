#include "tools/report/text_comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "tpcc-lite/report/table.h"

namespace latchkey {
namespace {

using Lines = std::vector<std::vector<std::string>>;

/// Right-aligned: all columns of numbers.
const std::vector<bool> kAlignsRight = {false, true, true, true, true, false};

std::vector<std::string> CellsOf(const FigureComparison& c) {
  const auto mean = [&](const SampleMean& m) { return FormatValue(m.mean, c.figure->format); };
  return {"  " + c.figure->title, mean(c.from), mean(c.to), ChangeOf(c), IntervalOf(c), WordFor(c)};
}

size_t WidestLine(const std::string& text) {
  size_t widest = 0;
  for (size_t from = 0; from < text.size();) {
    const size_t end = std::min(text.find('\n', from), text.size());
    widest = std::max(widest, end - from);
    from = end + 1;
  }
  return widest;
}

/// The table, or for a narrow terminal one without the columns of the two values and the interval.
std::string Fitted(const Lines& lines, size_t width) {
  const std::string wide = AlignCells(lines, kAlignsRight);
  if (WidestLine(wide) <= width) return wide;
  Lines few;
  for (const auto& line : lines) few.push_back({line[0], line[3], line[5]});
  return AlignCells(few, {false, true, false});
}

}  // namespace

std::string ComparisonText(const ResultComparison& c, size_t width) {
  std::string out = WrapText(fmt::format("{} against {}", c.to, c.from), width, 2) + '\n';
  std::vector<std::string> differences;
  for (const auto& [name, change] : c.differences) differences.push_back(name + " " + change);
  if (!differences.empty()) {
    out += WrapText(fmt::format("Different: {}", fmt::join(differences, ", ")), width, 2) + '\n';
  }
  for (const RowComparison& row : c.rows) {
    Lines lines = {{row.name, "baseline", "compared", "change", "95 % interval", "verdict"}};
    for (const FigureComparison& figure : row.figures) lines.push_back(CellsOf(figure));
    // A long name stands above its table, which would be as wide as the name otherwise.
    std::string above;
    if (row.name.size() > width / 4) {
      above = WrapText(row.name, width, 2) + '\n';
      lines[0][0] = "";
    }
    out += '\n' + above + Fitted(lines, width);
    if (row.figures.empty()) out += "  no figure that both measured\n";
  }
  const std::string unpaired = DescribeUnpaired(c);
  if (!unpaired.empty()) out += '\n' + WrapText(unpaired, width, 2) + '\n';
  return out;
}

}  // namespace latchkey
