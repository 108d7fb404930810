// The campaign `canaries` tests the other campaigns. It selects every seeded bug in a run of its
// own, and a campaign must catch it. Without a bug the same runs must pass.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tools/campaign/canary/canary_hunt.h"
#include "tools/campaign/canary/canary_list.h"

namespace latchkey {

struct CanaryOptions {
  std::string program;     ///< path of a latchkey_campaign that was built with canaries
  uint32_t jobs = 2;       ///< runs at a time
  uint64_t limit_s = 300;  ///< of one run
};

/// Result of one canary. The nets are tried in turn until one catches it.
struct CanaryFate {
  const Canary* canary = nullptr;
  const CanaryNet* net = nullptr;  ///< the campaign of `result`
  HuntResult result{};             ///< of the last net tried
  uint64_t met = 0;                ///< in all nets tried together
};

struct CanaryReport {
  std::vector<CanaryFate> fates;   ///< in the order of the canaries
  std::vector<std::string> wrong;  ///< for example nets that find mistakes without a canary
  uint64_t caught = 0;
  uint64_t runs = 0;
};

/// Runs every canary on `nets`, and every net once without a canary.
CanaryReport HuntCanaries(Runtime& runtime, std::span<const Canary* const> canaries,
                          std::span<const CanaryNet> nets, const CanaryOptions& options);

/// The campaign `canaries`.
int RunCanaryCampaign(const std::vector<std::string>& arguments);

}  // namespace latchkey
