// Page translation: page id -> the page's word (page_word.h), which holds the frame, the latch and
// the version of the page. A lazily grown two-level array instead of a hash table: wait-free, one
// load, and the latch comes with the translation (after vmcache; ARCHITECTURE "Buffer pool").
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "bufferpool/page_word.h"
#include "storage/base/ids.h"

namespace latchkey {

/// Thread-safe. Words begin as 0: not resident, free, version 0. A word lives as long as the table.
class PageTable {
 public:
  PageTable();
  ~PageTable();
  PageTable(const PageTable&) = delete;
  PageTable& operator=(const PageTable&) = delete;

  /// The word of `page`. REQUIRES: Raw(page) < kMaxPageIds.
  PageWord& WordOf(PageId page) {
    const uint64_t id = Raw(page);
    PageWord* chunk = chunks_[id >> kChunkBits].load(std::memory_order_acquire);
    if (__builtin_expect(chunk == nullptr, 0)) chunk = AddChunk(id >> kChunkBits);
    return chunk[id & (kChunkWords - 1)];
  }

  /// Memory in use if only ids below `pages` were asked for, bytes. The rest of a chunk takes no
  /// memory, because it was never touched.
  uint64_t memory_bytes(uint64_t pages) const {
    return std::min(memory_bytes_.load(std::memory_order_relaxed), MemoryFor(pages));
  }
  /// Memory that a table for `pages` page ids takes, bytes: in whole 4 KiB.
  static constexpr uint64_t MemoryFor(uint64_t pages) {
    return (pages * sizeof(PageWord) + 4095) / 4096 * 4096;
  }
  /// The same in whole chunks: with room for the ids that come next.
  static constexpr uint64_t RoomFor(uint64_t pages) {
    return ((pages + kChunkWords - 1) / kChunkWords) * kChunkWords * sizeof(PageWord);
  }

 private:
  static constexpr uint64_t kChunkBits = 15;
  static constexpr uint64_t kChunkWords = uint64_t{1} << kChunkBits;
  static constexpr uint64_t kChunks = kMaxPageIds >> kChunkBits;

  PageWord* AddChunk(uint64_t index);

  std::atomic<PageWord*>* chunks_;  // kChunks entries of lazily touched memory
  std::atomic<uint64_t> memory_bytes_{0};
};

}  // namespace latchkey
