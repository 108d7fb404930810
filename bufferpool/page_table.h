// Page translation: page id -> one 64-bit atomic word that holds the frame, the latch and the
// version of the page. A lazily grown two-level array instead of a hash table: wait-free, one load,
// and the latch comes with the translation (after vmcache; ARCHITECTURE "Buffer pool").
//
//    63            34 33          8 7      0
//   +----------------+-------------+--------+
//   |    version     |    frame    | latch  |     frame: 0 = not resident
//   +----------------+-------------+--------+     latch: 0 free, 1..254 shared holders,
//                                                        255 exclusive
//
// State machine of a word (f = resident in frame f, - = not resident; v = version):
//
//   (-, free, v) --BeginLoad--> (-, exclusive, v) --EndLoad--> (f, free, v)
//   (f, free, v) --TryShared--> (f, 1, v) <--TryShared/ReleaseShared--> (f, n, v)
//   (f, free, v) --TryExclusive--> (f, exclusive, v)
//   (f, exclusive, v) --ReleaseExclusive(modified)--> (f, free, v+1)
//   (f, exclusive, v) --ReleaseExclusive(unmodified)--> (f, free, v)
//   (f, exclusive, v) --ReleaseEvicted--> (-, free, v+1)
//
// The version survives eviction, so an optimistic reader detects an eviction and a reload between
// its read and its validation. The version has 30 bits. A validation is wrong only if, since the
// word was read, the page was modified exactly a multiple of 2^30 times and is in the same frame
// again. At 20 ns a modification the reader must have been stalled for exactly a multiple of 21 s,
// while a writer did nothing but modify this page. We accept that risk.
#pragma once

#include <atomic>
#include <cstdint>

#include "storage/base/ids.h"

namespace latchkey {

/// The value of a page word at one moment.
class PageState {
 public:
  static constexpr uint32_t kLatchBits = 8, kFrameBits = 26;
  static constexpr uint64_t kExclusive = (1u << kLatchBits) - 1;
  static constexpr uint64_t kMaxShared = kExclusive - 1;
  static constexpr uint64_t kLatchMask = kExclusive;
  static constexpr uint64_t kFrameMask = ((uint64_t{1} << kFrameBits) - 1) << kLatchBits;
  static constexpr uint64_t kVersionUnit = uint64_t{1} << (kLatchBits + kFrameBits);
  static constexpr uint32_t kMaxFrames = (1u << kFrameBits) - 1;

  constexpr explicit PageState(uint64_t bits) : bits_(bits) {}
  constexpr uint64_t bits() const { return bits_; }
  constexpr uint64_t latch() const { return bits_ & kLatchMask; }
  constexpr bool exclusive() const { return latch() == kExclusive; }
  constexpr FrameId frame() const {
    return FrameId{static_cast<uint32_t>((bits_ & kFrameMask) >> kLatchBits)};
  }
  constexpr bool resident() const { return (bits_ & kFrameMask) != 0; }
  constexpr uint64_t version() const { return bits_ / kVersionUnit; }

  constexpr PageState WithLatch(uint64_t latch) const {
    return PageState((bits_ & ~kLatchMask) | latch);
  }
  constexpr PageState WithFrame(FrameId frame) const {
    return PageState((bits_ & ~kFrameMask) | (uint64_t{Raw(frame)} << kLatchBits));
  }
  constexpr PageState NextVersion() const { return PageState(bits_ + kVersionUnit); }
  /// Whether in `later` the page is in the same frame, unmodified and not exclusively latched.
  constexpr bool ValidatedBy(PageState later) const {
    return ((bits_ ^ later.bits_) & ~kLatchMask) == 0 && !later.exclusive();
  }

 private:
  uint64_t bits_;
};

using PageWord = std::atomic<uint64_t>;

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
