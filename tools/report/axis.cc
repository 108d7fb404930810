#include "tools/report/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

namespace latchkey {
namespace {

struct Unit {
  double size;
  const char* name;
};
constexpr Unit kCounts[] = {{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}};
constexpr Unit kBytes[] = {{0x1p50, " PiB"}, {0x1p40, " TiB"}, {0x1p30, " GiB"},
                           {0x1p20, " MiB"}, {0x1p10, " KiB"}, {1, " B"}};
constexpr Unit kMicros[] = {{1e6, " s"}, {1e3, " ms"}, {1, " us"}, {1e-3, " ns"}};
constexpr Unit kShares[] = {{0.01, " %"}};

std::span<const Unit> UnitsOf(ColumnFormat format) {
  switch (format) {
    case ColumnFormat::kBytes:
      return kBytes;
    case ColumnFormat::kMicros:
      return kMicros;
    case ColumnFormat::kPercent:
      return kShares;
    default:
      return kCounts;
  }
}

/// Three significant digits without an exponent where a reader expects none.
std::string Digits(double value) {
  const double magnitude = std::abs(value);
  if (magnitude != 0 && (magnitude < 0.001 || magnitude >= 1e6))
    return fmt::format("{:.3g}", value);
  const int decimals = magnitude >= 100 ? 0 : magnitude >= 10 ? 1 : magnitude >= 1 ? 2 : 3;
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (decimals > 0) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text == "-0" ? "0" : text;
}

/// 1, 2 or 5 times a power of ten: the least one that gives at most `most` steps.
double NiceStep(double range, int most) {
  const double rough = range / most;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

/// The unit in which ticks are round.
double TickUnit(double largest, ColumnFormat format) {
  if (format != ColumnFormat::kBytes) return 1;
  for (const Unit& unit : kBytes) {
    if (largest >= unit.size) return unit.size;
  }
  return 1;
}

}  // namespace

std::string FormatShort(double value, ColumnFormat format) {
  if (!std::isfinite(value)) return "-";
  const std::span<const Unit> units = UnitsOf(format);
  const bool counts = units.data() == kCounts;
  if (value == 0)
    return counts ? "0" : std::string("0") + (format == ColumnFormat::kPercent ? " %" : "");
  for (const Unit& unit : units) {
    // 999.9 is written as 1 k, not as 1000.
    if (std::abs(value) >= unit.size * 0.9995) return Digits(value / unit.size) + unit.name;
  }
  return counts ? Digits(value) : Digits(value / units.back().size) + units.back().name;
}

Axis Axis::Linear(const std::vector<double>& values, ColumnFormat format) {
  constexpr int kMostSteps = 5;
  Axis axis;
  axis.format_ = format;
  double low = 0, high = 0;
  for (const double value : values) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  // Half of each, because the difference of two large values may be too large for a double.
  if (high / 2 - low / 2 < 1e-300) high = low + 1;
  const double unit = TickUnit(std::max(high, -low), format);
  const double step = NiceStep((high / 2 - low / 2) / unit * 2, kMostSteps) * unit;
  axis.low_ = std::floor(low / step + 1e-9) * step;
  axis.high_ = std::ceil(high / step - 1e-9) * step;
  const auto steps = static_cast<int>(std::lround((axis.high_ - axis.low_) / step));
  for (int i = 0; i <= steps; ++i) axis.ticks_.push_back(axis.low_ + i * step);
  return axis;
}

Axis Axis::Logarithmic(const std::vector<double>& values, ColumnFormat format) {
  constexpr int kMostTicks = 6;
  Axis axis;
  axis.format_ = format;
  axis.logarithmic_ = true;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const int first = static_cast<int>(std::floor(std::log10(*low) + 1e-9));
  const int last = std::max(first + 1, static_cast<int>(std::ceil(std::log10(*high) - 1e-9)));
  const int stride = (last - first) / kMostTicks + 1;
  axis.low_ = std::pow(10, first);
  axis.high_ = std::pow(10, last);
  for (int power = first; power <= last; power += stride)
    axis.ticks_.push_back(std::pow(10, power));
  return axis;
}

double Axis::Share(double value) const {
  const double share = logarithmic_ ? std::log(value / low_) / std::log(high_ / low_)
                                    : (value / 2 - low_ / 2) / (high_ / 2 - low_ / 2);
  return std::isnan(share) ? 0 : std::clamp(share, 0.0, 1.0);
}

}  // namespace latchkey
