// Allocations that fail on demand: the k-th one since AllocationFaults::Arm, once or from then on.
// The operators in failing_new.h ask it. Allocations inside ExemptAllocations neither count nor
// fail.
#pragma once

#include <atomic>
#include <cstdint>

#include "storage/runtime/exempt_allocations.h"

namespace latchkey {

/// Thread-safe.
class AllocationFaults {
 public:
  static constexpr uint64_t kNever = UINT64_MAX;

  /// From now on allocations are counted from 0, and number `fails` fails; with `from_then_on` all
  /// later ones fail too.
  static void Arm(uint64_t fails, bool from_then_on) {
    count_.store(0);
    injected_.store(0);
    bytes_.store(0);
    fails_.store(fails);
    from_then_on_.store(from_then_on);
    armed_.store(true);
  }
  static void Disarm() { armed_.store(false); }
  static uint64_t count() { return count_.load(); }
  /// Bytes asked for since Arm; what was freed since is not subtracted.
  static uint64_t bytes() { return bytes_.load(); }
  static uint64_t injected() { return injected_.load(); }

  /// Counts an allocation of `size` bytes and returns whether it fails.
  static bool Fails(uint64_t size) {
    if (!armed_.load(std::memory_order_relaxed) || exempt_allocations > 0) return false;
    bytes_.fetch_add(size, std::memory_order_relaxed);
    const uint64_t number = count_.fetch_add(1, std::memory_order_relaxed);
    const uint64_t fails = fails_.load(std::memory_order_relaxed);
    if (number != fails && !(number > fails && from_then_on_.load(std::memory_order_relaxed))) {
      return false;
    }
    injected_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }

 private:
  inline static std::atomic<bool> armed_{false}, from_then_on_{false};
  inline static std::atomic<uint64_t> fails_{kNever}, count_{0}, injected_{0}, bytes_{0};
};

}  // namespace latchkey
