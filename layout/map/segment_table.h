// The segment table: state, kind, live pages and age of every segment, and which page owns each
// slot.
//
//   kAbsent --Grow--> kFree --TakeFree--> kOpen --Close--> kClosed --BeginCleaning--> kCleaning
//      ^                ^ \                                  |  ^                         |
//      |                |  `--TakeMeta--> kMeta              |  `------EndCleaning--------|
//      |                |                   |ReleaseMeta     |ReleaseSlot (the last one)  |
//      |                `-------------------+----------------+------EndCleaning (empty)---'
//      `--Truncate-- kRetired <--Retire-- kFree
//
// Invariants:
//  1. live = number of owned slots of the segment. A page owns one slot, or with page compression
//     up to eight side by side. A slot is owned from the moment the store
//     decides to write a page to it until a newer copy of that page is *on the device*, not in
//     memory. With a map journal it stays owned until the journal entry of the newer copy is
//     durable too (README).
//  2. Holes are the blocks without an owned slot in kClosed segments, and only in those. A write
//     takes a hole as a whole, because it would tear the pages beside it in its block.
//  3. A segment is reused only from kFree, where no slot is owned and no write to it is in flight.
//  4. A bad slot (its write failed) stays owned, so that neither the slot nor its segment is
//     reused. Holes in the rest of the segment are still used. A kMeta segment whose write failed
//     stays kMeta, and all of its slots count as bad.
#pragma once

#include <absl/functional/function_ref.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "layout/geometry.h"
#include "layout/map/lazy_array.h"
#include "layout/map/segment_index.h"
#include "layout/map/space_listener.h"
#include "storage/runtime/mutex.h"

namespace latchkey {

enum class SegmentState : uint8_t { kAbsent, kFree, kOpen, kClosed, kCleaning, kMeta, kRetired };
/// Which partition a segment belongs to (thesis 6.1.3): appended pages, or pages written one by one, in
/// place or into holes.
enum class SegmentKind : uint8_t { kHot, kCold };

/// Table entry of a segment: state (kFree, kClosed, kMeta) in bits 0-7, kind in 8-15, birth above.
struct SegmentEntry {
  SegmentState state = SegmentState::kFree;
  SegmentKind kind = SegmentKind::kHot;
  uint64_t birth = 0;

  static constexpr uint64_t kMaxBirth = (uint64_t{1} << 48) - 1;
  uint64_t Encode() const;
  static SegmentEntry Decode(uint64_t bits);
};

/// The properties of a segment that victim selection uses.
struct SegmentView {
  SegmentId id;
  SegmentKind kind;
  uint32_t live;   ///< slots
  uint64_t birth;  ///< clock (accepted pages) at which it was filled
};

/// A set of segment numbers that yields the lowest first. Only Reserve takes memory. Not
/// thread-safe.
class SegmentSet {
 public:
  void Reserve(uint32_t total) {
    const size_t words = (size_t{total} + 63) / 64;
    if (words > words_.size()) words_.resize(words, 0);
  }
  void Insert(uint32_t segment) {
    uint64_t& word = words_[segment / 64];
    size_ += (word >> segment % 64 & 1) == 0;
    word |= uint64_t{1} << segment % 64;
    first_ = std::min<size_t>(first_, segment / 64);
  }
  void Erase(uint32_t segment) {
    uint64_t& word = words_[segment / 64];
    size_ -= word >> segment % 64 & 1;
    word &= ~(uint64_t{1} << segment % 64);
  }
  /// REQUIRES: size() > 0.
  uint32_t First() {
    while (words_[first_] == 0) ++first_;
    return static_cast<uint32_t>(first_ * 64) +
           static_cast<uint32_t>(std::countr_zero(words_[first_]));
  }
  uint32_t size() const { return size_; }

 private:
  std::vector<uint64_t> words_;
  size_t first_ = 0;  // no word before it has a member
  uint32_t size_ = 0;
};

/// Thread-safe. No lock is held across I/O.
class StoreSegmentTable {
 public:
  StoreSegmentTable(Runtime& runtime, StoreGeometry geometry)
      : geometry_(geometry), mutex_(runtime), index_(kGroups, geometry.slots_per_segment) {}

  /// `listener` is told after a segment became free. Set before the first use.
  void set_listener(SpaceListener* listener) { listener_ = listener; }
  /// From now on `empties` gets each segment that loses its last page before it is free. Set before
  /// the first use.
  void set_empties(EmptySegments* empties) { empties_ = empties; }

  /// Adds free segments until there are `total`. False when memory for the table ran out.
  bool Grow(uint32_t total);
  /// Retires free segments at the end of the file, down to `target` segments, while more than `keep`
  /// are free. Returns the number of segments before the retired ones.
  uint32_t RetireTail(uint32_t target, uint32_t keep);
  /// Removes the retired segments from `total` on.
  void Truncate(uint32_t total);

  /// If more than `keep` segments are free, opens the one nearest to the front as `kind`.
  std::optional<SegmentId> TakeFree(uint32_t keep, SegmentKind kind);
  std::optional<SegmentId> TakeMeta(uint32_t keep);
  void ReleaseMeta(SegmentId segment);
  /// Closes an open segment; `birth` is the clock now. REQUIRES: all writes to it are done.
  void Close(SegmentId segment, uint64_t birth);

  /// The closed segment of the highest `priority(u, age)` among those with a hole; nullopt: there is
  /// none. u in (0, 1) is its utilisation, age > 0 the number of pages accepted until `clock` since
  /// it was filled. REQUIRES: among segments of equal u, priority does not fall with age. Segments
  /// that are barred or have bad slots are left out. Takes time by S, not by the file's size.
  std::optional<SegmentView> BestVictim(absl::FunctionRef<double(double u, double age)> priority,
                                        uint64_t clock);
  /// From now on until the store is opened again the segment is no victim: moving its pages out
  /// does not free it.
  void Bar(SegmentId segment);
  bool MayBeVictim(SegmentId s) const {
    return !At(s).is_barred.load(std::memory_order_relaxed) && !HasBadSlots(s);
  }
  /// kClosed -> kCleaning. False when the segment is not closed, or not closed any more.
  bool BeginCleaning(SegmentId segment);
  void EndCleaning(SegmentId segment);

  /// Makes `page` the owner of `slots` slots of an open segment, from `slot` on.
  void AssignSlot(SlotId slot, PageId page, uint32_t slots);
  /// Takes the slot out of use until the store is opened again: it stays owned, and its segment
  /// stays in use. REQUIRES: the slot is owned, and nothing needs its content.
  void MarkBad(SlotId slot);
  /// Takes a kMeta segment out of use until the store is opened again. It stays kMeta.
  void MarkBadMeta(SegmentId segment);
  /// Makes `page` the owner of the first `slots` slots of a hole, preferably of `kind`, in the
  /// fullest segments first (LAYOUT_REFERENCE A5). nullopt: there is no hole.
  std::optional<SlotId> TakeHole(SegmentKind kind, PageId page, uint32_t slots);
  /// Takes the first hole of a closed segment from its slot `index` on, or else from its front, for no
  /// page: until PageDirectory::ReleaseUnnamed anything may be written there. nullopt: it has no hole.
  std::optional<SlotId> BorrowHole(SegmentId segment, uint32_t index);
  /// The page that begins at `slot`; kInvalidPageId: no page begins there.
  PageId OwnerOf(SlotId slot) const {
    const uint32_t owner = owners_[Raw(slot)].load(std::memory_order_acquire);
    return owner == 0 || owner >= kBorrowed ? kInvalidPageId : PageId{owner - 1};
  }

  SegmentState StateOf(SegmentId s) const {
    return segments_[Raw(s)].state.load(std::memory_order_acquire);
  }
  SegmentKind KindOf(SegmentId s) const {
    return segments_[Raw(s)].kind.load(std::memory_order_relaxed);
  }
  uint32_t LiveOf(SegmentId s) const {
    return segments_[Raw(s)].live.load(std::memory_order_relaxed);
  }
  uint64_t BirthOf(SegmentId s) const {
    return segments_[Raw(s)].birth.load(std::memory_order_relaxed);
  }
  /// Used only while a store is opened, before any other call: sets a segment's state from a
  /// checkpoint.
  void RestoreSegment(SegmentId segment, SegmentState state, SegmentKind kind, uint64_t birth);
  /// Used as RestoreSegment: sets the owner of slots. False when one has an owner already, or
  /// when their segment cannot hold pages (it holds a checkpoint).
  bool RestoreOwner(SlotId slot, PageId page, uint32_t slots);
  /// Ends the restore: makes closed segments without live pages free.
  void FinishRestore();

  /// Segments and slots that MarkBad and MarkBadMeta have taken out of use.
  uint32_t bad_segments() const { return bad_segments_.load(std::memory_order_relaxed); }
  uint64_t bad_slots() const { return bad_slots_.load(std::memory_order_relaxed); }
  bool HasBadSlots(SegmentId s) const {
    return segments_[Raw(s)].has_bad_slots.load(std::memory_order_relaxed);
  }

  uint32_t total() const { return total_.load(std::memory_order_acquire); }
  uint32_t free_count() const { return free_count_.load(std::memory_order_relaxed); }
  uint64_t live_of_kind(SegmentKind kind) const {
    return live_by_kind_[static_cast<size_t>(kind)].load(std::memory_order_relaxed);
  }
  size_t memory_bytes() const {
    MutexLock lock(mutex_);
    return segments_.memory_bytes() + owners_.memory_bytes() + index_.memory_bytes();
  }

 private:
  friend class PageDirectory;  // alone knows when nothing needs a slot's content any more
  friend struct SlotReleaseInTests;
  // The page that begins at `slot` gives up its slots. REQUIRES: no actor needs their content any
  // more.
  void ReleaseSlot(SlotId slot);

  struct Segment {
    std::atomic<uint32_t> live;
    std::atomic<SegmentState> state;
    std::atomic<SegmentKind> kind;
    std::atomic<bool> has_bad_slots;
    std::atomic<bool> is_barred;
    std::atomic<bool> has_no_hole;       // a search found none; no slot was released since
    std::atomic<uint32_t> next_changed;  // in the stack of changed_, a link; 0: not in it
    std::atomic<uint64_t> birth;
  };
  // Groups of the index: by kind; apart those segments that are no victims, and those without a
  // hole.
  static constexpr uint32_t kGroups = 8, kBarred = 2, kNoHole = 4;
  // In owners_: a further slot of the page that owns the one before.
  static constexpr uint32_t kFurther = UINT32_MAX;
  static constexpr uint32_t kBorrowed = UINT32_MAX - 1;  // of no page
  static constexpr uint32_t kEndOfChanged = UINT32_MAX;

  Segment& At(SegmentId s) const { return segments_[Raw(s)]; }
  void MakeFree(SegmentId segment) LATCHKEY_REQUIRES(mutex_);
  bool FreeIfEmpty(SegmentId segment) LATCHKEY_REQUIRES(mutex_);
  void TellOfEmptied(SegmentId segment) LATCHKEY_EXCLUDES(mutex_);
  std::optional<SegmentId> Take(uint32_t keep) LATCHKEY_REQUIRES(mutex_);
  void AddLive(SegmentId segment, int64_t delta);
  void NoteChange(SegmentId segment);
  void FileChanged() LATCHKEY_REQUIRES(mutex_);
  void File(SegmentId segment) LATCHKEY_REQUIRES(mutex_);
  std::optional<SegmentId> FullestWithHole(uint32_t kind) LATCHKEY_REQUIRES(mutex_);
  std::optional<SlotId> TakeHoleIn(SegmentId segment, uint32_t from, PageId page, uint32_t slots)
      LATCHKEY_REQUIRES(mutex_);
  bool IsHole(SlotId block) const;
  void Own(SlotId slot, PageId page, uint32_t slots);
  uint32_t SlotsFrom(SlotId slot) const;

  const StoreGeometry geometry_;
  SpaceListener* listener_ = nullptr;
  EmptySegments* empties_ = nullptr;
  mutable Mutex mutex_;  // guards the transitions and everything below that is not atomic
  LazyArray<Segment, (uint64_t{1} << 32)> segments_;
  LazyArray<std::atomic<uint32_t>, (uint64_t{1} << 36)> owners_;
  // Has room for all segments, because freeing one must not take memory.
  SegmentSet free_ LATCHKEY_GUARDED_BY(mutex_);
  std::atomic<uint32_t> total_{0};
  std::atomic<uint32_t> free_count_{0};
  std::atomic<uint32_t> bad_segments_{0};
  std::atomic<uint64_t> bad_slots_{0};
  std::atomic<uint64_t> live_by_kind_[2] = {};

  // Segments whose live pages, age or state have changed since they were filed in the index: a
  // stack that any thread pushes to (links: number + 1), so that releasing a slot takes no lock.
  std::atomic<uint32_t> changed_{0};
  SegmentIndex index_ LATCHKEY_GUARDED_BY(mutex_);
  // By kind: the segment that holes are taken from, in the order of its slots.
  struct HoleCursor {
    std::optional<SegmentId> segment;
    uint32_t next_index = 0;
  };
  HoleCursor holes_[2] LATCHKEY_GUARDED_BY(mutex_);
};

}  // namespace latchkey
