// Hot and cold region (the buffer of the Oracle server, as BP-Wrapper III.D describes it). The hot
// region is a FIFO, and a hit there changes nothing. The cold region gives the victims; new pages
// enter it. A hit there moves the page into the hot region. When the hot region is longer than its
// limit, its oldest page moves to the cold one.
//
// The reference byte of a frame in the hot region is marked, so that a scheme sees without a lock
// that a hit changes nothing (Figure 7).
#pragma once

#include <cstdint>
#include <vector>

#include "bufferpool/replacement/frame_list.h"
#include "bufferpool/replacement_algorithm.h"
#include "storage/base/choice_grammar.h"

namespace latchkey {

class HotColdReplacement final : public ReplacementAlgorithm {
 private:
  enum class Region : uint8_t { kCold, kHot };

 public:
  static constexpr std::string_view kName = "hot-cold";
  static constexpr std::string_view kSummary = "a FIFO of hot pages whose hits are free, LRU below";
  static constexpr ChoiceParameter kParameters[] = {
      {"hot", 0.5, 0, 1, ParameterKind::kNumber,
       "length of the hot region as a fraction of the cache"}};
  static constexpr HitNeeds kHitNeeds = HitNeeds::kLockUnlessMarked;
  static constexpr size_t BytesPerFrame(std::span<const double>) {
    return FrameLinks::kBytesEach + sizeof(Region);
  }

  HotColdReplacement(const ReplacementConfig& config, std::span<const double> parameters);

  void OnHit(FrameId frame) override;
  void PrefetchForHit(FrameId frame, PageId) const override { links_.Prefetch(SlotOf(frame)); }
  void OnLoad(FrameId frame, PageId page, LoadKind kind) override;
  FrameId Victim(PageId incoming, absl::FunctionRef<bool(FrameId)> evictable) override;
  void Reinstate(FrameId frame) override;
  void OnRemove(FrameId frame) override;
  /// The cold region first, then the hot one.
  size_t PeekColdest(std::span<FrameId> out) const override;
  void Resize(size_t frames) override;
  size_t size() const override { return hot_.size() + cold_.size(); }
  bool marks_free_hits() const override { return true; }

 private:
  void Enter(FrameSlot slot, Region region);
  void ShortenHot();

  const double hot_fraction_;
  size_t most_hot_ = 0;
  FrameLinks links_;
  FrameList hot_;
  FrameList cold_;
  std::vector<Region> region_of_;
};

}  // namespace latchkey
