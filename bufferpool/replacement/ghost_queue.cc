#include "bufferpool/replacement/ghost_queue.h"

#include <bit>
#include <utility>

#include "storage/base/hash.h"

namespace latchkey {

void GhostQueue::SetCapacity(size_t capacity,
                             absl::FunctionRef<void(uint32_t from, uint32_t to)> moved) {
  // Take all memory before any change.
  std::vector<std::pair<PageId, uint32_t>> kept;  // oldest first
  kept.reserve(size_);
  std::vector<Entry> entries(capacity);
  std::vector<uint32_t> index(capacity == 0 ? 0 : std::bit_ceil(capacity * 2), kNone);
  TrimTo(capacity);
  for (uint32_t e = oldest_; e != kNone; e = entries_[e].newer) {
    kept.emplace_back(entries_[e].page, e);
  }

  entries_ = std::move(entries);
  index_ = std::move(index);
  newest_ = oldest_ = unused_ = kNone;
  size_ = 0;
  for (uint32_t e = static_cast<uint32_t>(capacity); e-- > 0;) {
    entries_[e].older = unused_;
    unused_ = e;
  }
  for (const auto& [page, from] : kept) moved(from, PushNewest(page));
}

uint32_t GhostQueue::PushNewest(PageId page) {
  if (entries_.empty()) return kNone;
  uint32_t entry = Find(page);
  if (entry != kNone) {
    Unlink(entry);
    Link(entry);
    return entry;
  }
  if (size_ == entries_.size()) Forget(oldest_);
  entry = unused_;
  unused_ = entries_[entry].older;
  entries_[entry].page = page;
  Link(entry);
  IndexInsert(entry);
  ++size_;
  return entry;
}

uint32_t GhostQueue::Remember(PageId page, PageId incoming, size_t limit) {
  const uint32_t entry = PushNewest(page);
  if (page != incoming && Contains(incoming)) {
    PushNewest(incoming);
    TrimTo(limit + 1);
  } else {
    TrimTo(limit);
  }
  return entry;
}

bool GhostQueue::Remove(PageId page) {
  const uint32_t entry = Find(page);
  if (entry == kNone) return false;
  Forget(entry);
  return true;
}

void GhostQueue::TrimTo(size_t size) {
  while (size_ > size) Forget(oldest_);
}

void GhostQueue::Forget(uint32_t entry) {
  IndexErase(entry);
  Unlink(entry);
  entries_[entry].older = unused_;
  unused_ = entry;
  --size_;
}

void GhostQueue::Link(uint32_t entry) {
  entries_[entry].newer = kNone;
  entries_[entry].older = newest_;
  (newest_ == kNone ? oldest_ : entries_[newest_].newer) = entry;
  newest_ = entry;
}

void GhostQueue::Unlink(uint32_t entry) {
  const Entry& e = entries_[entry];
  (e.newer == kNone ? newest_ : entries_[e.newer].older) = e.older;
  (e.older == kNone ? oldest_ : entries_[e.older].newer) = e.newer;
}

size_t GhostQueue::HomeOf(PageId page) const { return MixHash(Raw(page)) & (index_.size() - 1); }

uint32_t GhostQueue::Find(PageId page) const {
  if (index_.empty()) return kNone;
  for (size_t i = HomeOf(page); index_[i] != kNone; i = (i + 1) & (index_.size() - 1)) {
    if (entries_[index_[i]].page == page) return index_[i];
  }
  return kNone;
}

void GhostQueue::IndexInsert(uint32_t entry) {
  size_t i = HomeOf(entries_[entry].page);
  while (index_[i] != kNone) i = (i + 1) & (index_.size() - 1);
  index_[i] = entry;
}

void GhostQueue::IndexErase(uint32_t entry) {
  const size_t mask = index_.size() - 1;
  size_t hole = HomeOf(entries_[entry].page);
  while (index_[hole] != entry) hole = (hole + 1) & mask;
  // A later entry of the run moves into the hole, unless that would put it before its home.
  for (size_t i = (hole + 1) & mask; index_[i] != kNone; i = (i + 1) & mask) {
    const size_t distance_from_home = (i - HomeOf(entries_[index_[i]].page)) & mask;
    if (distance_from_home >= ((i - hole) & mask)) {
      index_[hole] = index_[i];
      hole = i;
    }
  }
  index_[hole] = kNone;
}

}  // namespace latchkey
