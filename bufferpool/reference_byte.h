// The reference byte of a frame: what a hit may change without a lock.
//
//     7        6           0
//   +--------+---------------+     hits:   CLOCK's bit, GCLOCK's counter; else 0,
//   | unused |     hits      |     or 1 where a hit changes nothing (hot-cold)
//   +--------+---------------+     unused: the page was read ahead, and no fix has used it yet
//
// Actors change it without atomic read-modify-writes, so that a hit stays cheap. A change that races
// with another may undo it. Then a hit is lost, or a first use counts as a hit, or a hit as a first
// use. No other part depends on these counts.
#pragma once

#include <atomic>
#include <cstdint>

namespace latchkey {

class ReferenceByte {
 public:
  static constexpr uint8_t kMostHits = 127;

  uint8_t hits() const { return bits() & kMostHits; }
  void SetHits(uint8_t hits) { Store((bits() & kUnused) | hits); }
  /// Adds a hit, up to `limit`. At the limit nothing is written, so that the cache line stays
  /// shared.
  void AddHit(uint8_t limit) {
    const uint8_t now = bits();
    if ((now & kMostHits) < limit) Store(now + 1);
  }

  bool unused() const { return (bits() & kUnused) != 0; }
  /// Makes the byte that of a page that was just loaded.
  void Reset(bool unused) { Store(unused ? kUnused : 0); }
  /// Removes the mark "unused". False: another actor has removed it.
  bool TakeUnused() {
    return (bits_.fetch_and(kMostHits, std::memory_order_relaxed) & kUnused) != 0;
  }

 private:
  static constexpr uint8_t kUnused = 128;

  uint8_t bits() const { return bits_.load(std::memory_order_relaxed); }
  void Store(int bits) { bits_.store(static_cast<uint8_t>(bits), std::memory_order_relaxed); }

  std::atomic<uint8_t> bits_{0};
};
static_assert(sizeof(ReferenceByte) == 1);

}  // namespace latchkey
