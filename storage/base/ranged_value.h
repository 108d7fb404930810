// Numbers and sizes from text, each within a range. One parser for the flags of the command line and
// for the options that a database takes by name. An error is InvalidArgument and reads
// "SUBJECT=TEXT: give ...": it names the subject, the text and the range. `also` names the values
// beside the range that the caller accepts (", or auto").
//
// Thread-safety: every function is pure.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string_view>

namespace latchkey {

/// A whole number with an optional k, M or G (thousands): "10M" = 10'000'000.
absl::StatusOr<uint64_t> CountInRange(std::string_view subject, std::string_view text, uint64_t min,
                                      uint64_t max, std::string_view also = "");

/// "4096", "64KiB", "1.5GiB", "64k", "1GB": bytes. All units are binary.
absl::StatusOr<uint64_t> BytesInRange(std::string_view subject, std::string_view text, uint64_t min,
                                      uint64_t max, std::string_view also = "");

/// As BytesInRange; the size must be a power of two.
absl::StatusOr<uint32_t> PowerOfTwoInRange(std::string_view subject, std::string_view text,
                                           uint32_t min, uint32_t max, std::string_view also = "");

absl::StatusOr<double> NumberInRange(std::string_view subject, std::string_view text, double min,
                                     double max);

}  // namespace latchkey
