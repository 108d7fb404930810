// FIFO: the victim is the page that was loaded first. A hit costs nothing.
#pragma once

#include "bufferpool/replacement/one_list.h"
#include "storage/base/choice_grammar.h"

namespace latchkey {

class FifoReplacement final : public OneListReplacement {
 public:
  static constexpr std::string_view kName = "fifo";
  static constexpr std::string_view kSummary = "the page loaded first";
  static constexpr std::span<const ChoiceParameter> kParameters = {};
  static constexpr HitNeeds kHitNeeds = HitNeeds::kNothing;

  FifoReplacement(const ReplacementConfig& config, std::span<const double> /*parameters*/)
      : OneListReplacement(config) {}

  void OnHit(FrameId) override {}
  /// Limit 0: a hit writes nothing and takes no lock.
  std::optional<uint8_t> most_counted_hits() const override { return 0; }
};

}  // namespace latchkey
