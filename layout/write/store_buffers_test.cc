#include "layout/write/store_buffers.h"

#include <catch2/catch.hpp>

namespace latchkey::store_buffers_test {
namespace {

TEST_CASE("The buffers of a small cache are parts of it, and never too few to go on") {
  constexpr uint32_t kLogs = 4;
  for (const uint32_t page_size : {4096u, 16384u, 65536u}) {
    const StoreGeometry geometry = StoreGeometry::Of(page_size, kMinSlots * page_size * 2);
    uint64_t before = 0;
    for (uint64_t cache = 1 << 20; cache < StoreBuffers::kOrdinaryCache; cache += 512 << 10) {
      const StoreBuffers buffers = StoreBuffers::For(cache, geometry, kLogs);
      CHECK(buffers.segment_buffers >= kLogs);
      CHECK(buffers.doublewrite_pages >= 4);
      CHECK(buffers.cleaner_requests >= 4);
      CHECK(buffers.victims >= 1);
      CHECK(buffers.journal_entries >= 512);
      CHECK(buffers.journal_slots >= 256);
      CHECK(buffers.WriterDepth(256, /*taken_bytes=*/cache, page_size) == 2);
      CHECK(buffers.WriterDepth(1, 0, page_size) == 1);
      const uint64_t bytes = buffers.MostBytes(geometry, /*writes_twice=*/true, 448);
      CHECK(bytes >= before);
      before = bytes;
    }
  }
}

// With a third batch as large as each of two, the least cache had no room for the fewest frames.
TEST_CASE("All doublewrite batches together take a sixteenth of a small cache") {
  const StoreGeometry geometry = StoreGeometry::Of(4096, 64 << 10);
  constexpr uint64_t kFull = StoreBuffers::kPagesForFullBatches * 4096;
  for (uint64_t cache = 1 << 20; cache <= kFull; cache += 512 << 10) {
    const StoreBuffers buffers = StoreBuffers::For(cache, geometry, 4);
    const uint64_t bytes = buffers.MostBytes(geometry, /*writes_twice=*/true, 0) -
                           buffers.MostBytes(geometry, /*writes_twice=*/false, 0);
    CHECK(bytes <= cache / 16);
    CHECK(bytes + StoreBuffers::kDoublewriteBatches * 4096 > cache / 17);
    CHECK((buffers.doublewrite_pages == StoreBuffers::kFullDoublewrite) == (cache == kFull));
  }
}

TEST_CASE(
    "The cleaner empties as many victims at once as two mebibytes hold, or its part of the cache") {
  const auto victims = [](uint64_t cache_bytes, uint32_t segment_size) {
    return StoreBuffers::For(cache_bytes, StoreGeometry::Of(4096, segment_size), 4).victims;
  };
  constexpr uint64_t kCache = StoreBuffers::kOrdinaryCache;
  CHECK(victims(kCache, 64 << 10) == 32);
  CHECK(victims(kCache, 128 << 10) == 16);
  CHECK(victims(0, 128 << 10) == 16);
  CHECK(victims(kCache, 4 << 20) == 1);
  CHECK(victims(kCache / 4, 128 << 10) == 4);
}

TEST_CASE("Long segments get no more buffers than fit into the cache, but one for each log") {
  constexpr uint64_t kCache = StoreBuffers::kOrdinaryCache;
  CHECK(StoreBuffers::For(kCache, StoreGeometry::Of(4096, 4 << 20), 4).segment_buffers ==
        StoreBuffers::kFullSegmentBuffers);
  CHECK(StoreBuffers::For(kCache, StoreGeometry::Of(4096, 64 << 20), 4).segment_buffers == 4);
}

TEST_CASE(
    "Further streams get buffers where segments are short, and no more than a part of the cache") {
  constexpr uint64_t kCache = uint64_t{40} << 20;
  constexpr uint32_t kFull = StoreBuffers::kFullSegmentBuffers;
  const auto buffers = [](uint32_t segment_size) {
    return StoreBuffers::For(kCache, StoreGeometry::Of(4096, segment_size), 4, 7).segment_buffers;
  };
  CHECK(buffers(128 << 10) == kFull + 7);
  CHECK(buffers(256 << 10) == kFull + 1);
  CHECK(buffers(512 << 10) == kCache / 10 / (512 << 10));
  CHECK(buffers(4 << 20) == 4);  // one for each log
}

TEST_CASE("Page writers beyond the share of a small cache get short queues") {
  const StoreGeometry geometry = StoreGeometry::Of(4096, 64 << 10);
  const StoreBuffers buffers = StoreBuffers::For(2 << 20, geometry, 4);
  uint64_t taken = 0;
  for (int writer = 0; writer < 100; ++writer) {
    taken += buffers.WriterDepth(64, taken, 4096) * uint64_t{4096};
  }
  CHECK(taken <= buffers.writer_bytes + 100 * 2 * 4096);
}

}  // namespace
}  // namespace latchkey::store_buffers_test
