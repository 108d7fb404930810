#include "layout/map/page_map.h"

#include <algorithm>

#include "storage/base/check.h"
#include "storage/base/status_macros.h"

namespace latchkey {

absl::Status PageMap::EnsureEntry(uint64_t id) {
  // Room for every id to be free, because Free must not take memory.
  if (free_ids_.capacity() <= id)
    free_ids_.reserve(std::max<size_t>(id + 1, 2 * free_ids_.capacity()));
  if (words_.EnsureSize(id + 1)) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kResourceExhausted, "no memory for the map entry of page {}",
                    id);
}

void PageMap::Use(PageId id) {
  const LocationWord old = Load(id);
  LATCHKEY_CHECK(old.free());
  words_[Raw(id)].store(LocationWord::Unwritten(old.sequence()).bits(), std::memory_order_seq_cst);
  allocated_.fetch_add(1, std::memory_order_relaxed);
}

absl::StatusOr<PageId> PageMap::Allocate() {
  MutexLock lock(mutex_);
  while (!free_ids_.empty()) {
    const PageId id{free_ids_.back()};
    free_ids_.pop_back();
    if (!Load(id).free()) continue;  // adopted since
    Use(id);
    return id;
  }
  const uint64_t id = limit_.load(std::memory_order_relaxed);
  if (id >= kMaxIds) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "all {} page ids are in use: use larger pages", kMaxIds);
  }
  LATCHKEY_RETURN_IF_ERROR(EnsureEntry(id));
  limit_.store(id + 1, std::memory_order_release);
  Use(PageId{id});
  return PageId{id};
}

absl::Status PageMap::Adopt(PageId id) {
  MutexLock lock(mutex_);
  if (Raw(id) >= kMaxIds) {
    return InvalidArgument("page id {} is outside 0-{}", Raw(id), kMaxIds - 1);
  }
  const uint64_t limit = limit_.load(std::memory_order_relaxed);
  if (Raw(id) >= limit) {
    LATCHKEY_RETURN_IF_ERROR(EnsureEntry(Raw(id)));
    for (uint64_t i = limit; i < Raw(id); ++i) free_ids_.push_back(static_cast<uint32_t>(i));
    limit_.store(Raw(id) + 1, std::memory_order_release);
  }
  if (Load(id).free()) Use(id);
  return absl::OkStatus();
}

void PageMap::Free(PageId id) {
  MutexLock lock(mutex_);
  const LocationWord old = Load(id);
  LATCHKEY_CHECK(!old.free() && !old.in_memory());
  words_[Raw(id)].store(LocationWord::Free(old.sequence()).bits(), std::memory_order_seq_cst);
  free_ids_.push_back(static_cast<uint32_t>(Raw(id)));
  allocated_.fetch_sub(1, std::memory_order_relaxed);
}

absl::Status PageMap::Restore(PageId id, LocationWord word) {
  if (Raw(id) >= kMaxIds) {
    return InvalidArgument("page id {} is outside 0-{}", Raw(id), kMaxIds - 1);
  }
  LATCHKEY_RETURN_IF_ERROR(EnsureEntry(Raw(id)));
  if (Raw(id) >= limit()) limit_.store(Raw(id) + 1, std::memory_order_release);
  const bool was_free = Load(id).free();
  words_[Raw(id)].store(word.bits(), std::memory_order_relaxed);
  if (was_free && !word.free()) allocated_.fetch_add(1, std::memory_order_relaxed);
  if (!was_free && word.free()) allocated_.fetch_sub(1, std::memory_order_relaxed);
  return absl::OkStatus();
}

void PageMap::FinishRestore() {
  for (uint64_t id = limit(); id-- > 0;) {
    if (Load(PageId{id}).free()) free_ids_.push_back(static_cast<uint32_t>(id));
  }
}

}  // namespace latchkey
