// Parses the values of flags: lists, sizes, durations, counts, shares. Every error names the flag,
// the value and the allowed values.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "storage/runtime/runtime.h"

namespace latchkey {

inline constexpr uint64_t kMiB = uint64_t{1} << 20;
inline constexpr uint64_t kBytesPerMb = 1'000'000;

/// The items of a comma-separated list. InvalidArgument: the list or an item is empty.
absl::StatusOr<std::vector<std::string>> SplitList(std::string_view flag, std::string_view text);

/// A whole number with an optional k, M or G (thousands): "10M" = 10'000'000. `also`: the values
/// beside the numbers that the caller accepts, for the message (", or auto").
absl::StatusOr<uint64_t> ParseCount(std::string_view flag, std::string_view text, uint64_t min,
                                    uint64_t max, std::string_view also = "");

/// A number of things, or a share of a whole.
struct CountOrShare {
  uint64_t count = 0;  ///< 0: the share counts
  double share = 0;

  /// At least 1.
  uint64_t Of(uint64_t whole) const;
};
/// "1000", "10M", "5%". `min` and `max` are of a number; a percentage is at most 1000. `whole` names
/// what it is a share of. REQUIRES: `min` >= 1.
absl::StatusOr<CountOrShare> ParseCountOrShare(std::string_view flag, std::string_view text,
                                               uint64_t min, uint64_t max, std::string_view whole);

/// "4096", "64KiB", "1.5GiB", "64k", "1GB": sizes of memory and pages. All units are binary.
/// `also` as in ParseCount.
absl::StatusOr<uint64_t> ParseBytes(std::string_view flag, std::string_view text, uint64_t min,
                                    uint64_t max, std::string_view also = "");

/// As above; the size must be a power of two.
absl::StatusOr<uint32_t> ParsePowerOfTwo(std::string_view flag, std::string_view text, uint32_t min,
                                         uint32_t max, std::string_view also = "");

/// "30" and "30s" are seconds; also "500ms", "2m", "1h". At most 1,000 hours.
absl::StatusOr<Nanos> ParseDuration(std::string_view flag, std::string_view text);

absl::StatusOr<double> ParseNumber(std::string_view flag, std::string_view text, double min,
                                   double max);

/// Bytes from `min` to the memory of this machine. The engine accepts more; here more is refused as
/// a mistake.
absl::StatusOr<uint64_t> ParseMemory(std::string_view flag, std::string_view text, uint64_t min);

/// As above, or a percentage of `data_bytes`: "25%".
absl::StatusOr<uint64_t> ParseCacheSize(std::string_view flag, std::string_view text,
                                        uint64_t data_bytes);

}  // namespace latchkey
