#include "storage/base/ranged_value.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "storage/base/quantity.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

/// ", e.g. 4096 or 64KiB": at most three sizes, all within the range. "" if none of them is.
std::string ExampleBytes(uint64_t min, uint64_t max) {
  constexpr std::string_view kExamples[] = {"4096", "64KiB", "1.5MiB", "256MiB", "1.5GiB"};
  constexpr size_t kMost = 3;
  std::vector<std::string_view> fitting;
  for (const std::string_view example : kExamples) {
    const auto bytes = static_cast<uint64_t>(*ParseQuantity(example, ByteUnits()));
    if (bytes >= min && bytes <= max && fitting.size() < kMost) fitting.push_back(example);
  }
  std::string text;
  for (size_t i = 0; i < fitting.size(); ++i) {
    const bool last = i + 1 == fitting.size();
    text += (i == 0 ? ", e.g. " : last ? " or " : ", ") + std::string(fitting[i]);
  }
  return text;
}

}  // namespace

absl::StatusOr<uint64_t> CountInRange(std::string_view subject, std::string_view text, uint64_t min,
                                      uint64_t max, std::string_view also) {
  uint64_t exact = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exact);
  bool valid = error == std::errc() && end == text.data() + text.size();
  const std::optional<double> scaled = ParseQuantity(text, CountUnits());
  if (!valid && scaled && *scaled < 0x1p63 && std::floor(*scaled) == *scaled) {
    exact = static_cast<uint64_t>(*scaled);
    valid = true;
  }
  if (valid && exact >= min && exact <= max) return exact;
  return InvalidArgument("{}={}: give a whole number from {} to {}{}", subject, text, min, max,
                         also);
}

absl::StatusOr<uint64_t> BytesInRange(std::string_view subject, std::string_view text, uint64_t min,
                                      uint64_t max, std::string_view also) {
  const std::optional<double> bytes = ParseQuantity(text, ByteUnits());
  if (bytes && *bytes < 0x1p63) {
    const auto whole = static_cast<uint64_t>(*bytes);
    if (whole >= min && whole <= max) return whole;
  }
  return InvalidArgument("{}={}: give {} to {} bytes{}{}", subject, text, min, max,
                         ExampleBytes(min, max), also);
}

absl::StatusOr<uint32_t> PowerOfTwoInRange(std::string_view subject, std::string_view text,
                                           uint32_t min, uint32_t max, std::string_view also) {
  const absl::StatusOr<uint64_t> bytes = BytesInRange(subject, text, min, max);
  if (bytes.ok() && std::has_single_bit(*bytes)) return static_cast<uint32_t>(*bytes);
  return InvalidArgument("{}={}: give a power of two from {} to {}{}", subject, text, min, max,
                         also);
}

absl::StatusOr<double> NumberInRange(std::string_view subject, std::string_view text, double min,
                                     double max) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  // This form refuses NaN, too.
  if (error == std::errc() && end == text.data() + text.size() && number >= min && number <= max) {
    return number;
  }
  return InvalidArgument("{}={}: give a number from {} to {}", subject, text, min, max);
}

}  // namespace latchkey
