// The processors of a simulation: which of them are idle, and which actors wait for one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "storage/base/rng.h"

namespace latchkey {

/// Actors are named by their slots. Not thread-safe.
class Processors {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  /// `count` 0: one per actor, so that nobody waits and no other function is called.
  /// `in_order`: who waits longest is next; else the seed decides.
  Processors(uint32_t count, bool in_order) : count_(count), in_order_(in_order) { Reset(); }

  bool limited() const { return count_ > 0; }
  bool anyone_waits() const { return !waiting_.empty(); }

  /// Takes an idle processor: `preferred` if that one is idle. kNone when all are busy.
  uint32_t TakeIdle(uint32_t preferred) {
    if (idle_.empty()) return kNone;
    auto taken = std::find(idle_.begin(), idle_.end(), preferred);
    if (taken == idle_.end()) taken = std::prev(idle_.end());
    const uint32_t processor = *taken;
    idle_.erase(taken);
    return processor;
  }
  void Wait(uint32_t slot) { waiting_.push_back(slot); }
  /// Frees `processor`. Returns the waiting actor that gets it, or kNone.
  uint32_t Free(uint32_t processor, Rng& rng) {
    if (waiting_.empty()) {
      idle_.push_back(processor);
      return kNone;
    }
    const size_t chosen = in_order_ ? 0 : rng.Below(waiting_.size());
    const auto next = waiting_.begin() + static_cast<std::ptrdiff_t>(chosen);
    const uint32_t slot = *next;
    waiting_.erase(next);
    return slot;
  }
  /// All are idle, and nobody waits.
  void Reset() {
    waiting_.clear();
    idle_.clear();
    for (uint32_t processor = count_; processor > 0; --processor) idle_.push_back(processor - 1);
  }

 private:
  const uint32_t count_;
  const bool in_order_;
  std::vector<uint32_t> idle_;
  std::vector<uint32_t> waiting_;  // slots, in the order of arrival
};

}  // namespace latchkey
