#include "storage/base/quantity.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <system_error>

namespace latchkey {
namespace {

constexpr Unit kByteUnits[] = {
    {"", 1},         {"B", 1},        {"k", 0x1p10},   {"K", 0x1p10},
    {"M", 0x1p20},   {"G", 0x1p30},   {"T", 0x1p40},   {"KiB", 0x1p10},
    {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"kB", 0x1p10},
    {"KB", 0x1p10},  {"MB", 0x1p20},  {"GB", 0x1p30},  {"TB", 0x1p40},
};
constexpr Unit kCountUnits[] = {{"", 1}, {"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}};
constexpr Unit kTimeUnits[] = {{"", 1e9}, {"s", 1e9},  {"ms", 1e6},   {"us", 1e3},
                               {"ns", 1}, {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}};

}  // namespace

std::span<const Unit> ByteUnits() { return kByteUnits; }
std::span<const Unit> CountUnits() { return kCountUnits; }
std::span<const Unit> TimeUnits() { return kTimeUnits; }

std::optional<double> ParseQuantity(std::string_view text, std::span<const Unit> units) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number) || number < 0) return std::nullopt;
  std::string_view suffix = text.substr(static_cast<size_t>(end - text.data()));
  while (!suffix.empty() && suffix.front() == ' ') suffix.remove_prefix(1);
  for (const Unit& unit : units) {
    if (suffix == unit.name) return number * unit.factor;
  }
  return std::nullopt;
}

std::string FormatDuration(double nanos) {
  for (const auto& [name, factor] : {Unit{"s", 1e9}, Unit{"ms", 1e6}, Unit{"us", 1e3}}) {
    if (nanos >= factor && std::fmod(nanos, factor) == 0) {
      return fmt::format("{}{}", nanos / factor, name);
    }
  }
  return fmt::format("{}{}", nanos, nanos == 0 ? "s" : "ns");
}

}  // namespace latchkey
