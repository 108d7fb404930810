#include "layout/map/segment_table.h"

#include <algorithm>
#include <utility>

#include "storage/base/check.h"

namespace latchkey {

uint64_t SegmentEntry::Encode() const {
  return static_cast<uint64_t>(state) | (static_cast<uint64_t>(kind) << 8) |
         (std::min(birth, kMaxBirth) << 16);
}

SegmentEntry SegmentEntry::Decode(uint64_t bits) {
  return {static_cast<SegmentState>(bits & 0xff), static_cast<SegmentKind>((bits >> 8) & 0xff),
          bits >> 16};
}

bool StoreSegmentTable::Grow(uint32_t total) {
  MutexLock lock(mutex_);
  const uint32_t old_total = total_.load(std::memory_order_relaxed);
  if (!segments_.EnsureSize(total) ||
      !owners_.EnsureSize(uint64_t{total} * geometry_.slots_per_segment) ||
      !index_.EnsureSize(total)) {
    return false;
  }
  free_.Reserve(total);
  for (uint32_t s = old_total; s < total; ++s) MakeFree(SegmentId{s});
  total_.store(total, std::memory_order_release);
  return true;
}

uint32_t StoreSegmentTable::RetireTail(uint32_t target, uint32_t keep) {
  MutexLock lock(mutex_);
  uint32_t end = total_.load(std::memory_order_relaxed);
  while (end > target) {
    Segment& last = At(SegmentId{end - 1});
    const SegmentState state = last.state.load(std::memory_order_relaxed);
    if (state == SegmentState::kFree) {
      if (free_count_.load(std::memory_order_relaxed) <= keep) break;
      free_.Erase(end - 1);
      free_count_.fetch_sub(1, std::memory_order_relaxed);
      last.state.store(SegmentState::kRetired, std::memory_order_release);
    } else if (state != SegmentState::kRetired) {
      break;
    }
    --end;
  }
  return end;
}

void StoreSegmentTable::Truncate(uint32_t total) {
  MutexLock lock(mutex_);
  for (uint32_t s = total; s < total_.load(std::memory_order_relaxed); ++s) {
    LATCHKEY_CHECK(At(SegmentId{s}).state.load(std::memory_order_relaxed) ==
                   SegmentState::kRetired);
    At(SegmentId{s}).state.store(SegmentState::kAbsent, std::memory_order_release);
  }
  total_.store(total, std::memory_order_release);
}

void StoreSegmentTable::MakeFree(SegmentId segment) {
  At(segment).state.store(SegmentState::kFree, std::memory_order_release);
  free_.Insert(Raw(segment));
  free_count_.fetch_add(1, std::memory_order_relaxed);
}

// Whether it is: then it is free, or kMeta until `empties_` releases it.
bool StoreSegmentTable::FreeIfEmpty(SegmentId segment) {
  Segment& s = At(segment);
  if (s.state.load(std::memory_order_relaxed) != SegmentState::kClosed ||
      s.live.load(std::memory_order_acquire) != 0) {
    return false;
  }
  if (empties_ == nullptr) {
    MakeFree(segment);
  } else {
    s.state.store(SegmentState::kMeta, std::memory_order_release);
  }
  return true;
}

void StoreSegmentTable::TellOfEmptied(SegmentId segment) {
  if (empties_ != nullptr) {
    empties_->OnSegmentEmptied(segment);
  } else if (listener_ != nullptr) {
    listener_->OnSegmentFreed();
  }
}

std::optional<SegmentId> StoreSegmentTable::Take(uint32_t keep) {
  if (free_.size() <= keep) return std::nullopt;
  const SegmentId segment{free_.First()};
  free_.Erase(Raw(segment));
  free_count_.fetch_sub(1, std::memory_order_relaxed);
  LATCHKEY_CHECK(At(segment).live.load(std::memory_order_relaxed) == 0);
  return segment;
}

std::optional<SegmentId> StoreSegmentTable::TakeFree(uint32_t keep, SegmentKind kind) {
  MutexLock lock(mutex_);
  const std::optional<SegmentId> segment = Take(keep);
  if (segment) {
    At(*segment).kind.store(kind, std::memory_order_relaxed);
    At(*segment).state.store(SegmentState::kOpen, std::memory_order_release);
  }
  return segment;
}

std::optional<SegmentId> StoreSegmentTable::TakeMeta(uint32_t keep) {
  MutexLock lock(mutex_);
  const std::optional<SegmentId> segment = Take(keep);
  if (segment) At(*segment).state.store(SegmentState::kMeta, std::memory_order_release);
  return segment;
}

void StoreSegmentTable::ReleaseMeta(SegmentId segment) {
  {
    MutexLock lock(mutex_);
    LATCHKEY_CHECK(At(segment).state.load(std::memory_order_relaxed) == SegmentState::kMeta);
    MakeFree(segment);
  }
  if (listener_ != nullptr) listener_->OnSegmentFreed();
}

void StoreSegmentTable::Close(SegmentId segment, uint64_t birth) {
  bool freed = false;
  {
    MutexLock lock(mutex_);
    Segment& s = At(segment);
    LATCHKEY_CHECK(s.state.load(std::memory_order_relaxed) == SegmentState::kOpen);
    s.birth.store(birth, std::memory_order_relaxed);
    s.state.store(SegmentState::kClosed, std::memory_order_release);
    freed = FreeIfEmpty(segment);
  }
  NoteChange(segment);
  if (freed) TellOfEmptied(segment);
}

bool StoreSegmentTable::BeginCleaning(SegmentId segment) {
  MutexLock lock(mutex_);
  Segment& s = At(segment);
  if (s.state.load(std::memory_order_relaxed) != SegmentState::kClosed) return false;
  s.state.store(SegmentState::kCleaning, std::memory_order_release);
  NoteChange(segment);
  return true;
}

void StoreSegmentTable::EndCleaning(SegmentId segment) {
  bool freed = false;
  {
    MutexLock lock(mutex_);
    Segment& s = At(segment);
    LATCHKEY_CHECK(s.state.load(std::memory_order_relaxed) == SegmentState::kCleaning);
    s.state.store(SegmentState::kClosed, std::memory_order_release);
    freed = FreeIfEmpty(segment);
  }
  NoteChange(segment);
  if (freed) TellOfEmptied(segment);
}

void StoreSegmentTable::AddLive(SegmentId segment, int64_t delta) {
  live_by_kind_[static_cast<size_t>(KindOf(segment))].fetch_add(static_cast<uint64_t>(delta),
                                                                std::memory_order_relaxed);
}

void StoreSegmentTable::Own(SlotId slot, PageId page, uint32_t slots) {
  for (uint32_t i = 1; i < slots; ++i) {
    owners_[Raw(slot) + i].store(kFurther, std::memory_order_relaxed);
  }
  owners_[Raw(slot)].store(static_cast<uint32_t>(Raw(page) + 1), std::memory_order_release);
}

void StoreSegmentTable::AssignSlot(SlotId slot, PageId page, uint32_t slots) {
  const SegmentId segment = geometry_.SegmentOf(slot);
  At(segment).live.fetch_add(slots, std::memory_order_relaxed);
  AddLive(segment, slots);
  Own(slot, page, slots);
}

// The number of slots that the owner of `slot` has from there on.
uint32_t StoreSegmentTable::SlotsFrom(SlotId slot) const {
  uint32_t slots = 1;
  while (geometry_.MayBePage(slot, slots + 1) &&
         owners_[Raw(slot) + slots].load(std::memory_order_relaxed) == kFurther) {
    ++slots;
  }
  return slots;
}

void StoreSegmentTable::ReleaseSlot(SlotId slot) {
  const SegmentId segment = geometry_.SegmentOf(slot);
  Segment& s = At(segment);
  const uint32_t slots = SlotsFrom(slot);
  // The first slot last: without it, the others would count as those of the page before.
  for (uint32_t i = 1; i < slots; ++i) {
    owners_[Raw(slot) + i].store(0, std::memory_order_relaxed);
  }
  const uint32_t owner = owners_[Raw(slot)].exchange(0, std::memory_order_acq_rel);
  LATCHKEY_CHECK(owner != 0 && owner != kFurther);
  AddLive(segment, -int64_t{slots});
  const uint32_t live = s.live.fetch_sub(slots, std::memory_order_seq_cst);
  s.has_no_hole.store(false, std::memory_order_seq_cst);
  NoteChange(segment);
  if (live != slots) return;
  bool freed = false;
  {
    MutexLock lock(mutex_);
    // Holes are taken under this mutex only, so an empty closed segment stays empty here.
    freed = FreeIfEmpty(segment);
  }
  if (freed) TellOfEmptied(segment);
}

void StoreSegmentTable::MarkBad(SlotId slot) {
  LATCHKEY_CHECK(owners_[Raw(slot)].load(std::memory_order_relaxed) != 0);
  bad_slots_.fetch_add(SlotsFrom(slot), std::memory_order_relaxed);
  const SegmentId segment = geometry_.SegmentOf(slot);
  if (At(segment).has_bad_slots.exchange(true)) return;
  bad_segments_.fetch_add(1, std::memory_order_relaxed);
  NoteChange(segment);
}

void StoreSegmentTable::MarkBadMeta(SegmentId segment) {
  LATCHKEY_CHECK(StateOf(segment) == SegmentState::kMeta);
  bad_slots_.fetch_add(geometry_.slots_per_segment, std::memory_order_relaxed);
  if (!At(segment).has_bad_slots.exchange(true)) {
    bad_segments_.fetch_add(1, std::memory_order_relaxed);
  }
}

void StoreSegmentTable::NoteChange(SegmentId segment) {
  Segment& s = At(segment);
  uint32_t none = 0;
  // In the stack already: whoever takes it out reads the segment after that.
  if (!s.next_changed.compare_exchange_strong(none, kEndOfChanged, std::memory_order_seq_cst)) {
    return;
  }
  uint32_t top = changed_.load(std::memory_order_relaxed);
  do {
    s.next_changed.store(top == 0 ? kEndOfChanged : top, std::memory_order_relaxed);
  } while (!changed_.compare_exchange_weak(top, Raw(segment) + 1, std::memory_order_acq_rel));
}

void StoreSegmentTable::FileChanged() {
  uint32_t link = changed_.exchange(0, std::memory_order_acq_rel);
  while (link != 0 && link != kEndOfChanged) {
    const SegmentId segment{link - 1};
    link = At(segment).next_changed.exchange(0, std::memory_order_seq_cst);
    File(segment);
  }
}

void StoreSegmentTable::File(SegmentId segment) {
  const Segment& s = At(segment);
  const uint32_t live = s.live.load(std::memory_order_seq_cst);
  if (s.state.load(std::memory_order_relaxed) != SegmentState::kClosed || live == 0) {
    return index_.Remove(segment);
  }
  const uint32_t group = static_cast<uint32_t>(KindOf(segment)) +
                         (MayBeVictim(segment) ? 0 : kBarred) +
                         (s.has_no_hole.load(std::memory_order_relaxed) ? kNoHole : 0);
  index_.File(segment, group, live, s.birth.load(std::memory_order_relaxed));
}

std::optional<SegmentView> StoreSegmentTable::BestVictim(
    absl::FunctionRef<double(double u, double age)> priority, uint64_t clock) {
  MutexLock lock(mutex_);
  FileChanged();
  std::optional<SegmentView> best;
  double highest = 0;
  for (const SegmentKind kind : {SegmentKind::kHot, SegmentKind::kCold}) {
    const auto compare = [&](uint32_t live, uint64_t birth, SegmentId segment) {
      const double u = static_cast<double>(live) / geometry_.slots_per_segment;
      const double age = clock > birth ? static_cast<double>(clock - birth) : 1.0;
      const double value = priority(u, age);
      if (best && value <= highest) return;
      highest = value;
      best = SegmentView{segment, kind, live, birth};
    };
    index_.ForEachOldest(static_cast<uint32_t>(kind), compare);
    if (geometry_.compresses())
      index_.ForEachOldest(static_cast<uint32_t>(kind) + kNoHole, compare);
  }
  return best;
}

void StoreSegmentTable::Bar(SegmentId segment) {
  At(segment).is_barred.store(true, std::memory_order_relaxed);
  NoteChange(segment);
}

std::optional<SegmentId> StoreSegmentTable::FullestWithHole(uint32_t kind) {
  const std::optional<SegmentId> segment = index_.Fullest(kind);
  return segment ? segment : index_.Fullest(kind + kBarred);
}

bool StoreSegmentTable::IsHole(SlotId block) const {
  for (uint32_t i = 0; i < geometry_.slots_per_page; ++i) {
    if (owners_[Raw(block) + i].load(std::memory_order_acquire) != 0) return false;
  }
  return true;
}

// Holes are taken under the mutex only, so one that was seen stays one.
std::optional<SlotId> StoreSegmentTable::TakeHoleIn(SegmentId segment, uint32_t from, PageId page,
                                                    uint32_t slots) {
  Segment& s = At(segment);
  if (s.state.load(std::memory_order_relaxed) != SegmentState::kClosed) return std::nullopt;
  for (uint32_t i = from; i < geometry_.slots_per_segment; i += geometry_.slots_per_page) {
    const SlotId slot = geometry_.SlotAt(segment, i);
    if (!IsHole(slot)) continue;
    // Count the page live first: while the slots get their owner, ReleaseSlot must not see the
    // segment empty.
    s.live.fetch_add(slots, std::memory_order_relaxed);
    Own(slot, page, slots);
    AddLive(segment, slots);
    NoteChange(segment);
    return slot;
  }
  return std::nullopt;
}

// In a file with page compression a segment may have free slots and no hole. A search from its
// front finds that out, and the segment stays apart until a slot of it is released.
std::optional<SlotId> StoreSegmentTable::TakeHole(SegmentKind kind, PageId page, uint32_t slots) {
  MutexLock lock(mutex_);
  const SegmentKind other = kind == SegmentKind::kHot ? SegmentKind::kCold : SegmentKind::kHot;
  for (const SegmentKind k : {kind, other}) {
    HoleCursor& cursor = holes_[static_cast<size_t>(k)];
    for (;;) {
      if (cursor.segment) {
        const bool from_front = cursor.next_index == 0 && geometry_.compresses();
        // Before the search: a slot that is released meanwhile takes the mark back.
        if (from_front) At(*cursor.segment).has_no_hole.store(true, std::memory_order_seq_cst);
        const auto slot = TakeHoleIn(*cursor.segment, cursor.next_index, page, slots);
        if (slot) {
          At(*cursor.segment).has_no_hole.store(false, std::memory_order_relaxed);
          cursor.next_index = static_cast<uint32_t>(Raw(*slot) % geometry_.slots_per_segment) +
                              geometry_.slots_per_page;
          return slot;
        }
        if (from_front) NoteChange(*cursor.segment);
      }
      FileChanged();
      const std::optional<SegmentId> next = FullestWithHole(static_cast<uint32_t>(k));
      if (!next || (next == cursor.segment && cursor.next_index == 0)) break;
      cursor = {next, 0};
    }
    cursor = {};
  }
  return std::nullopt;
}

std::optional<SlotId> StoreSegmentTable::BorrowHole(SegmentId segment, uint32_t index) {
  MutexLock lock(mutex_);
  const uint32_t slots = geometry_.slots_per_page;
  if (LiveOf(segment) + slots > geometry_.slots_per_segment) return std::nullopt;
  const auto take = [&](uint32_t from) LATCHKEY_REQUIRES(mutex_) {
    return TakeHoleIn(segment, from, PageId{kBorrowed - 1}, slots);
  };
  const auto behind = take(index / slots * slots);
  return behind ? behind : take(0);
}

void StoreSegmentTable::RestoreSegment(SegmentId segment, SegmentState state, SegmentKind kind,
                                       uint64_t birth) {
  MutexLock lock(mutex_);
  Segment& s = At(segment);
  free_.Erase(Raw(segment));
  free_count_.store(static_cast<uint32_t>(free_.size()), std::memory_order_relaxed);
  s.kind.store(kind, std::memory_order_relaxed);
  s.birth.store(birth, std::memory_order_relaxed);
  s.state.store(state, std::memory_order_release);
  if (state == SegmentState::kFree) MakeFree(segment);
}

bool StoreSegmentTable::RestoreOwner(SlotId slot, PageId page, uint32_t slots) {
  const SegmentId segment = geometry_.SegmentOf(slot);
  if (Raw(segment) >= total() || StateOf(segment) != SegmentState::kClosed) return false;
  for (uint32_t i = 0; i < slots; ++i) {
    if (owners_[Raw(slot) + i].load(std::memory_order_relaxed) != 0) return false;
  }
  AssignSlot(slot, page, slots);
  return true;
}

void StoreSegmentTable::FinishRestore() {
  MutexLock lock(mutex_);
  for (uint32_t s = 0; s < total_.load(std::memory_order_relaxed); ++s) {
    const SegmentId id{s};
    if (StateOf(id) != SegmentState::kClosed) continue;
    if (LiveOf(id) == 0) MakeFree(id);
    NoteChange(id);
  }
}

}  // namespace latchkey
