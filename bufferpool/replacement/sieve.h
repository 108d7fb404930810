// SIEVE (Zhang et al., NSDI 2024). One queue in order of loading. A hand goes from the oldest page
// to the newest one and starts again at the oldest. It clears the bits of the pages hit since its
// last visit and evicts the first page without one. Unlike CLOCK it leaves spared pages where they
// are, so new pages and old ones do not mix.
#pragma once

#include "bufferpool/replacement/frame_list.h"
#include "bufferpool/replacement_algorithm.h"
#include "storage/base/choice_grammar.h"

namespace latchkey {

class SieveReplacement final : public ReplacementAlgorithm {
 public:
  static constexpr std::string_view kName = "sieve";
  static constexpr std::string_view kSummary = "a FIFO with a hand that spares referenced frames";
  static constexpr std::span<const ChoiceParameter> kParameters = {};
  static constexpr HitNeeds kHitNeeds = HitNeeds::kByte;
  static constexpr size_t BytesPerFrame(std::span<const double>) { return FrameLinks::kBytesEach; }

  SieveReplacement(const ReplacementConfig& config, std::span<const double> parameters);

  void OnHit(FrameId frame) override;
  void OnLoad(FrameId frame, PageId page, LoadKind kind) override;
  FrameId Victim(PageId incoming, absl::FunctionRef<bool(FrameId)> evictable) override;
  /// The page enters the queue where the hand is, and the hand looks at it next.
  void Reinstate(FrameId frame) override;
  void OnRemove(FrameId frame) override { Unlink(SlotOf(frame)); }
  /// The pages without a bit in the hand's order, then the others. Looks at a bounded number of
  /// pages, because this runs under the scheme's lock.
  size_t PeekColdest(std::span<FrameId> out) const override;
  void Resize(size_t frames) override { links_.Grow(frames); }
  size_t size() const override { return queue_.size(); }
  std::optional<uint8_t> most_counted_hits() const override { return 1; }

 private:
  bool Referenced(FrameSlot slot) const { return ByteOf(slot).hits() != 0; }
  FrameSlot OrOldest(FrameSlot slot) const { return slot == kNoFrameSlot ? queue_.oldest() : slot; }
  void Unlink(FrameSlot slot);

  FrameLinks links_;
  FrameList queue_;
  FrameSlot hand_ = kNoFrameSlot;  // the page to look at next; kNoFrameSlot: the oldest
};

}  // namespace latchkey
