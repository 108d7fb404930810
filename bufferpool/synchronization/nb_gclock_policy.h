// Nb-GCLOCK (Yui et al., ICDE 2010): GCLOCK without any lock. A hit adds one to the frame's weight.
// A miss sweeps the frames with a shared clock hand, counts weights down, and takes the first frame
// at weight zero that it can claim.
//
// Each frame has a state:
//
//              OnLoad                    an evictor looks at it
//    kEmpty -----------> kLoaded ------------------------------> kExamined
//      ^                    ^                                     |  |  |
//      |                    +---- claim refused, or Reinstate ----+  |  | OnRemove
//      |                                                             |  v
//      +---- claimed: the evictor owns the frame --------------------+  kRemoved
//      +---- the evictor sees that the page was removed ----------------+
//
// OnRemove of a frame in kLoaded makes it kEmpty at once. nb_gclock.pml is this as a model for spin.
//
// The page's latch is the paper's pin count: `claim` latches the page of a frame that nobody has
// latched. In the paper a frame's key never changes; here a frame that was examined may have got
// another page meanwhile. The claim compares the page once it holds the latch, and the state keeps
// two evictors, and an evictor and a loader, apart.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "bufferpool/fix_policy.h"
#include "bufferpool/synchronization/free_frame_stack.h"
#include "storage/base/zeroed_array.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// The position of the clock hand, which only advances.
enum class ClockHandKind : uint8_t {
  kAtomic,   ///< one counter
  kStriped,  ///< a counter for each of 64 groups of actors; the hand is their sum (Figure 11)
};

struct NbGclockSettings {
  uint8_t initial = 1;  ///< weight of a new page
  uint8_t limit = 3;    ///< hits raise it to at most this
  ClockHandKind hand = ClockHandKind::kAtomic;
};

class NbGclockPolicy final : public FixPolicy {
 public:
  /// REQUIRES: 1 <= frames <= max_frames < 2^32 - 1. May throw std::bad_alloc.
  NbGclockPolicy(Runtime& runtime, const NbGclockSettings& settings, size_t frames,
                 size_t max_frames);

  FrameId TakeFreeFrame(PageId, uint32_t) override { return free_frames_.Pop(); }
  void ReturnFreeFrame(FrameId frame) override { free_frames_.Push(frame); }
  size_t Evict(PageId incoming, std::span<FrameId> victims, absl::FunctionRef<bool(FrameId)> claim,
               uint32_t actor) override;
  void Reinstate(FrameId frame, PageId page, uint32_t actor) override;
  void OnRemove(FrameId frame, PageId page, uint32_t actor) override;
  /// Takes frames from a stretch ahead of the hand, those with the lowest weights first.
  size_t PeekColdest(std::span<FrameId> out) override;
  size_t free_frames() const override { return free_frames_.size(); }
  void TakeFreeFramesAbove(FrameId last, std::vector<FrameId>* taken) override;
  void Resize(size_t frames) override;
  size_t most_victims() const override {
    return UsualVictims(frames_.load(std::memory_order_relaxed));
  }
  /// Zeros: there are no locks.
  FixPolicyStats stats() const override { return {}; }
  size_t bytes_per_frame() const override { return kBytesPerFrame; }
  static constexpr size_t kBytesPerFrame = 6;  // weight, state, free link

 protected:
  void ReportHit(FrameId, PageId, uint32_t) override {}  // weights are reference bytes
  void ReportFirstUse(FrameId, PageId, uint32_t) override {}
  void ReportLoad(FrameId frame, PageId page, LoadKind kind, uint32_t actor) override;

 private:
  enum State : uint8_t { kEmpty, kLoaded, kExamined, kRemoved };

  /// The hand: the number of frames that all sweeps together have passed.
  class Hand {
   public:
    explicit Hand(ClockHandKind kind) : stripes_(kind == ClockHandKind::kAtomic ? 1 : kStripes) {}
    uint64_t Get() const;
    void Advance(Runtime& runtime, uint64_t frames, uint32_t actor) {
      Stripe& stripe = stripes_[actor % stripes_.size()];
      runtime.TakeOver(stripe.word);
      stripe.value.fetch_add(frames, std::memory_order_relaxed);
    }

   private:
    static constexpr size_t kStripes = 64;
    struct alignas(128) Stripe {
      std::atomic<uint64_t> value{0};
      HotWord word;
    };
    std::vector<Stripe> stripes_;
  };

  // Whether the caller now owns `frame`, which it claimed.
  bool TryTake(FrameId frame, absl::FunctionRef<bool(FrameId)> claim);
  // Counts the weight down. Returns whether it was zero.
  bool CountDown(FrameId frame);

  Runtime& runtime_;
  const NbGclockSettings settings_;
  std::atomic<size_t> frames_;
  Hand hand_;
  ZeroedArray<ReferenceByte> weights_;  // indexed by frame id, as the arrays below
  ZeroedArray<std::atomic<uint8_t>> states_;
  ZeroedArray<std::atomic<uint32_t>> free_links_;
  FreeFrameStack free_frames_;
};

}  // namespace latchkey
