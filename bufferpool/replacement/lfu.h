// LFU: the victim is the page with the fewest fixes since it was loaded; among equals the one that
// reached its count first. A count starts at 1 and is lost with the page. A hit moves an entry of a
// heap.
#pragma once

#include <compare>

#include "bufferpool/replacement/one_heap.h"
#include "storage/base/choice_grammar.h"

namespace latchkey {

/// How often a page was fixed, and the request that brought it to this count.
struct FixCount {
  uint64_t count;
  uint64_t since;
  auto operator<=>(const FixCount&) const = default;
};

class LfuReplacement final : public OneHeapReplacement<FixCount> {
 public:
  static constexpr std::string_view kName = "lfu";
  static constexpr std::string_view kSummary = "fewest fixes since the page was loaded";
  static constexpr std::span<const ChoiceParameter> kParameters = {};
  static constexpr HitNeeds kHitNeeds = HitNeeds::kLock;

  LfuReplacement(const ReplacementConfig& config, std::span<const double> /*parameters*/)
      : OneHeapReplacement(config) {}

  void OnHit(FrameId frame) override {
    const FrameSlot slot = SlotOf(frame);
    heap_.Update(slot, {heap_.KeyOf(slot).count + 1, ++now_});
  }
  void OnLoad(FrameId frame, PageId, LoadKind) override {
    heap_.Insert(SlotOf(frame), {1, ++now_});
  }

 private:
  uint64_t now_ = 0;  // requests so far
};

}  // namespace latchkey
