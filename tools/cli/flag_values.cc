#include "tools/cli/flag_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "storage/base/quantity.h"
#include "storage/base/ranged_value.h"
#include "storage/base/status_macros.h"
#include "tpcc-lite/report/environment.h"

namespace latchkey {
namespace {

// The range of a CountOrShare that is a percentage.
constexpr double kLeastPercent = 0.0001, kMostPercent = 1000;

std::string Subject(std::string_view flag) { return "--" + std::string(flag); }

/// nullopt: `text` is no number of bytes.
std::optional<uint64_t> BytesOf(std::string_view text) {
  const std::optional<double> bytes = ParseQuantity(text, ByteUnits());
  if (!bytes || *bytes >= 0x1p63) return std::nullopt;
  return static_cast<uint64_t>(*bytes);
}

absl::Status CheckMemory(std::string_view flag, std::string_view text, uint64_t bytes) {
  const std::optional<uint64_t> all = PhysicalMemoryBytes();
  if (!all || bytes <= *all) return absl::OkStatus();
  return InvalidArgument("--{}={}: more than the {} bytes of this machine's memory; give less",
                         flag, text, *all);
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
                                    uint64_t max, std::string_view also) {
  return CountInRange(Subject(flag), text, min, max, also);
}

uint64_t CountOrShare::Of(uint64_t whole) const {
  if (count > 0) return count;
  return std::max<uint64_t>(1, std::llround(share * static_cast<double>(whole)));
}

absl::StatusOr<CountOrShare> ParseCountOrShare(std::string_view flag, std::string_view text,
                                               uint64_t min, uint64_t max, std::string_view whole) {
  const std::string also = fmt::format(", or {}% to {}% of {}", kLeastPercent, kMostPercent, whole);
  CountOrShare parsed;
  if (!text.empty() && text.back() == '%') {
    const auto percent =
        ParseNumber(flag, text.substr(0, text.size() - 1), kLeastPercent, kMostPercent);
    // No whole number ends in "%", so this names the value and both ranges.
    if (!percent.ok()) return ParseCount(flag, text, min, max, also).status();
    parsed.share = *percent / 100;
    return parsed;
  }
  LATCHKEY_ASSIGN_OR_RETURN(parsed.count, ParseCount(flag, text, min, max, also));
  return parsed;
}

absl::StatusOr<uint64_t> ParseBytes(std::string_view flag, std::string_view text, uint64_t min,
                                    uint64_t max, std::string_view also) {
  return BytesInRange(Subject(flag), text, min, max, also);
}

absl::StatusOr<uint32_t> ParsePowerOfTwo(std::string_view flag, std::string_view text, uint32_t min,
                                         uint32_t max, std::string_view also) {
  return PowerOfTwoInRange(Subject(flag), text, min, max, also);
}

absl::StatusOr<uint64_t> ParseMemory(std::string_view flag, std::string_view text, uint64_t min) {
  const std::optional<uint64_t> bytes = BytesOf(text);
  if (!bytes || *bytes < min) {
    return ParseBytes(flag, text, min, PhysicalMemoryBytes().value_or(INT64_MAX));
  }
  LATCHKEY_RETURN_IF_ERROR(CheckMemory(flag, text, *bytes));
  return *bytes;
}

absl::StatusOr<Nanos> ParseDuration(std::string_view flag, std::string_view text) {
  const std::optional<double> nanos = ParseQuantity(text, TimeUnits());
  if (nanos && *nanos <= 3.6e15) return static_cast<Nanos>(*nanos);
  return InvalidArgument("--{}={}: give a time up to 1000h, e.g. 30, 500ms or 2m", flag, text);
}

absl::StatusOr<double> ParseNumber(std::string_view flag, std::string_view text, double min,
                                   double max) {
  return NumberInRange(Subject(flag), text, min, max);
}

absl::StatusOr<uint64_t> ParseCacheSize(std::string_view flag, std::string_view text,
                                        uint64_t data_bytes) {
  if (!text.empty() && text.back() == '%') {
    const auto percent = ParseNumber(flag, text.substr(0, text.size() - 1), 0.001, 100'000);
    if (!percent.ok()) {
      return InvalidArgument("--{}={}: give 0.001% to 100000% of the data, or bytes (256MiB, 1GiB)",
                             flag, text);
    }
    const auto bytes = static_cast<uint64_t>(*percent / 100 * static_cast<double>(data_bytes));
    LATCHKEY_RETURN_IF_ERROR(CheckMemory(flag, text, bytes));
    return bytes;
  }
  if (!BytesOf(text)) {
    return InvalidArgument(
        "--{}={}: give bytes, up to the machine's memory (256MiB, 1GiB), or a share of the data "
        "(25%)",
        flag, text);
  }
  return ParseMemory(flag, text, 0);
}

}  // namespace latchkey
