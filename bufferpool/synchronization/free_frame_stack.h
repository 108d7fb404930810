// Free frames of one region: a lock-free stack (Treiber 1986), so that a miss takes no lock to get
// a free frame.
//
// Invariants:
//  1. links[f] is 0 exactly when frame f is in no stack; else it is the frame below f, or kBottom.
//  2. Every change of the top also changes the tag beside it. If the top is popped and pushed again
//     during a pop, that pop fails instead of installing a stale link (the ABA problem). The tag
//     has 32 bits: the protection fails only after exactly a multiple of 2^32 changes in one pop.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "storage/base/check.h"
#include "storage/base/ids.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// Thread-safe. All stacks of a pool share one array of links, zero at first, indexed by frame id.
class FreeFrameStack {
 public:
  FreeFrameStack(Runtime& runtime, std::atomic<uint32_t>* links)
      : runtime_(runtime), links_(links) {}

  /// REQUIRES: `frame` is in no stack and the caller owns it.
  void Push(FrameId frame) {
    runtime_.TakeOver(word_);
    std::atomic<uint32_t>& link = links_[Raw(frame)];
    LATCHKEY_CHECK(link.load(std::memory_order_relaxed) == 0);  // else it was returned twice
    uint64_t top = top_.load(std::memory_order_relaxed);
    do {
      link.store(FrameOf(top) == 0 ? kBottom : FrameOf(top), std::memory_order_relaxed);
    } while (!top_.compare_exchange_weak(top, NextTop(top, Raw(frame)), std::memory_order_release,
                                         std::memory_order_relaxed));
    size_.fetch_add(1, std::memory_order_relaxed);
  }

  /// Pops the frame pushed last; kNoFrame when the stack is empty.
  FrameId Pop() {
    if (FrameOf(top_.load(std::memory_order_relaxed)) != 0) runtime_.TakeOver(word_);
    uint64_t top = top_.load(std::memory_order_acquire);
    while (FrameOf(top) != 0) {
      const uint32_t below = links_[FrameOf(top)].load(std::memory_order_relaxed);
      if (top_.compare_exchange_weak(top, NextTop(top, below == kBottom ? 0 : below),
                                     std::memory_order_acq_rel, std::memory_order_acquire)) {
        links_[FrameOf(top)].store(0, std::memory_order_relaxed);
        size_.fetch_sub(1, std::memory_order_relaxed);
        return FrameId{FrameOf(top)};
      }
    }
    return kNoFrame;
  }

  /// Exact when no other thread pushes or pops.
  size_t size() const {
    const int32_t size = size_.load(std::memory_order_relaxed);
    return size < 0 ? 0 : static_cast<size_t>(size);  // a pop may be counted before its push
  }

 private:
  static constexpr uint32_t kBottom = UINT32_MAX;

  static uint32_t FrameOf(uint64_t top) { return static_cast<uint32_t>(top); }
  static uint64_t NextTop(uint64_t top, uint32_t frame) {
    return (((top >> 32) + 1) << 32) | frame;
  }

  Runtime& runtime_;
  HotWord word_;
  std::atomic<uint32_t>* const links_;
  std::atomic<uint64_t> top_{0};  // tag, frame
  std::atomic<int32_t> size_{0};
};

}  // namespace latchkey
