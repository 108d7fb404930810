// Sizes of the store's buffers. From kOrdinaryCache on, and without a bound, every buffer has its
// full size, and there are nine segment buffers if they fit into the cache. Below it the buffers are
// parts of the cache. kOrdinaryPages pages of cache still give full page buffers, smaller caches
// give proportionally smaller ones. Doublewrite batches are full from kPagesForFullBatches on, so
// that all of them together take a sixteenth of a cache. Segment buffers take a tenth at most, more than
// nine of them a sixteenth, but one for each log stays
// (docs/decisions/0022-begun-blocks-wait-for-pages.md). The cleaner's victims take a thirty-second.
#pragma once

#include <algorithm>
#include <cstdint>

#include "layout/geometry.h"

namespace latchkey {

struct StoreBuffers {
  static constexpr uint64_t kOrdinaryCache = uint64_t{64} << 20;  ///< bytes
  static constexpr uint64_t kOrdinaryPages = 4096;
  static constexpr uint64_t kPagesForFullBatches = 6144;
  static constexpr uint32_t kFullDoublewrite = 126;  ///< pages of a batch, its note included
  /// One is filled while another goes to its area, and a third one to its slots.
  static constexpr uint32_t kDoublewriteBatches = 3;
  static constexpr uint32_t kFullCleanerRequests = 64;
  static constexpr uint32_t kFullSegmentBuffers = 9;
  /// Of the victims that the cleaner empties at once, bytes: so short segments cost it no more time than
  /// long ones.
  static constexpr uint32_t kFullVictims = uint32_t{2} << 20;
  static constexpr uint64_t kUnbounded = UINT64_MAX;

  uint64_t cache_bytes = 0;                           ///< 0 = no bound: full sizes
  uint32_t doublewrite_pages = kFullDoublewrite;      ///< of one of the batches, with its note
  uint32_t segment_buffers = kFullSegmentBuffers;     ///< the most that exist at once
  uint32_t cleaner_requests =
      kFullCleanerRequests;  ///< that plug holes; twice as many read victims
  uint32_t victims = 1;                               ///< that it empties at once
  uint64_t writer_bytes = kUnbounded;                 ///< of the frames of all page writers
  uint32_t journal_entries = 8192;                    ///< gathered changes that make a round due
  uint32_t journal_slots = 4096;                      ///< the same of superseded slots
  uint32_t journal_buffer_bytes = uint32_t{1} << 20;  ///< at most; the log has a minimum

  /// The sizes for a store that is a part of `cache_bytes` (0 = no bound). `logs`: the most append
  /// logs that its layout uses; each holds one segment buffer while it is open. `further_logs`: those
  /// of further streams, which get buffers as far as there is room.
  static StoreBuffers For(uint64_t cache_bytes, const StoreGeometry& geometry, uint32_t logs,
                          uint32_t further_logs = 0);

  /// How many logs beyond `logs` may be open, so that two buffers are left for segments that are being
  /// written.
  uint32_t LogsBeyond(uint32_t logs) const {
    return segment_buffers - std::min(segment_buffers, logs + 2);
  }
  /// The depth of a new page writer that asks for `wanted`, when the frames of the existing ones
  /// take `taken_bytes`. At least 1, at most `wanted`.
  uint32_t WriterDepth(uint32_t wanted, uint64_t taken_bytes, uint32_t page_size) const;
  /// The most bytes that all buffers but those of the journal take, if page writers that ask for
  /// `writer_pages` frames together are expected. Counts the buffer of a checkpoint and
  /// those of victims, too.
  uint64_t MostBytes(const StoreGeometry& geometry, bool writes_twice, uint64_t writer_pages) const;

  /// The largest default segment of a store that is created as a part of `cache_bytes`, bytes.
  static uint32_t LargestDefaultSegment(uint64_t cache_bytes);
  /// The same for a segment that is one erase unit of flash. It is twice as large: shorter segments
  /// share an erase unit, and the device then moves the live pages among them.
  static uint32_t LargestErasedSegment(uint64_t cache_bytes);
};

}  // namespace latchkey
