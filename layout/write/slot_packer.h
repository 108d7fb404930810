// Which slots of a segment buffer the next page takes: one page after the other. With page
// compression a page may begin anywhere in a block and end in the next one.
#pragma once

#include <cstdint>
#include <optional>

#include "layout/geometry.h"

namespace latchkey {

/// Not thread-safe.
class SlotPacker {
 public:
  explicit SlotPacker(const StoreGeometry& geometry)
      : slots_per_block_(geometry.slots_per_page), slots_(geometry.slots_per_segment) {}

  struct Taken {
    uint32_t first;     ///< of the page's slots
    uint32_t given_up;  ///< slots before it that no page takes
  };
  /// Takes `slots` slots for a page; at the beginning of a block if `at_block`. nullopt: the
  /// segment has no room for it.
  std::optional<Taken> Take(uint32_t slots, bool at_block) {
    const uint32_t given_up = at_block ? ToBlockEnd() : 0;
    if (next_ + given_up + slots > slots_) return std::nullopt;
    const Taken taken{next_ + given_up, given_up};
    next_ = taken.first + slots;
    return taken;
  }
  uint32_t next() const { return next_; }
  /// Gives up the rest of a block that was begun, because the block is about to be written. Returns
  /// the number of its slots.
  uint32_t EndBlock() {
    const uint32_t given_up = ToBlockEnd();
    next_ += given_up;
    return given_up;
  }
  void Reset() { next_ = 0; }

 private:
  uint32_t ToBlockEnd() const {
    return (slots_per_block_ - next_ % slots_per_block_) % slots_per_block_;
  }

  const uint32_t slots_per_block_, slots_;
  uint32_t next_ = 0;
};

}  // namespace latchkey
