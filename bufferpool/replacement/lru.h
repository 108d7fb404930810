// LRU: the victim is the frame whose last fix is longest ago (thesis 2.4.2). Hits move list nodes,
// so they need the scheme's lock.
#pragma once

#include "bufferpool/replacement/one_list.h"
#include "storage/base/choice_grammar.h"

namespace latchkey {

class LruReplacement final : public OneListReplacement {
 public:
  static constexpr std::string_view kName = "lru";
  static constexpr std::string_view kSummary = "least recently used";
  static constexpr std::span<const ChoiceParameter> kParameters = {};
  static constexpr HitNeeds kHitNeeds = HitNeeds::kLock;

  LruReplacement(const ReplacementConfig& config, std::span<const double> /*parameters*/)
      : OneListReplacement(config) {}

  void OnHit(FrameId frame) override { list_.MoveToNewest(links_, SlotOf(frame)); }
  void PrefetchForHit(FrameId frame, PageId) const override { links_.Prefetch(SlotOf(frame)); }
};

}  // namespace latchkey
