// Parses numbers and the seeds of a campaign from its flags: "3..9", or "3".
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace latchkey {

/// The decimal number that is all of `text`. nullopt: there is none, or it exceeds 64 bits.
inline std::optional<uint64_t> ParseNumber(std::string_view text) {
  uint64_t number = 0;
  const char* const stop = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), stop, number);
  if (error != std::errc() || end != stop) return std::nullopt;
  return number;
}

/// Returns false and sets nothing if `text` is no range or a descending one.
template <typename Options>
bool ParseSeeds(std::string_view text, Options* options) {
  const size_t dots = text.find("..");
  const std::optional<uint64_t> first = ParseNumber(text.substr(0, dots));
  const std::optional<uint64_t> last =
      dots == std::string_view::npos ? first : ParseNumber(text.substr(dots + 2));
  if (!first || !last || *last < *first) return false;
  options->first_seed = *first;
  options->seeds = *last - *first + 1;
  return true;
}

}  // namespace latchkey
