// 2Q, full version (Johnson and Shasha, VLDB 1994; thesis 2.4.2). New pages pass through A1in, a
// FIFO whose hits change nothing; when they leave it they are remembered in A1out; a page that is
// loaded again while remembered has proved itself and enters Am, an LRU list.
//
// Kin and Kout are fractions of the cache, by default 1/4 and 1/2. When room is needed, A1in gives
// the victim while it is longer than Kin, else Am does; if all of one are pinned, the other is
// asked.
#pragma once

#include <vector>

#include "bufferpool/policy_spec.h"
#include "bufferpool/replacement/frame_list.h"
#include "bufferpool/replacement/ghost_queue.h"
#include "bufferpool/replacement_algorithm.h"

namespace latchkey {

class TwoQReplacement final : public ReplacementAlgorithm {
 public:
  static constexpr std::string_view kName = "2q";
  static constexpr std::string_view kSummary = "a FIFO for new pages, LRU for those that return";
  static constexpr PolicyParameter kParameters[] = {
      {"kin", 0.25, 0, 1, false, "length of A1in as a fraction of the cache"},
      {"kout", 0.5, 0, 4, false, "ghosts as a fraction of the cache"}};

  TwoQReplacement(const ReplacementConfig& config, std::span<const double> parameters);

  void OnHit(FrameId frame) override;
  void OnLoad(FrameId frame, PageId page) override;
  FrameId Victim(PageId incoming, absl::FunctionRef<bool(FrameId)> evictable) override;
  void OnRemove(FrameId frame) override;
  /// What brings A1in to Kin first; from there on new pages push out A1in's oldest and returning
  /// ones Am's, so both are shown in turn.
  size_t PeekColdest(std::span<FrameId> out) const override;
  void Resize(size_t frames) override;
  size_t size() const override { return a1in_.size() + am_.size(); }

 private:
  enum class Queue : uint8_t { kA1in, kAm };

  FrameSlot SlotOf(FrameId frame) const { return Raw(frame) - first_frame_; }
  FrameId FrameOf(FrameSlot slot) const { return FrameId{first_frame_ + slot}; }
  bool A1inIsOverfull() const { return a1in_.size() > kin_; }
  FrameSlot FindEvictable(const FrameList& list, absl::FunctionRef<bool(FrameId)> evictable) const;
  void Remember(PageId page, PageId incoming);

  const uint32_t first_frame_;
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
