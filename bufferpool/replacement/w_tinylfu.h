// W-TinyLFU (Einziger, Friedman and Manes, TinyLFU, ACM TOS 2017). New pages enter the window, a
// small LRU list. The rest of the cache is a segmented LRU list: pages enter probation, and a hit
// moves them to the protected segment. When the window is full, its oldest page competes with the
// oldest page of probation. The one requested less often, by the sketch, is the victim.
//
// As in the Caffeine simulator: the page of the window loses a tie, and one time in 128 it wins
// although it is requested less often, if it is requested often at all. So old counts cannot keep
// it out for ever. A page that was read ahead counts as requested when it is first used.
#pragma once

#include <vector>

#include "bufferpool/replacement/frame_list.h"
#include "bufferpool/replacement/frequency_sketch.h"
#include "bufferpool/replacement_algorithm.h"
#include "storage/base/choice_grammar.h"
#include "storage/base/rng.h"

namespace latchkey {

class WTinyLfuReplacement final : public ReplacementAlgorithm {
 private:
  enum class Segment : uint8_t { kWindow, kProbation, kProtected };

 public:
  static constexpr std::string_view kName = "w-tinylfu";
  static constexpr std::string_view kSummary = "a segmented LRU that admits the more frequent page";
  static constexpr ChoiceParameter kParameters[] = {
      {"window", 0.01, 0, 1, ParameterKind::kNumber, "window as a fraction of the cache"},
      {"protected", 0.8, 0, 1, ParameterKind::kNumber,
       "protected segment as a fraction of the cache without its window"}};
  static constexpr HitNeeds kHitNeeds = HitNeeds::kLock;
  /// A window and a place outside it.
  static constexpr uint32_t kFewestFrames = 2;
  static constexpr size_t BytesPerFrame(std::span<const double>) {
    return FrameLinks::kBytesEach + sizeof(PageId) + sizeof(Segment) +
           FrequencySketch::kMostBytesPerFrame;
  }

  WTinyLfuReplacement(const ReplacementConfig& config, std::span<const double> parameters);

  void OnHit(FrameId frame) override;
  void PrefetchForHit(FrameId frame, PageId page) const override;
  void OnLoad(FrameId frame, PageId page, LoadKind kind) override;
  void OnFirstUse(FrameId frame) override { sketch_.Add(page_of_[SlotOf(frame)]); }
  bool notes_first_use() const override { return true; }
  FrameId Victim(PageId incoming, absl::FunctionRef<bool(FrameId)> evictable) override;
  /// The page returns to the end of the segment that it left.
  void Reinstate(FrameId frame) override;
  void OnRemove(FrameId frame) override;
  /// The losers of the next competitions, then the protected segment from its oldest page on.
  size_t PeekColdest(std::span<FrameId> out) const override;
  void Resize(size_t frames) override;
  size_t size() const override;

 private:
  FrameList& ListOf(Segment segment) { return lists_[static_cast<size_t>(segment)]; }
  const FrameList& ListOf(Segment segment) const { return lists_[static_cast<size_t>(segment)]; }
  void MoveTo(Segment segment, FrameSlot slot);
  bool WindowWillOverflow() const;
  bool WindowLoses(FrameSlot window, FrameSlot probation, Rng& rng) const;

  const double window_fraction_;
  const double protected_fraction_;
  size_t frames_ = 0;
  size_t most_window_ = 0;
  size_t most_protected_ = 0;
  FrameLinks links_;
  FrameList lists_[3];
  std::vector<Segment> segment_of_;
  std::vector<PageId> page_of_;
  FrequencySketch sketch_;
  Rng rng_;
};

}  // namespace latchkey
