#include "storage/device/simulated/flash_translation.h"

#include <algorithm>
#include <cmath>

#include "storage/base/check.h"

namespace latchkey {
namespace {

// A collection may need a free unit before it has freed one.
constexpr size_t kReserve = 2;

}  // namespace

FlashTranslation::FlashTranslation(const FlashGeometry& geometry)
    : geometry_(geometry),
      by_live_(geometry.pages_per_unit + 1, kNone),
      open_for_writes_(geometry.streams, kNone),
      open_for_moves_(geometry.streams, kNone) {
  LATCHKEY_CHECK(geometry.pages_per_unit >= 2 && geometry.spare > 0 && geometry.streams > 0);
}

uint64_t FlashTranslation::UnitsFor(uint64_t pages) const {
  const uint64_t size = (pages + geometry_.pages_per_unit - 1) / geometry_.pages_per_unit;
  const auto spare = static_cast<uint64_t>(std::ceil(static_cast<double>(size) * geometry_.spare));
  return size + std::max<uint64_t>(spare, 1) + 2 * uint64_t{geometry_.streams} + kReserve;
}

void FlashTranslation::Resize(uint64_t pages) {
  if (pages < slot_of_.size()) Discard(pages, slot_of_.size() - pages);
  slot_of_.resize(pages, kNone);
  target_units_ = UnitsFor(pages);
  while (units() < target_units_) {
    uint32_t unit;
    if (retired_.empty()) {
      unit = static_cast<uint32_t>(units_.size());
      units_.emplace_back();
      page_in_.resize(page_in_.size() + geometry_.pages_per_unit, kNone);
    } else {
      unit = retired_.back();
      retired_.pop_back();
    }
    free_.push_back(unit);
  }
  while (units() > target_units_ && free_.size() > kReserve) {
    retired_.push_back(free_.back());
    free_.pop_back();
  }
}

FlashWork FlashTranslation::Write(uint64_t first, uint64_t count, uint32_t stream) {
  LATCHKEY_CHECK(first + count <= slot_of_.size() && stream < geometry_.streams);
  FlashWork work;
  for (uint64_t page = first; page < first + count; ++page) {
    Invalidate(static_cast<uint32_t>(page));
    if (open_for_writes_[stream] == kNone) {
      while (free_.size() < kReserve) Collect(work);
    }
    Append(open_for_writes_[stream], stream, static_cast<uint32_t>(page));
  }
  return work;
}

uint64_t FlashTranslation::Discard(uint64_t first, uint64_t count) {
  const uint64_t before = live_pages_;
  const uint64_t end = std::min<uint64_t>(first + count, slot_of_.size());
  for (uint64_t page = first; page < end; ++page) Invalidate(static_cast<uint32_t>(page));
  return before - live_pages_;
}

void FlashTranslation::Append(uint32_t& open, uint32_t stream, uint32_t page) {
  if (open == kNone) open = TakeFree(stream);
  Unit& unit = units_[open];
  const uint32_t slot = open * geometry_.pages_per_unit + unit.written++;
  slot_of_[page] = slot;
  page_in_[slot] = page;
  ++unit.live;
  ++live_pages_;
  if (unit.written < geometry_.pages_per_unit) return;
  unit.closed = true;
  Link(open);
  open = kNone;
}

uint32_t FlashTranslation::TakeFree(uint32_t stream) {
  LATCHKEY_CHECK(!free_.empty());
  const uint32_t unit = free_.back();
  free_.pop_back();
  units_[unit] = Unit{.stream = stream};
  return unit;
}

void FlashTranslation::GiveFree(uint32_t unit) {
  const bool superfluous = units() > target_units_ && free_.size() >= kReserve;
  (superfluous ? retired_ : free_).push_back(unit);
}

// There is always a closed unit with a dead page: the units that are neither open nor free are more
// than the size of the device.
void FlashTranslation::Collect(FlashWork& work) {
  uint32_t live = 0;
  while (live < geometry_.pages_per_unit && by_live_[live] == kNone) ++live;
  LATCHKEY_CHECK(live < geometry_.pages_per_unit);
  const uint32_t victim = by_live_[live];
  const uint32_t stream = units_[victim].stream;
  Unlink(victim);
  units_[victim].closed = false;
  const uint32_t begin = victim * geometry_.pages_per_unit;
  for (uint32_t slot = begin; slot < begin + geometry_.pages_per_unit; ++slot) {
    const uint32_t page = page_in_[slot];
    if (page == kNone) continue;
    Invalidate(page);
    Append(open_for_moves_[stream], stream, page);
    ++work.moved_pages;
  }
  ++work.erases;
  GiveFree(victim);
}

void FlashTranslation::Invalidate(uint32_t page) {
  const uint32_t slot = slot_of_[page];
  if (slot == kNone) return;
  slot_of_[page] = kNone;
  page_in_[slot] = kNone;
  --live_pages_;
  const uint32_t unit = slot / geometry_.pages_per_unit;
  if (units_[unit].closed) Unlink(unit);
  --units_[unit].live;
  if (units_[unit].closed) Link(unit);
}

void FlashTranslation::Link(uint32_t unit) {
  uint32_t& first = by_live_[units_[unit].live];
  units_[unit].previous = kNone;
  units_[unit].next = first;
  if (first != kNone) units_[first].previous = unit;
  first = unit;
}

void FlashTranslation::Unlink(uint32_t unit) {
  const Unit& gone = units_[unit];
  (gone.previous == kNone ? by_live_[gone.live] : units_[gone.previous].next) = gone.next;
  if (gone.next != kNone) units_[gone.next].previous = gone.previous;
}

}  // namespace latchkey
