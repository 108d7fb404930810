// CLOCK: LRU approximated with one reference bit per frame (thesis 2.4.2). A page enters with its
// bit off, so only a hit after the load sets the bit. On OLTP traces the hit ratio is two
// percentage points better than if a page enters with its bit on.
#pragma once

#include "bufferpool/replacement/clock_hand.h"
#include "storage/base/choice_grammar.h"

namespace latchkey {

class ClockReplacement final : public ClockHand {
 public:
  static constexpr std::string_view kName = "clock";
  static constexpr std::string_view kSummary = "a hand that spares each referenced frame once";
  static constexpr std::span<const ChoiceParameter> kParameters = {};

  ClockReplacement(const ReplacementConfig& config, std::span<const double> /*parameters*/)
      : ClockHand(config, 0, 1) {}
};

}  // namespace latchkey
