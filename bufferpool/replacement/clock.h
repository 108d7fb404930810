// CLOCK: LRU approximated with one reference bit per frame (thesis 2.4.2). A page enters with its
// bit off: the first hit counts as the first sign of use (on OLTP traces two points better than
// entering with the bit on).
#pragma once

#include "bufferpool/policy_spec.h"
#include "bufferpool/replacement/clock_hand.h"

namespace latchkey {

class ClockReplacement final : public ClockHand {
 public:
  static constexpr std::string_view kName = "clock";
  static constexpr std::string_view kSummary = "a hand that spares each referenced frame once";
  static constexpr std::span<const PolicyParameter> kParameters = {};

  ClockReplacement(const ReplacementConfig& config, std::span<const double> /*parameters*/)
      : ClockHand(config, 0, 1) {}
};

}  // namespace latchkey
