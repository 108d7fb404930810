// SegmentTable: the slot of each segment of the stream, and the free slots.
//
// Adding a slot takes memory. Assigning and freeing slots takes none: the leader assigns them in
// the middle of writing a group, and Truncate frees them. Neither could report a lack of memory.
//
// Not thread-safe: its owner's latch guards it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

namespace latchkey {

class SegmentTable {
 public:
  struct Entry {
    uint32_t slot = 0;
    bool is_header_durable = false;  ///< groups may be written there only if true
  };

  /// Adds a slot whose header names segment `index`. False: another slot names it too.
  bool AddMapped(uint32_t slot, uint64_t index);
  /// Adds a free slot. `is_damaged`: its header could not be read, so it may hold groups that a
  /// crash or rot has hidden.
  void AddFree(uint32_t slot, bool is_damaged = false);
  /// Free slots that are not yet in the table.
  class NewSlots;
  /// The free slots [first, first + count), with all the memory that AddFreeSlots needs. Throws
  /// std::bad_alloc; then nothing has changed.
  NewSlots MakeFreeSlots(uint32_t first, uint64_t count);
  /// Adds them. Takes no memory, so a file header may name the slots before. REQUIRES: no slots
  /// were added since MakeFreeSlots.
  void AddFreeSlots(NewSlots slots);

  std::optional<Entry> Find(uint64_t index) const;
  /// The first segment at or above `index` that has a slot.
  std::optional<uint64_t> NextMapped(uint64_t index) const;
  /// The end of the run of mapped segments without a gap that begins at `index`.
  uint64_t EndOfRun(uint64_t index) const;
  const std::vector<uint32_t>& damaged() const { return damaged_; }
  /// Slots whose headers name a segment before `index`, or none.
  std::vector<uint32_t> SlotsBefore(uint64_t index) const;

  /// Gives segment `index` the free slot nearest to the front, unless it has a slot. False: no slot
  /// is free.
  bool Assign(uint64_t index);
  void SetHeaderDurable(uint64_t index) { mapped_.at(index).is_header_durable = true; }
  /// Frees the slots of segments below `index`.
  void FreeBelow(uint64_t index);
  /// The slots of the segments from `index` on, and freeing them.
  std::vector<uint32_t> SlotsFrom(uint64_t index) const;
  void FreeFrom(uint64_t index);
  /// One more than the last slot that holds a segment; 0: none does.
  uint32_t EndOfMapped() const;
  /// Removes the slots from `count` on. REQUIRES: EndOfMapped() <= count <= slots().
  void RemoveFrom(uint32_t count);

  size_t slots() const { return slots_; }

 private:
  using Mapped = std::map<uint64_t, Entry>;  // by index

  static bool IsBehind(const Mapped::node_type& a, const Mapped::node_type& b) {
    return a.mapped().slot > b.mapped().slot;
  }
  static Mapped::node_type MakeFree(uint32_t slot);
  void PushFree(Mapped::node_type node);

  Mapped mapped_;
  std::vector<Mapped::node_type> free_;  // a heap, lowest slot first; capacity for every slot
  std::vector<uint32_t> damaged_;
  size_t slots_ = 0;
};

class SegmentTable::NewSlots {
 private:
  friend class SegmentTable;
  std::vector<Mapped::node_type> nodes_;
};

/// Some of the positions at which groups begin, at least `spacing` bytes apart.
/// Not thread-safe.
class GroupStarts {
 public:
  explicit GroupStarts(uint64_t spacing) : spacing_(spacing) {}

  /// Adds `start`, which grows from call to call. When memory runs out, only the first call throws;
  /// later positions are left out, which only makes searches longer.
  void Add(uint64_t start) {
    if (starts_.empty()) {
      starts_.push_back(start);
    } else if (start - starts_.back() >= spacing_) {
      TryAdd(start);
    }
  }
  /// As Add, however near the last one is.
  void AddSurely(uint64_t start) { TryAdd(start); }
  /// The last known start at or below `lsn`, or else the first of all. REQUIRES: !empty().
  uint64_t AtOrBelow(uint64_t lsn) const;
  /// Forgets positions that are not needed for AtOrBelow from `lsn` on.
  void PruneBelow(uint64_t lsn);
  void Clear() { starts_.clear(); }
  bool empty() const { return starts_.empty(); }

 private:
  void TryAdd(uint64_t start);

  uint64_t spacing_;
  std::deque<uint64_t> starts_;
};

}  // namespace latchkey
