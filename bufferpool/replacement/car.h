// CAR: Clock with Adaptive Replacement (Bansal and Modha, FAST 2004, Figure 2). ARC with clocks in
// place of the LRU lists, so that a hit only sets the frame's reference bit. T1 is the new queue, T2
// the main queue. Unlike ARC it adapts after the eviction, so only OnLoad adapts.
#pragma once

#include "bufferpool/replacement/adaptive_ghosts.h"
#include "bufferpool/replacement/two_clocks.h"
#include "storage/base/choice_grammar.h"

namespace latchkey {

class CarReplacement final : public TwoClocks {
 public:
  static constexpr std::string_view kName = "car";
  static constexpr std::string_view kSummary = "ARC with two clocks in place of its LRU lists";
  static constexpr std::span<const ChoiceParameter> kParameters = {};
  static constexpr size_t BytesPerFrame(std::span<const double>) {
    return TwoClocks::kBytesPerFrame + AdaptiveGhosts::kBytesPerFrame;
  }

  CarReplacement(const ReplacementConfig& config, std::span<const double> /*parameters*/)
      : TwoClocks(config, {.limit = 1, .promote_at = 1, .chooses_at_once = false}) {
    ghosts_.Resize(config.frame_capacity);
  }

  void OnLoad(FrameId frame, PageId page, LoadKind) override {
    const AdaptiveGhosts::List missed_in = ghosts_.Find(page);
    const bool returns = missed_in != AdaptiveGhosts::List::kNone;
    if (returns) {
      ghosts_.TakeMiss(page, missed_in);
    } else {
      ghosts_.MakeRoomForNewPage(new_size(), main_size());
    }
    Enter(SlotOf(frame), page, returns ? Queue::kMain : Queue::kNew);
  }

  FrameId Victim(PageId, absl::FunctionRef<bool(FrameId)> evictable) override {
    const FrameSlot slot = TakeVictim(evictable);
    if (slot == kNoFrameSlot) return kNoFrame;
    ghosts_.Remember(PageOf(slot), QueueOf(slot) == Queue::kNew ? AdaptiveGhosts::List::kB1
                                                                : AdaptiveGhosts::List::kB2);
    return FrameOf(slot);
  }

  void Reinstate(FrameId frame) override {
    ghosts_.Forget(PageOf(SlotOf(frame)));
    PutBack(SlotOf(frame));
  }

  void Resize(size_t frames) override {
    GrowArrays(frames);
    ghosts_.Resize(frames);
  }

 private:
  bool PrefersNew(size_t new_size, size_t) const override {
    return static_cast<double>(new_size) >= std::max(1.0, ghosts_.target());
  }

  AdaptiveGhosts ghosts_;
};

}  // namespace latchkey
