// The word of a page: one 64-bit atomic that holds the frame, the latch and the version of the page.
//
//    63            34 33          8 7      0
//   +----------------+-------------+--------+
//   |    version     |    frame    | latch  |     frame: 0 = not resident
//   +----------------+-------------+--------+     latch: 0 free, 1..254 shared holders,
//                                                        255 exclusive
//
// State machine of a word (f = resident in frame f, - = not resident, x = either; n = 1..254
// shared holders; v = version). Each arrow is the function of PageWord with its name; nothing else
// changes a word.
//
//   load      (-, free, v)      --TryBeginLoad------> (-, exclusive, v)
//             (-, exclusive, v) --SetFrame----------> (f, exclusive, v)
//             (f, exclusive, v) --EndLoad-----------> (f, free | 1 | exclusive, v)
//             (-, exclusive, v) --AbandonLoad-------> (-, free, v)
//   shared    (f, free | n, v)  --TryLatchShared----> (f, 1 | n+1, v)
//             (f, free | n, v)  --TryUpgradeShared--> (f, 1 | n+1, v)
//             (f, n, v)         --ReleaseShared-----> (f, n-1 | free, v)
//   exclusive (x, free, v)      --TryLatchExclusive-> (x, exclusive, v)
//             (f, free, v)      --TryUpgrade--------> (f, exclusive, v)
//             (x, exclusive, v) --ReleaseUnmodified-> (x, free, v)
//             (f, exclusive, v) --ReleaseModified---> (f, free, v+1)
//   eviction  (f, free, v)      --TryClaim----------> (f, exclusive, v)
//             (x, exclusive, v) --ReleaseEvicted----> (-, free, v+1)
//
// The version survives eviction, so an optimistic reader detects an eviction and a reload between
// its read and its validation. The version has 30 bits. A validation is wrong only if, since the
// word was read, the page was modified exactly a multiple of 2^30 times and is in the same frame
// again. At 20 ns a modification the reader must have been stalled for exactly a multiple of 21 s,
// while a writer did nothing but modify this page. We accept that risk.
#pragma once

#include <atomic>
#include <cstdint>

#include "storage/base/ids.h"

namespace latchkey {

/// The value of a page word at one moment.
class PageState {
 public:
  static constexpr uint32_t kLatchBits = 8, kFrameBits = 26;
  static constexpr uint64_t kFree = 0;
  static constexpr uint64_t kExclusive = (1u << kLatchBits) - 1;
  static constexpr uint64_t kMaxShared = kExclusive - 1;
  static constexpr uint64_t kLatchMask = kExclusive;
  static constexpr uint64_t kFrameMask = ((uint64_t{1} << kFrameBits) - 1) << kLatchBits;
  static constexpr uint64_t kVersionUnit = uint64_t{1} << (kLatchBits + kFrameBits);
  static constexpr uint32_t kMaxFrames = (1u << kFrameBits) - 1;

  constexpr explicit PageState(uint64_t bits) : bits_(bits) {}
  constexpr uint64_t bits() const { return bits_; }
  constexpr uint64_t latch() const { return bits_ & kLatchMask; }
  constexpr bool free() const { return latch() == kFree; }
  constexpr bool exclusive() const { return latch() == kExclusive; }
  constexpr FrameId frame() const {
    return FrameId{static_cast<uint32_t>((bits_ & kFrameMask) >> kLatchBits)};
  }
  constexpr bool resident() const { return (bits_ & kFrameMask) != 0; }
  constexpr uint64_t version() const { return bits_ / kVersionUnit; }
  /// Whether the page is in `frame` and not latched.
  constexpr bool FreeIn(FrameId frame) const { return this->frame() == frame && free(); }

  constexpr bool operator==(const PageState&) const = default;
  constexpr PageState WithLatch(uint64_t latch) const {
    return PageState((bits_ & ~kLatchMask) | latch);
  }
  constexpr PageState WithFrame(FrameId frame) const {
    return PageState((bits_ & ~kFrameMask) | (uint64_t{Raw(frame)} << kLatchBits));
  }
  constexpr PageState NextVersion() const { return PageState(bits_ + kVersionUnit); }
  /// Whether in `later` the page is in the same frame, unmodified and not exclusively latched.
  constexpr bool ValidatedBy(PageState later) const {
    return ((bits_ ^ later.bits_) & ~kLatchMask) == 0 && !later.exclusive();
  }

 private:
  uint64_t bits_;
};

/// Thread-safe. Zeroed memory is a word in its first state: not resident, free, version 0.
/// No function waits. The functions named Try may be called by all threads at once. All others
/// require that the caller holds the latch that they change: the exclusive one, except
/// ReleaseShared.
/// `seen` is a state that the caller has read from this word. A Try function changes the word only
/// if the word is still as seen (TryUpgrade and TryUpgradeShared: see there), and returns whether it
/// did.
class PageWord {
 public:
  PageWord() = default;
  PageWord(const PageWord&) = delete;
  PageWord& operator=(const PageWord&) = delete;

  /// The present state. The caller then sees what the last holder of the exclusive latch wrote.
  PageState Read() const { return PageState(bits_.load(std::memory_order_acquire)); }
  /// The present state, as a hint, or for the holder of a latch.
  PageState ReadRelaxed() const { return PageState(bits_.load(std::memory_order_relaxed)); }

  // ---- Load.

  /// Gives the caller the right to load the page. If the caller has read the page from the store since
  /// it saw `seen`, the page has not changed there. REQUIRES: `seen` is free and not resident.
  bool TryBeginLoad(PageState seen) { return Change(seen, seen.WithLatch(PageState::kExclusive)); }
  /// Names the frame of a page that is being loaded, which stays latched. From now on TryClaim of
  /// the frame finds this word.
  void SetFrame(FrameId frame) {
    bits_.store(ReadRelaxed().WithFrame(frame).bits(), std::memory_order_relaxed);
  }
  /// Publishes the loaded page, and leaves `latch` on it: kFree, 1 or kExclusive.
  void EndLoad(uint64_t latch) { Release(ReadRelaxed().WithLatch(latch)); }
  /// The page could not be loaded. REQUIRES: not resident.
  void AbandonLoad() { ReleaseUnmodified(); }

  // ---- Shared latch.

  /// REQUIRES: `seen` is resident, and latch() < kMaxShared.
  bool TryLatchShared(PageState seen) { return Change(seen, seen.WithLatch(seen.latch() + 1)); }
  /// Latches the page if it is in the frame and of the version of `seen`, and if its present latch
  /// allows it: other shared holders may have come or gone.
  bool TryUpgradeShared(PageState seen) {
    uint64_t now = bits_.load(std::memory_order_acquire);
    do {
      const PageState state(now);
      if (!seen.ValidatedBy(state) || state.latch() >= PageState::kMaxShared) return false;
    } while (!bits_.compare_exchange_weak(now, now + 1, std::memory_order_acquire));
    return true;
  }
  void ReleaseShared() { bits_.fetch_sub(1, std::memory_order_release); }

  // ---- Exclusive latch.

  /// The page may be resident or not. REQUIRES: `seen` is free.
  bool TryLatchExclusive(PageState seen) {
    return Change(seen, seen.WithLatch(PageState::kExclusive));
  }
  /// Latches the page if it is in the frame and of the version of `seen`, and free now; the latch
  /// in `seen` does not matter. On failure *now is the state that was found. If `seen` is
  /// ValidatedBy it, only shared holders were in the way, and the caller may try again.
  bool TryUpgrade(PageState seen, PageState* now) {
    uint64_t found = seen.WithLatch(PageState::kFree).bits();
    const uint64_t latched = seen.WithLatch(PageState::kExclusive).bits();
    if (bits_.compare_exchange_strong(found, latched, std::memory_order_acquire)) return true;
    *now = PageState(found);
    return false;
  }
  /// Ends the latch on a page that the holder did not modify: optimistic readers need not restart.
  /// Returns the state that it leaves, as ReleaseModified does.
  PageState ReleaseUnmodified() { return Release(ReadRelaxed().WithLatch(PageState::kFree)); }
  /// Ends the latch on a page that the holder modified, or for which optimistic readers must restart.
  PageState ReleaseModified() {
    return Release(ReadRelaxed().WithLatch(PageState::kFree).NextVersion());
  }

  // ---- Eviction.

  /// Latches the page for its eviction. REQUIRES: `seen` is FreeIn the victim frame.
  bool TryClaim(PageState seen) { return TryLatchExclusive(seen); }
  /// The page has left its frame, or the store if it had no frame: ends the latch.
  void ReleaseEvicted() {
    Release(ReadRelaxed().WithFrame(kNoFrame).WithLatch(PageState::kFree).NextVersion());
  }

 private:
  bool Change(PageState seen, PageState next) {
    uint64_t expected = seen.bits();
    return bits_.compare_exchange_strong(expected, next.bits(), std::memory_order_acquire);
  }
  PageState Release(PageState next) {
    bits_.store(next.bits(), std::memory_order_release);
    return next;
  }

  std::atomic<uint64_t> bits_{0};
};
static_assert(sizeof(PageWord) == sizeof(uint64_t) && alignof(PageWord) == alignof(uint64_t));

}  // namespace latchkey
