// S3-FIFO (Yang et al., SOSP 2023). New pages pass through a small FIFO queue. Those with two hits
// or more go on to the main queue, a clock that counts up to three. The others are evicted and
// remembered as ghosts. A page that is loaded while it is a ghost enters the main queue.
//
// As in libCacheSim: until the first eviction, the pages that find the small queue full enter the
// main queue.
#pragma once

#include "bufferpool/replacement/ghost_queue.h"
#include "bufferpool/replacement/returning_pages.h"
#include "bufferpool/replacement/two_clocks.h"
#include "storage/base/choice_grammar.h"

namespace latchkey {

class S3FifoReplacement final : public TwoClocks {
 public:
  static constexpr std::string_view kName = "s3-fifo";
  static constexpr std::string_view kSummary = "a small FIFO filters the pages of a clock";
  static constexpr ChoiceParameter kParameters[] = {
      {"small", 0.1, 0, 1, ParameterKind::kNumber, "small queue as a fraction of the cache"},
      {"ghost", 0.9, 0, 4, ParameterKind::kNumber, "ghosts as a fraction of the cache"}};
  /// With fewer, the small queue at its default has no page.
  static constexpr uint32_t kFewestFrames = 10;
  static constexpr size_t BytesPerFrame(std::span<const double> parameters) {
    return TwoClocks::kBytesPerFrame +
           static_cast<size_t>(parameters[1] * GhostQueue::kMostBytesEach) + 1;
  }

  S3FifoReplacement(const ReplacementConfig& config, std::span<const double> parameters)
      : TwoClocks(config, {.limit = 3, .promote_at = 2, .chooses_at_once = true}),
        small_fraction_(parameters[0]),
        ghost_fraction_(parameters[1]) {
    Resize(config.frame_capacity);
  }

  void OnLoad(FrameId frame, PageId page, LoadKind) override {
    const bool returning = returning_.Take(page);
    const bool returns = ghosts_.Remove(page) || returning;
    const bool fills = !has_evicted_ && new_size() >= small_;
    Enter(SlotOf(frame), page, returns || fills ? Queue::kMain : Queue::kNew);
  }

  /// The ghost of `incoming` goes first, so that the victim finds room among the ghosts.
  FrameId Victim(PageId incoming, absl::FunctionRef<bool(FrameId)> evictable) override {
    const FrameSlot slot = TakeVictim(evictable);
    if (slot == kNoFrameSlot) return kNoFrame;
    has_evicted_ = true;
    if (ghosts_.Remove(incoming)) returning_.Add(incoming, 0);
    if (QueueOf(slot) == Queue::kNew) ghosts_.PushNewest(PageOf(slot));
    return FrameOf(slot);
  }

  void Reinstate(FrameId frame) override {
    ghosts_.Remove(PageOf(SlotOf(frame)));
    PutBack(SlotOf(frame));
  }

  void Resize(size_t frames) override {
    GrowArrays(frames);
    ghosts_.SetCapacity(static_cast<size_t>(ghost_fraction_ * static_cast<double>(frames)));
    small_ = static_cast<size_t>(small_fraction_ * static_cast<double>(frames));
    main_ = frames - small_;
  }

 private:
  bool PrefersNew(size_t, size_t main_size) const override { return main_size <= main_; }

  const double small_fraction_;
  const double ghost_fraction_;
  size_t small_ = 0;  // the length at which the small queue gives victims first
  size_t main_ = 0;   // the same for the main queue
  bool has_evicted_ = false;
  GhostQueue ghosts_{0};
  ReturningPages returning_;
};

}  // namespace latchkey
