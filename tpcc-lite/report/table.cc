#include "tpcc-lite/report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace latchkey {
namespace {

size_t Width(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;  // continuation bytes take no room
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

Json ValueAt(const Json& result, const Column& column) {
  const Json::json_pointer pointer(column.pointer);
  return result.contains(pointer) ? result.at(pointer) : Json(nullptr);
}

bool AllNull(std::span<const Json> results, const Column& column) {
  return std::all_of(results.begin(), results.end(),
                     [&](const Json& result) { return ValueAt(result, column).is_null(); });
}

/// Whether all rows that have a value have the same one.
bool AllEqual(std::span<const Json> results, const Column& column) {
  Json first;
  return std::all_of(results.begin(), results.end(), [&](const Json& result) {
    const Json value = ValueAt(result, column);
    if (first.is_null()) first = value;
    return value.is_null() || value == first;
  });
}

/// The value of the first row that has one.
Json FirstValue(std::span<const Json> results, const Column& column) {
  for (const Json& result : results) {
    if (Json value = ValueAt(result, column); !value.is_null()) return value;
  }
  return nullptr;
}

bool AnyNull(std::span<const Json> results, const Column& column) {
  return std::any_of(results.begin(), results.end(),
                     [&](const Json& result) { return ValueAt(result, column).is_null(); });
}

std::vector<std::string> Cells(const Json& result, const std::vector<Column>& columns) {
  std::vector<std::string> cells;
  for (const Column& column : columns) {
    cells.push_back(FormatValue(ValueAt(result, column), column.format));
  }
  return cells;
}

/// "+-2.1 %" below every figure whose spread is known.
std::vector<std::string> SpreadCells(const Json& result, const std::vector<Column>& columns) {
  std::vector<std::string> cells(columns.size());
  cells[0] = fmt::format("  spread of {}", result.at("repeat").get<int>());
  for (size_t i = 1; i < columns.size(); ++i) {
    const std::string& pointer = columns[i].pointer;
    const Json::json_pointer half_range("/spread/" + pointer.substr(pointer.rfind('/') + 1) +
                                        "/half_range");
    if (columns[i].setting || !result.contains(half_range)) continue;
    const Json& share = result.at(half_range);
    if (share.is_number()) cells[i] = fmt::format("+-{:.1f} %", share.get<double>() * 100);
  }
  return cells;
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

std::string ToTable(std::span<const Json> results, std::span<const Column> columns) {
  if (results.empty()) return "(no results)\n";
  std::vector<Column> shown;
  std::vector<std::string> common;
  std::vector<std::string> common_where_any;
  for (const Column& column : columns) {
    if (AllNull(results, column)) continue;
    // The first column names the row, so it stays.
    if (column.setting && !shown.empty() && AllEqual(results, column)) {
      (AnyNull(results, column) ? common_where_any : common)
          .push_back(fmt::format("{} {}", column.title,
                                 FormatValue(FirstValue(results, column), column.format)));
    } else {
      shown.push_back(column);
    }
  }
  std::vector<std::vector<std::string>> lines(1);
  std::vector<bool> right;
  for (const Column& column : shown) {
    lines[0].push_back(column.title);
    right.push_back(column.format != ColumnFormat::kText);
  }
  for (const Json& result : results) {
    lines.push_back(Cells(result, shown));
    if (result.value("repeat", 1) > 1) lines.push_back(SpreadCells(result, shown));
  }
  std::string above;
  if (!common.empty()) above += fmt::format("Every row: {}\n", fmt::join(common, ", "));
  if (!common_where_any.empty()) {
    above += fmt::format("Every row that has it: {}\n", fmt::join(common_where_any, ", "));
  }
  return above + (above.empty() ? "" : "\n") + AlignCells(lines, right);
}

std::string AlignCells(const std::vector<std::vector<std::string>>& lines,
                       const std::vector<bool>& right) {
  std::vector<size_t> widths(right.size(), 0);
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], Width(line[i]));
  }
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
    if (row != 0) continue;
    size_t total = 0;
    for (size_t width : widths) total += width + 2;
    out += std::string(total > 2 ? total - 2 : 0, '-') + '\n';
  }
  return out;
}

}  // namespace latchkey
