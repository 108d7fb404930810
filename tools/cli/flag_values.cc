#include "tools/cli/flag_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>

#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr Unit kByteUnits[] = {
    {"", 1},         {"B", 1},        {"k", 0x1p10},   {"K", 0x1p10},
    {"M", 0x1p20},   {"G", 0x1p30},   {"T", 0x1p40},   {"KiB", 0x1p10},
    {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"kB", 0x1p10},
    {"KB", 0x1p10},  {"MB", 0x1p20},  {"GB", 0x1p30},  {"TB", 0x1p40},
};
constexpr Unit kCountUnits[] = {{"", 1}, {"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}};
constexpr Unit kTimeUnits[] = {{"", 1e9},   {"s", 1e9},    {"ms", 1e6},  {"us", 1e3},
                               {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}};

/// The number at the front of `text` times the unit after it; false for anything else.
bool ParseWithUnit(std::string_view text, std::span<const Unit> units, double* result) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number) || number < 0) return false;
  std::string_view suffix = text.substr(static_cast<size_t>(end - text.data()));
  while (!suffix.empty() && suffix.front() == ' ') suffix.remove_prefix(1);
  for (const Unit& unit : units) {
    if (suffix != unit.name) continue;
    *result = number * unit.factor;
    return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> SplitList(std::string_view flag, std::string_view text) {
  std::vector<std::string> items;
  size_t from = 0;
  for (;;) {
    const size_t comma = text.find(',', from);
    const std::string_view item = text.substr(from, comma - from);
    if (item.empty()) {
      return InvalidArgument("--{}={}: an empty item; give values separated by single commas", flag,
                             text);
    }
    items.emplace_back(item);
    if (comma == std::string_view::npos) return items;
    from = comma + 1;
  }
}

absl::StatusOr<uint64_t> ParseCount(std::string_view flag, std::string_view text, uint64_t min,
                                    uint64_t max) {
  uint64_t exact = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exact);
  double scaled = 0;
  bool valid = error == std::errc() && end == text.data() + text.size();
  if (!valid && ParseWithUnit(text, kCountUnits, &scaled) && scaled < 0x1p63 &&
      std::floor(scaled) == scaled) {
    exact = static_cast<uint64_t>(scaled);
    valid = true;
  }
  if (valid && exact >= min && exact <= max) return exact;
  return InvalidArgument("--{}={}: give a whole number from {} to {}", flag, text, min, max);
}

absl::StatusOr<uint64_t> ParseBytes(std::string_view flag, std::string_view text) {
  double bytes = 0;
  if (ParseWithUnit(text, kByteUnits, &bytes) && bytes < 0x1p63) {
    return static_cast<uint64_t>(bytes);
  }
  return InvalidArgument("--{}={}: give bytes, e.g. 4096, 64KiB or 1.5GiB", flag, text);
}

absl::StatusOr<Nanos> ParseDuration(std::string_view flag, std::string_view text) {
  double nanos = 0;
  if (ParseWithUnit(text, kTimeUnits, &nanos) && nanos <= 3.6e15) return static_cast<Nanos>(nanos);
  return InvalidArgument("--{}={}: give a time up to 1000h, e.g. 30, 500ms or 2m", flag, text);
}

absl::StatusOr<double> ParseNumber(std::string_view flag, std::string_view text, double min,
                                   double max) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  // Written so that NaN is refused.
  if (error == std::errc() && end == text.data() + text.size() && number >= min && number <= max) {
    return number;
  }
  return InvalidArgument("--{}={}: give a number from {} to {}", flag, text, min, max);
}

absl::StatusOr<uint64_t> ParseCacheSize(std::string_view flag, std::string_view text,
                                        uint64_t data_bytes) {
  if (!text.empty() && text.back() == '%') {
    LATCHKEY_ASSIGN_OR_RETURN(const double percent,
                              ParseNumber(flag, text.substr(0, text.size() - 1), 0.001, 100'000));
    return static_cast<uint64_t>(percent / 100 * static_cast<double>(data_bytes));
  }
  double bytes = 0;
  if (ParseWithUnit(text, kByteUnits, &bytes) && bytes < 0x1p63) {
    return static_cast<uint64_t>(bytes);
  }
  return InvalidArgument("--{}={}: give bytes (256MiB, 1GiB) or a share of the data (25%)", flag,
                         text);
}

absl::Status CheckKnown(std::string_view flag, std::string_view value,
                        const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), value) != known.end()) return absl::OkStatus();
  return InvalidArgument("--{}={}: unknown; known: {}", flag, value, fmt::join(known, ", "));
}

}  // namespace latchkey
