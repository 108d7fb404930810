#include "bufferpool/policy_presets.h"

#include <fmt/format.h>

#include "bufferpool/replacement/replacement_list.h"
#include "bufferpool/synchronization/synchronization_list.h"
#include "storage/base/status_macros.h"

namespace latchkey {
namespace {

constexpr std::string_view kTpds = "BP-Wrapper (TPDS 2016)";
constexpr std::string_view kYui = "Nb-GCLOCK (ICDE 2010)";
constexpr std::string_view kOzawa = "Thread-specific buffer (2021)";

// PostgreSQL's queue and free lists as the paper set them: 64 entries, threshold 32, 64 free lists
// that 64 victims refill.
constexpr PolicyPreset kPresets[] = {
    {"pgclock", "clock", "global", kTpds},
    {"pg2q", "2q", "global", kTpds},
    {"pgbatching", "2q", "bp-wrapper:prefetch=off", kTpds},
    {"pgpref", "2q", "bp-wrapper:queue=1:threshold=1:free_lists=1:refill=1", kTpds},
    {"pgbat-pre", "2q", "bp-wrapper", kTpds},
    {"pgbat-pre-lirs", "lirs", "bp-wrapper", kTpds},
    {"pgbat-pre-mq", "mq", "bp-wrapper", kTpds},
    {"buflru", "lru", "global", kTpds},
    {"bufdistlock", "lru", "regions:64", kTpds},
    {"bufbatching", "lru", "bp-wrapper:prefetch=off", kTpds},
    {"bufbat-pref", "lru", "bp-wrapper", kTpds},
    {"bufbp-distlock", "lru", "bp-wrapper:regions=64:free_lists=1", kTpds},
    {"bufbp-prim", "lru", "bp-wrapper:free_lists=1:refill=1", kTpds},
    {"clock-bp", "clock", "bp-wrapper", kTpds},
    {"nb-gclock-atomic", "gclock:limit=127", "nb-gclock:hand=atomic", kYui},
    {"nb-gclock-stripe", "gclock:limit=127", "nb-gclock:hand=striped", kYui},
    {"nb-gclock3", "gclock:limit=3", "nb-gclock:hand=striped", kYui},
    {"sep", "gclock", "separate", kOzawa},
    {"shr-1", "gclock", "global:hits=locked", kOzawa},
    {"shr-16", "gclock", "regions:n=16:hits=locked", kOzawa},
    {"shr-512", "gclock", "regions:n=512:hits=locked", kOzawa},
};

constexpr std::string_view kMultiRegion = "mr-";

// `text` is what follows "mr-": ALG:N.
absl::StatusOr<PolicyItems> ParseMultiRegion(std::string_view policy, std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return InvalidArgument(
        "policy {}: the number of regions is missing; give mr-ALG:N, such as mr-lru:64", policy);
  }
  PolicyItems items{.replacement = std::string(text.substr(0, colon)),
                    .synchronization = fmt::format("regions:{}", text.substr(colon + 1))};
  LATCHKEY_RETURN_IF_ERROR(ReplacementAlgorithms().Parse(items.replacement).status());
  LATCHKEY_RETURN_IF_ERROR(SynchronizationSchemes().Parse(items.synchronization).status());
  return items;
}

}  // namespace

std::span<const PolicyPreset> PolicyPresets() { return kPresets; }

std::string KnownPolicies() {
  std::string names;
  for (const PolicyPreset& preset : kPresets) names += std::string(preset.name) + ", ";
  return names + "mr-ALG:N";
}

absl::StatusOr<PolicyItems> ParsePolicy(std::string_view policy) {
  if (policy.starts_with(kMultiRegion)) {
    return ParseMultiRegion(policy, policy.substr(kMultiRegion.size()));
  }
  for (const PolicyPreset& preset : kPresets) {
    if (preset.name == policy) {
      return PolicyItems{.replacement = std::string(preset.replacement),
                         .synchronization = std::string(preset.synchronization)};
    }
  }
  return InvalidArgument(
      "unknown policy {}; known: {} (N regions of the replacement algorithm ALG)", policy,
      KnownPolicies());
}

}  // namespace latchkey
