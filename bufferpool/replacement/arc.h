// ARC (Megiddo and Modha, FAST 2003, Figure 4). T1 holds pages seen once, T2 pages seen again, both
// as LRU lists. B1 and B2 remember the pages evicted from them. A miss in B1 or B2 adapts the
// target size of T1.
//
// A miss adapts once: in Victim if a frame must be emptied for the page, else in OnLoad.
#pragma once

#include <vector>

#include "bufferpool/replacement/adaptive_ghosts.h"
#include "bufferpool/replacement/frame_list.h"
#include "bufferpool/replacement/returning_pages.h"
#include "bufferpool/replacement_algorithm.h"
#include "storage/base/choice_grammar.h"

namespace latchkey {

class ArcReplacement final : public ReplacementAlgorithm {
 private:
  enum class Place : uint8_t { kT1, kT2 };

 public:
  static constexpr std::string_view kName = "arc";
  static constexpr std::string_view kSummary = "two LRU lists whose sizes adapt to the misses";
  static constexpr std::span<const ChoiceParameter> kParameters = {};
  static constexpr HitNeeds kHitNeeds = HitNeeds::kLock;
  static constexpr size_t BytesPerFrame(std::span<const double>) {
    return FrameLinks::kBytesEach + sizeof(PageId) + sizeof(Place) + AdaptiveGhosts::kBytesPerFrame;
  }

  ArcReplacement(const ReplacementConfig& config, std::span<const double> parameters);

  void OnHit(FrameId frame) override;
  void PrefetchForHit(FrameId frame, PageId) const override { links_.Prefetch(SlotOf(frame)); }
  void OnLoad(FrameId frame, PageId page, LoadKind kind) override;
  FrameId Victim(PageId incoming, absl::FunctionRef<bool(FrameId)> evictable) override;
  /// The page returns to the end of the list that it left.
  void Reinstate(FrameId frame) override;
  void OnRemove(FrameId frame) override;
  /// First the victims that bring T1 to its target size, then the oldest of T1 and T2 alternate.
  size_t PeekColdest(std::span<FrameId> out) const override;
  void Resize(size_t frames) override;
  size_t size() const override { return t1_.size() + t2_.size(); }

 private:
  FrameList& ListOf(FrameSlot slot) { return place_of_[slot] == Place::kT2 ? t2_ : t1_; }
  AdaptiveGhosts::List GhostsOf(FrameSlot slot) const;

  FrameLinks links_;
  FrameList t1_;
  FrameList t2_;
  std::vector<Place> place_of_;
  std::vector<PageId> page_of_;
  AdaptiveGhosts ghosts_;
  ReturningPages returning_;  // their marks say in which ghost list they were
};

}  // namespace latchkey
