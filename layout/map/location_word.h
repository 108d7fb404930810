// One entry of the page map: the location of the page's newest copy. See page_map.h for the meaning
// of its bits and states.
#pragma once

#include <cstdint>

#include "layout/geometry.h"

namespace latchkey {

/// Index of a copy frame (copy_frames.h).
enum class FrameIndex : uint32_t {};

class LocationWord {
 public:
  enum class State : uint8_t { kFree = 0, kUnwritten = 1, kOnDevice = 2, kInMemory = 3 };
  static constexpr int kPlaceBits = 36;
  static constexpr int kSlotBits = 33;  // of the place; above them the number of slots less one
  static constexpr int kSequenceBits = 26;
  static constexpr uint64_t kMaxSlots = uint64_t{1} << kSlotBits;
  static constexpr uint32_t kMostSlotsOfPage = 1u << (kPlaceBits - kSlotBits);

  constexpr LocationWord() = default;
  constexpr explicit LocationWord(uint64_t bits) : bits_(bits) {}
  static constexpr LocationWord Free(uint32_t sequence) { return Make(State::kFree, 0, sequence); }
  static constexpr LocationWord Unwritten(uint32_t sequence) {
    return Make(State::kUnwritten, 0, sequence);
  }
  /// `slots`: how many the page takes from `slot` on, 1 to kMostSlotsOfPage.
  static constexpr LocationWord OnDevice(SlotId slot, uint32_t sequence, uint32_t slots = 1) {
    return Make(State::kOnDevice, uint64_t{slots - 1} << kSlotBits | Raw(slot), sequence);
  }
  static constexpr LocationWord InMemory(FrameIndex frame, uint32_t sequence) {
    return Make(State::kInMemory, Raw(frame), sequence);
  }

  /// The word of a free id, from the upper half of its bits: the lower half of a free one is 0.
  static constexpr LocationWord OfUpperHalf(uint32_t upper) {
    return LocationWord(uint64_t{upper} << 32);
  }

  constexpr uint64_t bits() const { return bits_; }
  constexpr uint32_t upper_half() const { return static_cast<uint32_t>(bits_ >> 32); }
  constexpr State state() const { return static_cast<State>(bits_ >> 62); }
  constexpr bool on_device() const { return state() == State::kOnDevice; }
  constexpr bool in_memory() const { return state() == State::kInMemory; }
  constexpr bool free() const { return state() == State::kFree; }
  /// REQUIRES: on_device().
  constexpr SlotId slot() const { return SlotId{bits_ & (kMaxSlots - 1)}; }
  constexpr uint32_t slots() const {
    return static_cast<uint32_t>(bits_ >> kSlotBits) % kMostSlotsOfPage + 1;
  }
  /// REQUIRES: in_memory().
  constexpr FrameIndex frame() const {
    return FrameIndex{static_cast<uint32_t>(bits_ & (kMaxSlots - 1))};
  }
  constexpr uint32_t sequence() const {
    return static_cast<uint32_t>(bits_ >> kPlaceBits) & ((1u << kSequenceBits) - 1);
  }
  /// The sequence of the next write: 0 stays reserved for "never written".
  constexpr uint32_t next_sequence() const {
    const uint32_t next = (sequence() + 1) & ((1u << kSequenceBits) - 1);
    return next == 0 ? 1 : next;
  }
  /// Whether write `sequence` of the page came after this word's. Sequences wrap at 2^26; "after"
  /// means at most half of that ahead.
  constexpr bool OlderThan(uint32_t sequence) const {
    const uint32_t ahead = (sequence - this->sequence()) & ((1u << kSequenceBits) - 1);
    return ahead != 0 && ahead < (1u << (kSequenceBits - 1));
  }
  /// A word with the same place and state, and another write sequence.
  constexpr LocationWord WithSequence(uint32_t sequence) const {
    return Make(state(), bits_ & ((uint64_t{1} << kPlaceBits) - 1), sequence);
  }
  constexpr bool operator==(const LocationWord&) const = default;

 private:
  static constexpr LocationWord Make(State state, uint64_t place, uint32_t sequence) {
    return LocationWord((static_cast<uint64_t>(state) << 62) | (uint64_t{sequence} << kPlaceBits) |
                        place);
  }
  uint64_t bits_ = 0;
};
static_assert(sizeof(LocationWord) == 8);

}  // namespace latchkey
