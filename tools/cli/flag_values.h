// The values that flags take: lists, sizes, durations, counts, shares. Every error names the flag,
// the value and what is allowed.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "storage/runtime/runtime.h"

namespace latchkey {

/// The items of a comma-separated list. InvalidArgument for an empty list or item.
absl::StatusOr<std::vector<std::string>> SplitList(std::string_view flag, std::string_view text);

/// A whole number with an optional k, M or G (thousands): "10M" = 10'000'000.
absl::StatusOr<uint64_t> ParseCount(std::string_view flag, std::string_view text, uint64_t min,
                                    uint64_t max);

/// "4096", "64KiB", "1.5GiB", "64k", "1GB" (binary all of them: sizes of memory and pages).
absl::StatusOr<uint64_t> ParseBytes(std::string_view flag, std::string_view text);

/// "30" and "30s" are seconds; "500ms", "2m", "1h". Up to a thousand hours.
absl::StatusOr<Nanos> ParseDuration(std::string_view flag, std::string_view text);

absl::StatusOr<double> ParseNumber(std::string_view flag, std::string_view text, double min,
                                   double max);

/// Bytes, or a percentage of `data_bytes`: "25%".
absl::StatusOr<uint64_t> ParseCacheSize(std::string_view flag, std::string_view text,
                                        uint64_t data_bytes);

/// OK when `value` is one of `known`; otherwise InvalidArgument that lists them.
absl::Status CheckKnown(std::string_view flag, std::string_view value,
                        const std::vector<std::string>& known);

}  // namespace latchkey
