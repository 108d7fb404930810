// A heap of frames, ordered by a key. LFU, LRU-2 and OPT evict the frame with the smallest key. Equal
// keys are ordered by slot. No allocation per element.
#pragma once

#include <absl/functional/function_ref.h>

#include <cstddef>
#include <cstdint>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "bufferpool/replacement/frame_list.h"
#include "storage/base/check.h"
#include "storage/base/racy_memory.h"

namespace latchkey {

/// Not thread-safe. Key: copyable, with operator< and operator==. Insert, Update and Remove take
/// O(log size).
///
/// Invariants:
///  1. entries_[0, size_) is a heap: no entry comes before its parent (i - 1) / kArity.
///  2. position_[entries_[i].slot] == i for i < size_; kNoFrameSlot for all slots without an entry.
template <typename Key>
class FrameHeap {
 private:
  struct Entry {
    Key key;
    FrameSlot slot;
  };

 public:
  static constexpr size_t kBytesEach = sizeof(Entry) + sizeof(uint32_t);

  explicit FrameHeap(size_t slots) { Grow(slots); }
  /// Makes room for `slots` slots. Never shrinks, because frames above may still be in the heap.
  void Grow(size_t slots) {
    if (slots <= position_.size()) return;
    entries_.reserve(slots);
    position_.resize(slots, kNoFrameSlot);
    entries_.resize(slots);
  }

  size_t size() const { return size_; }
  bool Contains(FrameSlot slot) const { return position_[slot] != kNoFrameSlot; }
  /// REQUIRES: Contains(slot).
  const Key& KeyOf(FrameSlot slot) const { return entries_[position_[slot]].key; }
  /// Asks the processor for the entry of `slot`. Another thread may change the heap meanwhile, except
  /// for Grow.
  void Prefetch(FrameSlot slot) const {
    const auto position = RacyLoad<uint32_t>(&position_[slot]);
    if (position != kNoFrameSlot) __builtin_prefetch(&entries_[position], 1);
  }

  /// REQUIRES: not Contains(slot).
  void Insert(FrameSlot slot, Key key) {
    LATCHKEY_DCHECK(!Contains(slot));
    SiftUp(static_cast<uint32_t>(size_++), {std::move(key), slot});
  }
  /// Changes the key of `slot`. REQUIRES: Contains(slot).
  void Update(FrameSlot slot, Key key) {
    LATCHKEY_DCHECK(Contains(slot));
    Settle(position_[slot], {std::move(key), slot});
  }
  /// REQUIRES: Contains(slot).
  void Remove(FrameSlot slot) {
    LATCHKEY_DCHECK(Contains(slot));
    const uint32_t hole = position_[slot];
    SetPosition(slot, kNoFrameSlot);
    --size_;
    if (hole != size_) Settle(hole, entries_[size_]);
  }

  /// Offers the slots in the order of their keys to `accept` until it returns true; removes and
  /// returns that slot. kNoFrameSlot if `accept` refused all. A refused slot costs O(log size). `accept`
  /// may call KeyOf for the slot that it gets, and no other function of the heap.
  FrameSlot RemoveFirst(absl::FunctionRef<bool(FrameSlot)> accept) {
    FrameSlot found = kNoFrameSlot;
    const size_t size_before = size_;
    // Refused entries wait behind the heap, in entries_[size_, size_before).
    while (size_ > 0 && found == kNoFrameSlot) {
      const Entry first = entries_[0];
      if (accept(first.slot)) found = first.slot;
      --size_;
      if (size_ > 0) SiftDown(0, entries_[size_]);
      entries_[size_] = first;
    }
    size_t waiting = size_;
    if (found != kNoFrameSlot) {
      SetPosition(found, kNoFrameSlot);
      ++waiting;
    }
    for (; waiting < size_before; ++waiting) {
      SiftUp(static_cast<uint32_t>(size_++), entries_[waiting]);
    }
    return found;
  }

  /// Fills `out` with the first slots in the order of their keys and returns their number: size()
  /// of them if `out` has room. Changes nothing; allocates.
  size_t CopyFirst(std::span<FrameSlot> out) const {
    const auto after = [this](uint32_t a, uint32_t b) { return Before(entries_[b], entries_[a]); };
    std::priority_queue<uint32_t, std::vector<uint32_t>, decltype(after)> next(after);
    if (size_ > 0) next.push(0);
    size_t count = 0;
    while (count < out.size() && !next.empty()) {
      const uint32_t position = next.top();
      next.pop();
      out[count++] = entries_[position].slot;
      for (size_t child = FirstChild(position); child < EndOfChildren(position); ++child) {
        next.push(static_cast<uint32_t>(child));
      }
    }
    return count;
  }

 private:
  static constexpr size_t kArity = 4;

  static bool Before(const Entry& a, const Entry& b) {
    return a.key < b.key || (a.key == b.key && a.slot < b.slot);
  }
  static size_t FirstChild(size_t position) { return position * kArity + 1; }
  size_t EndOfChildren(size_t position) const {
    const size_t end = FirstChild(position) + kArity;
    return end < size_ ? end : size_;
  }

  void SetPosition(FrameSlot slot, uint32_t position) { RacyStore(&position_[slot], position); }
  void Put(uint32_t position, Entry entry) {
    SetPosition(entry.slot, position);
    entries_[position] = std::move(entry);
  }
  // Puts `entry` where it belongs, starting at the free `position`.
  void Settle(uint32_t position, Entry entry) {
    if (position > 0 && Before(entry, entries_[(position - 1) / kArity])) {
      SiftUp(position, std::move(entry));
    } else {
      SiftDown(position, std::move(entry));
    }
  }
  void SiftUp(uint32_t position, Entry entry) {
    while (position > 0) {
      const uint32_t parent = (position - 1) / kArity;
      if (!Before(entry, entries_[parent])) break;
      Put(position, entries_[parent]);
      position = parent;
    }
    Put(position, std::move(entry));
  }
  void SiftDown(uint32_t position, Entry entry) {
    while (FirstChild(position) < size_) {
      size_t first = FirstChild(position);
      for (size_t child = first + 1; child < EndOfChildren(position); ++child) {
        if (Before(entries_[child], entries_[first])) first = child;
      }
      if (!Before(entries_[first], entry)) break;
      Put(position, entries_[first]);
      position = static_cast<uint32_t>(first);
    }
    Put(position, std::move(entry));
  }

  std::vector<Entry> entries_;
  std::vector<uint32_t> position_;
  size_t size_ = 0;
};

}  // namespace latchkey
