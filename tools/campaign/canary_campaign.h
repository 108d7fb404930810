// The campaign `canaries`: proves that the other campaigns find what they are for. Every seeded bug
// is selected in a run of its own and must be caught; without one the same runs must pass.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tools/campaign/canary_hunt.h"
#include "tools/campaign/canary_list.h"

namespace latchkey {

struct CanaryOptions {
  std::string program;     ///< path of a latchkey_campaign that was built with canaries
  uint32_t jobs = 2;       ///< runs at a time
  uint64_t limit_s = 300;  ///< of one run
};

/// How one canary fared. It is tried on one net after the other until it is caught.
struct CanaryFate {
  const Canary* canary = nullptr;
  const CanaryNet* net = nullptr;  ///< the one of `result`
  HuntResult result{};             ///< of the last net tried
  uint64_t met = 0;                ///< in all nets tried together
};

struct CanaryReport {
  std::vector<CanaryFate> fates;   ///< in the order of the canaries
  std::vector<std::string> wrong;  ///< nets that find mistakes where there are none, and the like
  uint64_t caught = 0;
  uint64_t runs = 0;
};

/// Runs every canary on `nets`, and those without a canary.
CanaryReport HuntCanaries(Runtime& runtime, std::span<const Canary* const> canaries,
                          std::span<const CanaryNet> nets, const CanaryOptions& options);

/// The campaign `canaries`.
int RunCanaryCampaign(const std::vector<std::string>& arguments);

}  // namespace latchkey
