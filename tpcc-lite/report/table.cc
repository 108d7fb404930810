#include "tpcc-lite/report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace latchkey {
namespace {

size_t Width(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;  // continuation bytes have no width
  }));
}

std::string FormatCount(double value) {
  std::string digits = fmt::format("{:.0f}", std::abs(value));
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<size_t>(at), 1, ' ');
  return fmt::format("{}{}", value < 0 ? "-" : "", digits);
}

std::string FormatBytes(double value) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  const bool whole = unit == 0 || std::floor(value) == value;
  return fmt::format("{:.{}f} {}", value, whole ? 0 : value < 10 ? 2 : 1, kUnits[unit]);
}

std::string FormatMicros(double value) {
  if (value >= 1e6) return fmt::format("{:.2f} s", value / 1e6);
  if (value >= 1e3) return fmt::format("{:.2f} ms", value / 1e3);
  return fmt::format("{:.{}f} us", value, value < 10 ? 1 : 0);
}

bool AllNull(std::span<const Json> results, const Column& column) {
  return std::all_of(results.begin(), results.end(),
                     [&](const Json& result) { return ValueAt(result, column.pointer).is_null(); });
}

/// Whether all rows that have a value have the same value.
bool AllEqual(std::span<const Json> results, const Column& column) {
  Json first;
  return std::all_of(results.begin(), results.end(), [&](const Json& result) {
    const Json value = ValueAt(result, column.pointer);
    if (first.is_null()) first = value;
    return value.is_null() || value == first;
  });
}

/// The value of the first row that has one.
Json FirstValue(std::span<const Json> results, const Column& column) {
  for (const Json& result : results) {
    if (Json value = ValueAt(result, column.pointer); !value.is_null()) return value;
  }
  return nullptr;
}

/// The names in the first column of the rows without a value, each once: "lmdb, rocksdb".
std::string RowsWithout(std::span<const Json> results, const Column& column, const Column& name) {
  std::vector<std::string> names;
  for (const Json& result : results) {
    if (!ValueAt(result, column.pointer).is_null()) continue;
    std::string text = FormatValue(ValueAt(result, name.pointer), name.format);
    if (std::find(names.begin(), names.end(), text) == names.end()) names.push_back(text);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<std::string> Cells(const Json& result, const std::vector<Column>& columns) {
  std::vector<std::string> cells;
  for (const Column& column : columns) {
    cells.push_back(FormatValue(ValueAt(result, column.pointer), column.format));
  }
  return cells;
}

/// A row with "+-2.1 %" below every figure whose spread is known.
std::vector<std::string> SpreadCells(const Json& result, const std::vector<Column>& columns) {
  std::vector<std::string> cells(columns.size());
  cells[0] = fmt::format("  spread of {}", result.at("repeat").get<int>());
  for (size_t i = 1; i < columns.size(); ++i) {
    const std::string& pointer = columns[i].pointer;
    const Json::json_pointer half_range("/spread/" + pointer.substr(pointer.rfind('/') + 1) +
                                        "/half_range");
    if (columns[i].setting || !result.contains(half_range)) continue;
    const Json& share = result.at(half_range);
    cells[i] = share.is_number() ? fmt::format("+-{:.1f} %", share.get<double>() * 100) : "-";
  }
  return cells;
}

using Lines = std::vector<std::vector<std::string>>;

void AddCommon(ColumnSplit& split, const std::string& without, std::string setting) {
  for (auto& [names, settings] : split.common) {
    if (names == without) return settings.push_back(std::move(setting));
  }
  split.common.push_back({without, {std::move(setting)}});
}

std::vector<std::string> WordsOf(const std::string& text) {
  std::vector<std::string> words;
  for (size_t from = 0; from <= text.size();) {
    const size_t space = std::min(text.find(' ', from), text.size());
    words.push_back(text.substr(from, space - from));
    from = space + 1;
  }
  return words;
}

std::vector<size_t> WidthsOf(const Lines& lines) {
  std::vector<size_t> widths(lines.front().size(), 0);
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], Width(line[i]));
  }
  return widths;
}

/// Width of columns that are two spaces apart.
size_t TotalWidth(const std::vector<size_t>& widths) {
  size_t total = 0;
  for (const size_t width : widths) total += width + 2;
  return total > 2 ? total - 2 : 0;
}

/// The header in one line, the results below it.
Lines CellsOf(std::span<const Json> results, const std::vector<Column>& shown) {
  Lines lines(1);
  for (const Column& column : shown) lines[0].push_back(column.title);
  for (const Json& result : results) {
    lines.push_back(Cells(result, shown));
    if (result.value("repeat", 1) > 1) lines.push_back(SpreadCells(result, shown));
  }
  return lines;
}

/// Breaks every title into lines as narrow as the cells below it allow. Returns the number of lines
/// of the header.
size_t BreakHeader(Lines& lines) {
  const std::vector<std::string> titles = std::move(lines.front());
  lines.erase(lines.begin());
  const std::vector<size_t> below = WidthsOf(lines);
  std::vector<std::vector<std::string>> broken;
  size_t height = 1;
  for (size_t i = 0; i < titles.size(); ++i) {
    size_t width = below[i];
    for (const std::string& word : WordsOf(titles[i])) width = std::max(width, Width(word));
    std::vector<std::string> parts(1);
    for (const std::string& word : WordsOf(titles[i])) {
      std::string& last = parts.back();
      const bool fits = last.empty() || Width(last) + 1 + Width(word) <= width;
      if (fits) last += (last.empty() ? "" : " ") + word;
      if (!fits) parts.push_back(word);
    }
    height = std::max(height, parts.size());
    broken.push_back(std::move(parts));
  }
  Lines header(height, std::vector<std::string>(titles.size()));
  for (size_t i = 0; i < broken.size(); ++i) {
    const size_t first = height - broken[i].size();  // titles stand on the line below them
    for (size_t n = 0; n < broken[i].size(); ++n) header[first + n][i] = broken[i][n];
  }
  lines.insert(lines.begin(), header.begin(), header.end());
  return height;
}

/// These columns of `lines`, aligned. A header line that is empty in all of them is left out.
std::string Block(const Lines& lines, size_t headers, const std::vector<size_t>& chosen,
                  const std::vector<bool>& right) {
  Lines part;
  std::vector<bool> right_of_part;
  for (const size_t i : chosen) right_of_part.push_back(right[i]);
  size_t kept = headers;
  for (size_t row = 0; row < lines.size(); ++row) {
    std::vector<std::string> cells;
    bool empty = true;
    for (const size_t i : chosen) {
      cells.push_back(lines[row][i]);
      empty &= lines[row][i].empty();
    }
    if (row < headers && empty) {
      --kept;
    } else {
      part.push_back(std::move(cells));
    }
  }
  return AlignCells(part, right_of_part, kept);
}

}  // namespace

std::string FormatValue(const Json& value, ColumnFormat format) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_number()) return value.dump();
  const double number = value.get<double>();
  switch (format) {
    case ColumnFormat::kCount:
      return FormatCount(number);
    case ColumnFormat::kNumber:
      return fmt::format("{:.2f}", number);
    case ColumnFormat::kShare:
      return fmt::format("{:.4f}", number);
    case ColumnFormat::kBytes:
      return FormatBytes(number);
    case ColumnFormat::kPercent:
      return fmt::format("{:.1f} %", number * 100);
    case ColumnFormat::kMicros:
      return FormatMicros(number);
    case ColumnFormat::kText:
      break;
  }
  return value.is_number_integer() ? value.dump() : fmt::format("{:g}", number);
}

ColumnSplit SplitColumns(std::span<const Json> results, std::span<const Column> columns) {
  ColumnSplit split;
  for (const Column& column : columns) {
    if (AllNull(results, column)) continue;
    // The first column names the row, so it is always shown.
    if (column.setting && !split.shown.empty() && AllEqual(results, column)) {
      AddCommon(split, RowsWithout(results, column, split.shown.front()),
                fmt::format("{} {}", column.title,
                            FormatValue(FirstValue(results, column), column.format)));
      continue;
    }
    if (column.setting && split.leading == split.shown.size()) ++split.leading;
    split.shown.push_back(column);
  }
  // Settings that all rows have come first.
  std::stable_sort(split.common.begin(), split.common.end(),
                   [](const auto& a, const auto& b) { return a.first.empty() > b.first.empty(); });
  return split;
}

std::vector<std::string> RowNames(std::span<const Json> results, std::span<const Column> columns) {
  const ColumnSplit split = SplitColumns(results, columns);
  std::vector<std::string> names;
  for (const Json& result : results) {
    std::vector<std::string> parts;
    for (size_t i = 0; i < split.leading; ++i) {
      const Json value = ValueAt(result, split.shown[i].pointer);
      if (!value.is_null()) parts.push_back(FormatValue(value, split.shown[i].format));
    }
    names.push_back(fmt::format("{}", fmt::join(parts, ", ")));
  }
  return names;
}

std::string ToTable(std::span<const Json> results, std::span<const Column> columns, size_t width) {
  if (results.empty()) return "(no results: no run has ended)\n";
  const ColumnSplit split = SplitColumns(results, columns);
  std::string above;
  for (const auto& [without, settings] : split.common) {
    const std::string begin = without.empty() ? "Every row: " : "Every row but " + without + ": ";
    above += WrapText(begin + fmt::format("{}", fmt::join(settings, ", ")), width, 2) + '\n';
  }
  std::vector<bool> right;
  for (const Column& column : split.shown) right.push_back(column.format != ColumnFormat::kText);
  return above + (above.empty() ? "" : "\n") +
         FitCells(CellsOf(results, split.shown), right, split.leading, width);
}

std::string WrapText(const std::string& text, size_t width, size_t indent) {
  std::string out;
  size_t used = 0;
  for (const std::string& word : WordsOf(text)) {
    const size_t length = Width(word);
    if (!out.empty() && used + 1 + length > width) {
      out += '\n' + std::string(indent, ' ');
      used = indent;
    } else if (!out.empty()) {
      out += ' ';
      ++used;
    }
    out += word;
    used += length;
  }
  return out;
}

std::string CutText(const std::string& text, size_t width) {
  size_t bytes = 0;
  for (size_t points = 0; bytes < text.size(); ++bytes) {
    const bool begins = (static_cast<unsigned char>(text[bytes]) & 0xC0) != 0x80;
    if (begins && points++ == width) break;
  }
  return text.substr(0, bytes);
}

std::string AlignCells(const std::vector<std::vector<std::string>>& lines,
                       const std::vector<bool>& right, size_t headers) {
  const std::vector<size_t> widths = WidthsOf(lines);
  std::string out;
  for (size_t row = 0; row < lines.size(); ++row) {
    std::string text;
    for (size_t i = 0; i < lines[row].size(); ++i) {
      const std::string padding(widths[i] - Width(lines[row][i]), ' ');
      text += i == 0 ? "" : "  ";
      text += right[i] ? padding + lines[row][i] : lines[row][i] + padding;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + '\n';
    if (row + 1 == headers) out += std::string(TotalWidth(widths), '-') + '\n';
  }
  return out;
}

std::string FitCells(std::vector<std::vector<std::string>> lines, const std::vector<bool>& right,
                     size_t leading_columns, size_t width) {
  size_t headers = 1;
  if (TotalWidth(WidthsOf(lines)) > width) headers = BreakHeader(lines);
  const std::vector<size_t> widths = WidthsOf(lines);
  std::vector<size_t> leading;
  size_t leading_width = 0;
  for (size_t i = 0; i < leading_columns; ++i) {
    leading.push_back(i);
    leading_width += widths[i] + 2;
  }
  std::string out;
  std::vector<size_t> chosen = leading;
  size_t used = leading_width;
  const auto end_block = [&] {
    out += (out.empty() ? "" : "\n") + Block(lines, headers, chosen, right);
    chosen = leading;
    used = leading_width;
  };
  for (size_t i = leading_columns; i < widths.size(); ++i) {
    if (used + widths[i] > width && chosen.size() > leading.size()) end_block();
    chosen.push_back(i);
    used += widths[i] + 2;
  }
  end_block();
  return out;
}

}  // namespace latchkey
