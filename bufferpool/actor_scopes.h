// Scopes that actors enter together, each on a cache line of its own, and that one actor can close.
//
// An actor raises its flag before it looks whether the scopes are closed; the closer closes them
// before it looks at the flags (both sequentially consistent). So one of the two sees the other.
//
// Thread-safety: every actor may call every function at once; one actor at a time closes.
#pragma once

#include <atomic>
#include <cstdint>

#include "storage/base/zeroed_array.h"
#include "storage/runtime/runtime.h"

namespace latchkey {

/// A bound of the indexes of the actors that have come so far. Thread-safe.
class SeenActors {
 public:
  /// All actors that came have lower indexes.
  uint32_t end() const { return end_.load(std::memory_order_seq_cst); }
  void Note(uint32_t actor) {
    uint32_t seen = end_.load(std::memory_order_acquire);
    while (seen <= actor &&
           !end_.compare_exchange_weak(seen, actor + 1, std::memory_order_seq_cst)) {
    }
  }

 private:
  std::atomic<uint32_t> end_{0};
};

class ActorScopes {
 public:
  /// May throw std::bad_alloc.
  ActorScopes() : flags_(Runtime::kMaxActors) {}

  /// Enters a scope of `actor`, the caller. False: they are closed. REQUIRES: the actor is in none.
  bool TryEnter(uint32_t actor) {
    seen_.Note(actor);
    std::atomic<bool>& inside = flags_[actor].inside;
    inside.store(true, std::memory_order_seq_cst);
    if (!closed_.load(std::memory_order_seq_cst)) return true;
    inside.store(false, std::memory_order_release);
    return false;
  }
  void Leave(uint32_t actor) { flags_[actor].inside.store(false, std::memory_order_release); }

  /// From now on no actor enters. Those that are inside stay until they leave.
  void Close() { closed_.store(true, std::memory_order_seq_cst); }
  void Open() { closed_.store(false, std::memory_order_release); }
  bool closed() const { return closed_.load(std::memory_order_relaxed); }
  /// While the scopes are closed, false stays false.
  bool AnyInside() const {
    const uint32_t actors = seen_.end();
    for (uint32_t actor = 0; actor < actors; ++actor) {
      if (flags_[actor].inside.load(std::memory_order_seq_cst)) return true;
    }
    return false;
  }

 private:
  struct Flag {
    alignas(64) std::atomic<bool> inside;
  };

  ZeroedArray<Flag> flags_;  // indexed by actor
  std::atomic<bool> closed_{false};
  SeenActors seen_;
};

}  // namespace latchkey
