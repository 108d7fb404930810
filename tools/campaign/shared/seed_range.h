// Parses the seeds of a campaign from its flags: "3..9", or "3".
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace latchkey {

/// Returns false and sets nothing if `text` is no range or a descending one.
template <typename Options>
bool ParseSeeds(const std::string& text, Options* options) {
  const size_t dots = text.find("..");
  uint64_t first = 0, last = 0;
  if (!CLI::detail::lexical_cast(text.substr(0, dots), first)) return false;
  last = first;
  if (dots != std::string::npos && !CLI::detail::lexical_cast(text.substr(dots + 2), last)) {
    return false;
  }
  if (last < first) return false;
  options->first_seed = first;
  options->seeds = last - first + 1;
  return true;
}

}  // namespace latchkey
