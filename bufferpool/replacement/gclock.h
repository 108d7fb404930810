// GCLOCK: CLOCK with a counter in place of the bit, so that frequency counts too (Nb-GCLOCK paper,
// section II). As in the paper the counter starts at 1. limit=3 is the paper's "Nb-GCLOCK3"; it
// also bounds the number of rounds until a victim is found.
#pragma once

#include "bufferpool/replacement/clock_hand.h"
#include "storage/base/choice_grammar.h"

namespace latchkey {

class GclockReplacement final : public ClockHand {
 public:
  static constexpr std::string_view kName = "gclock";
  static constexpr std::string_view kSummary = "CLOCK with a counter of references";
  static constexpr ChoiceParameter kParameters[] = {
      {"limit", 3, 1, 127, ParameterKind::kWhole, "highest counter"},
      {"initial", 1, 0, 1, ParameterKind::kWhole, "counter of a new page"}};

  GclockReplacement(const ReplacementConfig& config, std::span<const double> parameters)
      : ClockHand(config, static_cast<uint8_t>(parameters[1]),
                  static_cast<uint8_t>(parameters[0])) {}
};

}  // namespace latchkey
