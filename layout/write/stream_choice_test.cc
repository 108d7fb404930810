#include "layout/write/stream_choice.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "layout/testing/directory_on_memory.h"
#include "layout/write/store_buffers.h"

namespace latchkey::stream_choice_test {
namespace {

constexpr PageId kFrequent{0}, kRare{1};

// Death times by which kFrequent is of the first class and kRare of the last.
void Learn(DeathTimes& times) {
  constexpr uint64_t kLive = 64;  // a tick is one write
  times.OnWrite(kRare, kLive);
  for (int i = 0; i < 20000; ++i) times.OnWrite(kFrequent, kLive);
  REQUIRE(times.ClassOf(kFrequent) == 0);
  REQUIRE(times.ClassOf(kRare) == DeathTimes::kClasses - 1);
}

TEST_CASE("Streams of users and of the cleaner are all used in a file with many free slots") {
  DirectoryOnMemory directory(/*with_journal=*/false, /*segments=*/100);
  DeathTimes times(ThreadRuntime());
  Learn(times);
  const StreamChoice choice(*directory, &times, StreamChoice::kFurtherLogs);
  CHECK(choice.OfWrite(kFrequent) == 0);
  CHECK(choice.OfWrite(kRare) == kUserStreams - 1);
  CHECK(choice.OfMove(kFrequent) == 0);
  CHECK(choice.OfMove(kRare) == kMovedStreams - 1);
}

TEST_CASE("Without free slots, buffers or death times there is one stream") {
  DeathTimes times(ThreadRuntime());
  Learn(times);
  DirectoryOnMemory few(/*with_journal=*/false, /*segments=*/7);
  DirectoryOnMemory many(/*with_journal=*/false, /*segments=*/100);
  for (const StreamChoice& choice :
       {StreamChoice(*few, &times, StreamChoice::kFurtherLogs), StreamChoice(*many, &times, 0),
        StreamChoice(*many, nullptr, StreamChoice::kFurtherLogs)}) {
    CHECK(choice.OfWrite(kRare) == 0);
    CHECK(choice.OfMove(kRare) == 0);
  }
}

TEST_CASE(
    "Flash has as many streams as the device separates, another device as many as there are") {
  CHECK(StreamChoice::MostStreamsOn({.write_streams = 1, .erase_unit_bytes = 1 << 20}) == 1);
  CHECK(StreamChoice::MostStreamsOn({.write_streams = 8, .erase_unit_bytes = 1 << 20}) == 8);
  CHECK(StreamChoice::MostStreamsOn({.write_streams = 0, .erase_unit_bytes = 1 << 20}) == 1);
  CHECK(StreamChoice::MostStreamsOn({}) >= std::max(kUserStreams, kMovedStreams));
}

// Open logs that wait for each other's buffers would never write.
TEST_CASE("Every log of every number of streams has a buffer") {
  DirectoryOnMemory directory(/*with_journal=*/false, /*segments=*/100);
  DeathTimes times(ThreadRuntime());
  Learn(times);
  for (uint32_t further = 0; further <= StreamChoice::kFurtherLogs; ++further) {
    const StreamChoice choice(*directory, &times, further);
    CHECK(choice.OfWrite(kRare) + choice.OfMove(kRare) <= further);
  }
}

TEST_CASE("Buffers of streams take no more of a cache than its share for segment buffers") {
  constexpr uint32_t kLogsOfLayout = 4;
  for (const uint32_t segment_size : {64u << 10, 1u << 20, 4u << 20}) {
    const StoreGeometry geometry = StoreGeometry::Of(4096, segment_size);
    for (uint64_t cache = 1 << 20; cache <= uint64_t{1} << 30; cache *= 2) {
      CAPTURE(segment_size, cache);
      const StoreBuffers one = StoreBuffers::For(cache, geometry, kLogsOfLayout);
      const StoreBuffers all =
          StoreBuffers::For(cache, geometry, kLogsOfLayout, StreamChoice::kFurtherLogs);
      CHECK(all.segment_buffers >= one.segment_buffers);
      CHECK(all.segment_buffers <= one.segment_buffers + StreamChoice::kFurtherLogs);
      CHECK(uint64_t{all.segment_buffers} * segment_size <=
            std::max(cache / 6, uint64_t{one.segment_buffers} * segment_size));
      CHECK((all.LogsBeyond(kLogsOfLayout) == 0 ||
             all.LogsBeyond(kLogsOfLayout) + kLogsOfLayout + 2 <= all.segment_buffers));
    }
    const StoreBuffers unbounded =
        StoreBuffers::For(0, geometry, kLogsOfLayout, StreamChoice::kFurtherLogs);
    CHECK(unbounded.LogsBeyond(kLogsOfLayout) >= StreamChoice::kFurtherLogs);
  }
}

}  // namespace
}  // namespace latchkey::stream_choice_test
