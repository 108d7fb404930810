// 2Q, full version (Johnson and Shasha, VLDB 1994; thesis 2.4.2). New pages pass through A1in, a
// FIFO in which hits change nothing. A page evicted from A1in is remembered as a ghost in A1out. If
// it is loaded again while it is a ghost, it enters Am, an LRU list.
//
// Kin and Kout are fractions of the cache, by default 1/4 and 1/2. The victim comes from A1in while
// A1in is longer than Kin, else from Am. If all pages of that list are pinned, it comes from the
// other.
#pragma once

#include <vector>

#include "bufferpool/replacement/frame_list.h"
#include "bufferpool/replacement/ghost_queue.h"
#include "bufferpool/replacement_algorithm.h"
#include "storage/base/choice_grammar.h"

namespace latchkey {

class TwoQReplacement final : public ReplacementAlgorithm {
 private:
  enum class Queue : uint8_t { kA1in, kAm };

 public:
  static constexpr std::string_view kName = "2q";
  static constexpr std::string_view kSummary = "a FIFO for new pages, LRU for those that return";
  static constexpr ChoiceParameter kParameters[] = {
      {"kin", 0.25, 0, 1, ParameterKind::kNumber, "length of A1in as a fraction of the cache"},
      {"kout", 0.5, 0, 4, ParameterKind::kNumber, "ghosts as a fraction of the cache"}};
  static constexpr HitNeeds kHitNeeds = HitNeeds::kLock;
  static constexpr size_t BytesPerFrame(std::span<const double> parameters) {
    return FrameLinks::kBytesEach + sizeof(PageId) + sizeof(Queue) +
           static_cast<size_t>(parameters[1] * GhostQueue::kMostBytesEach) + 1;
  }

  TwoQReplacement(const ReplacementConfig& config, std::span<const double> parameters);

  void OnHit(FrameId frame) override;
  void PrefetchForHit(FrameId frame, PageId) const override { links_.Prefetch(SlotOf(frame)); }
  void OnLoad(FrameId frame, PageId page, LoadKind kind) override;
  FrameId Victim(PageId incoming, absl::FunctionRef<bool(FrameId)> evictable) override;
  /// The page returns to the end of the list that it left.
  void Reinstate(FrameId frame) override;
  void OnRemove(FrameId frame) override;
  /// First the victims that bring A1in to length Kin. After that the next victim depends on whether
  /// new or returning pages are loaded, so the oldest of A1in and of Am alternate.
  size_t PeekColdest(std::span<FrameId> out) const override;
  void Resize(size_t frames) override;
  size_t size() const override { return a1in_.size() + am_.size(); }

 private:
  bool A1inIsOverfull() const { return a1in_.size() > kin_; }

  const double kin_fraction_;
  const double kout_fraction_;
  size_t kin_ = 0;
  size_t kout_ = 0;
  FrameLinks links_;
  FrameList a1in_;
  FrameList am_;
  std::vector<Queue> queue_of_;
  std::vector<PageId> page_of_;
  GhostQueue a1out_;
};

}  // namespace latchkey
