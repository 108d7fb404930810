#include "layout/write/store_buffers.h"

#include <algorithm>
#include <bit>

#include "layout/map/copy_frames.h"

namespace latchkey {
namespace {

constexpr uint32_t kLeastPages = 4;        // of a batch, with its note, or of a queue
constexpr uint32_t kLeastWriterDepth = 2;  // while one page is written the next is accepted
constexpr uint64_t kWriterShare = 8;       // page writers take this part of the cache,
constexpr uint64_t kSegmentShare = 10;     // segment buffers this one,
constexpr uint64_t kStreamShare = 16;      // more than the full number of them this one,
constexpr uint64_t kOneSegmentShare = 64;  // one segment this one,
constexpr uint64_t kErasedShare = 32;      // and one that is an erase unit this one
constexpr uint64_t kOrdinaryJournal = uint64_t{16} << 20;  // cache with a full journal
constexpr uint32_t kOrdinaryJournalBuffer = 256 << 10;

bool IsOrdinary(uint64_t cache_bytes) {
  return cache_bytes == 0 || cache_bytes >= StoreBuffers::kOrdinaryCache;
}

// The part of `full` that a cache of `cache_bytes` gets if one of `ordinary_bytes` gets all.
uint32_t Part(uint32_t full, uint64_t cache_bytes, uint64_t ordinary_bytes, uint32_t least) {
  if (IsOrdinary(cache_bytes)) return full;
  const auto part = static_cast<uint32_t>(full * std::min<uint64_t>(cache_bytes, ordinary_bytes) /
                                          ordinary_bytes);
  return std::clamp(part, std::min(least, full), full);
}

uint32_t LargestSegment(uint64_t cache_bytes, uint64_t share) {
  constexpr uint32_t kMostDefault = 16u << 20;
  if (IsOrdinary(cache_bytes)) return kMostDefault;
  return static_cast<uint32_t>(
      std::clamp<uint64_t>(std::bit_floor(cache_bytes / share), kMinSegmentSize, kMostDefault));
}

}  // namespace

StoreBuffers StoreBuffers::For(uint64_t cache_bytes, const StoreGeometry& geometry, uint32_t logs,
                               uint32_t further_logs) {
  StoreBuffers buffers;
  const uint64_t segments = cache_bytes / kSegmentShare / geometry.segment_size;
  const bool has_room = kFullSegmentBuffers * uint64_t{geometry.segment_size} <= cache_bytes;
  const uint32_t least = IsOrdinary(cache_bytes) && has_room ? kFullSegmentBuffers : logs;
  uint64_t most = kFullSegmentBuffers + further_logs;
  if (!IsOrdinary(cache_bytes)) {
    const uint64_t of_streams = cache_bytes / kStreamShare / geometry.segment_size;
    most = std::clamp<uint64_t>(of_streams, kFullSegmentBuffers, most);
  }
  buffers.segment_buffers =
      static_cast<uint32_t>(cache_bytes == 0 ? most : std::clamp<uint64_t>(segments, least, most));
  buffers.victims =
      std::max(1u, Part(kFullVictims, cache_bytes, kOrdinaryCache, 0) / geometry.segment_size);
  if (IsOrdinary(cache_bytes)) return buffers;
  buffers.cache_bytes = cache_bytes;
  const uint64_t ordinary = kOrdinaryPages * geometry.page_size;
  buffers.doublewrite_pages =
      Part(kFullDoublewrite, cache_bytes, kPagesForFullBatches * geometry.page_size, kLeastPages);
  buffers.cleaner_requests = Part(kFullCleanerRequests, cache_bytes, ordinary, kLeastPages);
  buffers.writer_bytes = cache_bytes / kWriterShare;
  const auto journal = [&](uint32_t full) {
    return Part(full, cache_bytes, kOrdinaryJournal, full / 16);
  };
  buffers.journal_entries = journal(buffers.journal_entries);
  buffers.journal_slots = journal(buffers.journal_slots);
  if (cache_bytes < kOrdinaryJournal) {
    buffers.journal_buffer_bytes = std::bit_floor(journal(kOrdinaryJournalBuffer));
  }
  return buffers;
}

uint32_t StoreBuffers::WriterDepth(uint32_t wanted, uint64_t taken_bytes,
                                   uint32_t page_size) const {
  if (writer_bytes == kUnbounded) return wanted;
  const uint32_t part = Part(wanted, cache_bytes, kOrdinaryPages * page_size, kLeastWriterDepth);
  const uint64_t left = writer_bytes - std::min(writer_bytes, taken_bytes);
  return static_cast<uint32_t>(
      std::clamp<uint64_t>(left / page_size, std::min(kLeastWriterDepth, part), part));
}

uint64_t StoreBuffers::MostBytes(const StoreGeometry& geometry, bool writes_twice,
                                 uint64_t writer_pages) const {
  const uint64_t page_size = geometry.page_size;
  const uint64_t writers = std::min(writer_bytes, writer_pages * page_size);
  const uint64_t batch = std::min(doublewrite_pages, DoublewriteCapacity(geometry.page_size));
  const uint64_t batches = writes_twice ? kDoublewriteBatches * batch : 0;
  constexpr uint64_t kCheckpoint = 1;
  // With page compression a segment buffer has a frame per slot, and each of the cleaner's requests
  // a block.
  const uint64_t frames =
      geometry.compresses() ? geometry.slots_per_segment * sizeof(CopyFrame) : 0;
  const uint64_t blocks = geometry.compresses() ? cleaner_requests * page_size : 0;
  return writers + batches * page_size + blocks +
         (segment_buffers + kCheckpoint + victims) * (geometry.segment_size + frames);
}

uint32_t StoreBuffers::LargestDefaultSegment(uint64_t cache_bytes) {
  return LargestSegment(cache_bytes, kOneSegmentShare);
}

uint32_t StoreBuffers::LargestErasedSegment(uint64_t cache_bytes) {
  return LargestSegment(cache_bytes, kErasedShare);
}

}  // namespace latchkey
