// SegmentTable: which slot of the device holds which segment of the stream, and which are free.
//
// Memory is taken where slots are added; handing them out and taking them back needs none, since
// that happens in the middle of writing.
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
    bool is_header_durable = false;  ///< only then may groups lie there
  };

  /// A slot whose header says segment `index`. False: another slot says so too.
  bool AddMapped(uint32_t slot, uint64_t index);
  /// A slot that holds nothing. With `is_damaged` its header could not be read: it may hold
  /// anything that a crash or rot has hidden.
  void AddFree(uint32_t slot, bool is_damaged = false);
  /// Slots [first, first + count) that hold nothing; none of them when memory is short.
  void AddFreeSlots(uint32_t first, uint64_t count);

  std::optional<Entry> Find(uint64_t index) const;
  /// The first segment at or above `index` that has a slot.
  std::optional<uint64_t> NextMapped(uint64_t index) const;
  /// The segments of [index, result) follow each other without a gap.
  uint64_t EndOfRun(uint64_t index) const;
  const std::vector<uint32_t>& damaged() const { return damaged_; }
  /// Slots whose headers say that nothing from segment `index` on lies in them.
  std::vector<uint32_t> SlotsBefore(uint64_t index) const;

  /// Gives segment `index` a slot unless it has one. False: none is free.
  bool Assign(uint64_t index);
  void SetHeaderDurable(uint64_t index) { mapped_.at(index).is_header_durable = true; }
  /// Slots of segments below `index` become free, to be used in the order of their segments, so
  /// that what an old header says is never far behind.
  void FreeBelow(uint64_t index);

  size_t slots() const { return slots_; }

 private:
  using Mapped = std::map<uint64_t, Entry>;  // by index

  static Mapped::node_type MakeFree(uint32_t slot);
  void PushFree(Mapped::node_type node);

  Mapped mapped_;
  std::vector<Mapped::node_type> free_;  // from first_free_ on; capacity for every slot twice
  size_t first_free_ = 0;
  std::vector<uint32_t> damaged_;
  size_t slots_ = 0;
};

/// Positions at which groups begin, not all of them: `spacing` bytes apart or more.
/// Not thread-safe.
class GroupStarts {
 public:
  explicit GroupStarts(uint64_t spacing) : spacing_(spacing) {}

  /// `start` grows from call to call. When memory is short only the first one is worth an
  /// exception: what is left out makes walking longer.
  void Add(uint64_t start) {
    if (starts_.empty()) {
      starts_.push_back(start);
    } else if (start - starts_.back() >= spacing_) {
      TryAdd(start);
    }
  }
  /// The last known start at or below `lsn`, or the first of all. REQUIRES: something was added.
  uint64_t AtOrBelow(uint64_t lsn) const;
  /// Forgets what is not needed for positions from `lsn` on.
  void PruneBelow(uint64_t lsn);
  void Clear() { starts_.clear(); }
  bool empty() const { return starts_.empty(); }

 private:
  void TryAdd(uint64_t start);

  const uint64_t spacing_;
  std::deque<uint64_t> starts_;
};

}  // namespace latchkey
