#include "engine/torn_write_protection.h"

#include <array>

namespace latchkey {
namespace {

// In the order of the values.
constexpr std::array<std::string_view, 3> kNames = {"doublewrite", "images", "none"};
static_assert(static_cast<size_t>(TornWriteProtection::kImages) == 1 &&
              static_cast<size_t>(TornWriteProtection::kNone) == 2);

}  // namespace

std::vector<std::string> TornWriteProtectionNames() { return {kNames.begin(), kNames.end()}; }

std::string_view NameOf(TornWriteProtection protection) {
  return kNames[static_cast<size_t>(protection)];
}

std::optional<TornWriteProtection> TornWriteProtectionOf(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<TornWriteProtection>(i);
  }
  return std::nullopt;
}

}  // namespace latchkey
