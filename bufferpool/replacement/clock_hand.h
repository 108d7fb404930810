// The common part of CLOCK and GCLOCK: a hand goes round the frames and counts each frame's
// reference byte down until it finds one at zero.
#pragma once

#include <algorithm>
#include <vector>

#include "bufferpool/replacement/frame_list.h"
#include "bufferpool/replacement_algorithm.h"

namespace latchkey {

/// `initial` is the byte of a newly loaded page; hits raise it to at most `limit`.
class ClockHand : public ReplacementAlgorithm {
 public:
  static constexpr HitNeeds kHitNeeds = HitNeeds::kByte;
  static constexpr size_t BytesPerFrame(std::span<const double>) { return 1; }

  ClockHand(const ReplacementConfig& config, uint8_t initial, uint8_t limit);

  void OnHit(FrameId frame) override;
  void OnLoad(FrameId frame, PageId page, LoadKind kind) override;
  FrameId Victim(PageId incoming, absl::FunctionRef<bool(FrameId)> evictable) override;
  /// The frame keeps its place and its byte; the hand has passed it.
  void Reinstate(FrameId frame) override;
  void OnRemove(FrameId frame) override;
  /// Takes frames from a stretch ahead of the hand, those with the lowest bytes first. The length
  /// of the stretch is bounded, because this runs under the scheme's lock. In practice the stretch
  /// holds as many frames as asked for.
  size_t PeekColdest(std::span<FrameId> out) const override;
  void Resize(size_t frames) override;
  size_t size() const override { return size_; }
  std::optional<uint8_t> most_counted_hits() const override { return limit_; }

 private:
  FrameSlot Advance();
  void Admit(FrameSlot slot);
  void Forget(FrameSlot slot);

  const uint8_t initial_;
  const uint8_t limit_;
  FrameSlot hand_ = 0;
  FrameSlot span_ = 0;  ///< the hand goes round slots [0, span_), which hold all loaded frames
  size_t size_ = 0;
  std::vector<bool> loaded_;
};

}  // namespace latchkey
