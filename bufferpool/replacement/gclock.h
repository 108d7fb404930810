// GCLOCK: CLOCK with a weighting counter in place of the bit, so that frequency counts too
// (Nb-GCLOCK paper, section II). As there, the counter starts at 1; limit=3 is its "Nb-GCLOCK3",
// which also bounds the rounds that a victim costs.
#pragma once

#include "bufferpool/policy_spec.h"
#include "bufferpool/replacement/clock_hand.h"

namespace latchkey {

class GclockReplacement final : public ClockHand {
 public:
  static constexpr std::string_view kName = "gclock";
  static constexpr std::string_view kSummary = "CLOCK with a counter of references";
  static constexpr PolicyParameter kParameters[] = {
      {"limit", 3, 1, 255, true, "highest counter"},
      {"initial", 1, 0, 1, true, "counter of a new page"}};

  GclockReplacement(const ReplacementConfig& config, std::span<const double> parameters)
      : ClockHand(config, static_cast<uint8_t>(parameters[1]),
                  static_cast<uint8_t>(parameters[0])) {}
};

}  // namespace latchkey
