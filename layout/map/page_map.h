// The page map: page id -> place of the newest accepted copy of the page, and the write sequence
// that this copy must carry. One 64-bit atomic word per page, so readers take no lock:
//
//   bits  0-35  place: on the device the first slot (bits 0-32) and the number of slots less one
//               (bits 33-35), or the copy frame in memory (state kInMemory)
//   bits 36-61  write sequence, modulo 2^26; kept when the id is freed, so that a page written
//               before the free never passes for a page written after it
//   bits 62-63  state
//
//   kFree --Allocate--> kUnwritten --accept--> kInMemory --written--> kOnDevice --accept--> ...
//   kFree <----------------------- Free --------------------------------'
//
// kInMemory marks a write in flight: the segment cleaner leaves such a page alone, and readers copy
// from the frame. A reader of the device loads the word again after its I/O. It may judge the bytes
// it read only if the word has not changed (ARCHITECTURE, "Layout, crash-safe").
#pragma once

#include <absl/status/statusor.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "layout/geometry.h"
#include "layout/map/lazy_array.h"
#include "layout/map/location_word.h"
#include "storage/runtime/mutex.h"

namespace latchkey {

/// Thread-safe.
class PageMap {
 public:
  /// Three less than kMaxPageIds, so that "id + 1" fits 32 bits beside two marks (owners in
  /// segment_table.h).
  static constexpr uint64_t kMaxIds = kMaxPageIds - 3;

  explicit PageMap(Runtime& runtime) : mutex_(runtime) {}

  /// Hands out an id, a freed one before a new one; its word becomes kUnwritten. ResourceExhausted
  /// when all ids or the memory for the map are used up.
  absl::StatusOr<PageId> Allocate();
  /// Makes `id` kUnwritten if it is free. Ids below it that were never handed out become free.
  /// InvalidArgument beyond kMaxIds; ResourceExhausted without memory.
  absl::Status Adopt(PageId id);
  /// Whether the id is in use.
  bool IsAllocated(PageId id) const { return Raw(id) < limit() && !Load(id).free(); }
  /// The inverse of Allocate. REQUIRES: the word's state is kUnwritten or kOnDevice and only the
  /// caller uses it.
  void Free(PageId id);

  LocationWord Load(PageId id) const {
    return LocationWord(words_[Raw(id)].load(std::memory_order_seq_cst));
  }
  /// Used only while a store is opened, before any other call, and so without the mutex. Restore
  /// sets the word of an id and may be called repeatedly; FinishRestore ends the restore. Errors as
  /// Adopt.
  absl::Status Restore(PageId id, LocationWord word) LATCHKEY_NO_THREAD_SAFETY_ANALYSIS;
  void FinishRestore() LATCHKEY_NO_THREAD_SAFETY_ANALYSIS;

  /// Every id handed out is below the limit.
  uint64_t limit() const { return limit_.load(std::memory_order_acquire); }
  /// Ids in use now.
  uint64_t allocated() const { return allocated_.load(std::memory_order_relaxed); }
  /// Bytes that the words take in a checkpoint: 8 for an id in use, 4 for a free one (FORMAT.md).
  uint64_t checkpoint_bytes() const { return CheckpointBytes(limit(), allocated()); }
  /// With one more id in use, below `limit` or this map's limit.
  uint64_t checkpoint_bytes_with_another(uint64_t limit) const {
    return CheckpointBytes(std::max(limit, this->limit()), allocated() + 1);
  }
  /// In bytes; at least 4096, the size of the first block of entries.
  size_t memory_bytes() const { return std::max<size_t>(words_.memory_bytes(), 4096); }

 private:
  friend class MapJournal;     // changes words in the order of its entries
  friend class PageDirectory;  // all other changes
  bool CompareExchange(PageId id, LocationWord& expected, LocationWord desired) {
    uint64_t bits = expected.bits();
    const bool changed =
        words_[Raw(id)].compare_exchange_strong(bits, desired.bits(), std::memory_order_seq_cst);
    expected = LocationWord(bits);
    return changed;
  }

  static uint64_t CheckpointBytes(uint64_t limit, uint64_t allocated) {
    return 4 * (limit + std::min(limit, allocated));
  }
  absl::Status EnsureEntry(uint64_t id) LATCHKEY_REQUIRES(mutex_);
  void Use(PageId id) LATCHKEY_REQUIRES(mutex_);  // REQUIRES: a free id below limit_

  LazyArray<std::atomic<uint64_t>> words_;
  std::atomic<uint64_t> limit_{0};
  std::atomic<uint64_t> allocated_{0};
  Mutex mutex_;  // guards free_ids_ and growth
  std::vector<uint32_t> free_ids_
      LATCHKEY_GUARDED_BY(mutex_);  // all free ids below limit_, and some that were adopted since
};

}  // namespace latchkey
