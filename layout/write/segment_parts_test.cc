// The parts in which an append log is written.
#include <catch2/catch.hpp>
#include <vector>

#include "layout/testing/store_on_memory.h"
#include "layout/write/segment_writer.h"

namespace latchkey::segment_parts_test {
namespace {

constexpr StoreGeometry kGeometry = StoreGeometry::Of(4096, 64 << 10, 1);  // 16 pages
constexpr LogId kLog = LogOf(SegmentKind::kHot, /*of_cleaner=*/false, 0);

uint32_t PartOf(double eta, const StoreGeometry& geometry = kGeometry) {
  return PartSlots({.page_write_ns = eta * 1000, .segment_write_ns = 1000}, geometry);
}

TEST_CASE("A part is so long that it costs at most a fifth more than its share of a segment") {
  CHECK(PartOf(1.0) == 1);
  CHECK(PartOf(1.18) == 1);  // flash
  CHECK(PartOf(1.4) == 2);
  CHECK(PartOf(2.0) == 8);  // five pages, as a power of two
  CHECK(PartOf(6.0) == 16);
  CHECK(PartOf(30.0) == 16);                                             // a disk
  CHECK(PartSlots({}, kGeometry) == 1);                                  // nothing is known
  const StoreGeometry stripes = StoreGeometry::Of(4096, 1152 << 10, 1);  // 288 pages
  CHECK(PartOf(2.0, stripes) == 8);
  CHECK(PartOf(10.0, stripes) == 288);  // 64 would leave a rest
}

TEST_CASE("With page compression a part is whole blocks") {
  const StoreGeometry compressed = StoreGeometry::Of(4096, 64 << 10, kSlotsOfCompressed);
  CHECK(PartOf(1.0, compressed) == kSlotsOfCompressed);
  CHECK(PartOf(30.0, compressed) == compressed.slots_per_segment);
}

TEST_CASE("A part of a segment is written when it is full, or by a flush") {
  const auto device = NewTestDevice();
  StoreCore core(ThreadRuntime(), *device, kGeometry, /*database_id=*/1, {});
  PageDirectory directory(core);
  SpaceManager space(directory, SpaceSizing::Make(kGeometry, 0.8, 0));
  SegmentWriter writer(directory, space, StoreBuffers::kFullSegmentBuffers, /*part_slots=*/4);
  REQUIRE(device->Resize(kGeometry.FileBytes(8)).ok());
  REQUIRE(directory.segments().Grow(8));
  PagesOfWriter pages;
  const auto append = [&](int count) {
    TestPage page;
    for (int i = 0; i < count; ++i) {
      const PageId id = *directory.map().Allocate();
      page.Fill(id, 1);
      REQUIRE(writer.Append(kLog, Claim::kUser, {id, page.data(), {}, 1}, &pages));
    }
  };
  append(3);
  CHECK(pages.gathering == 3);
  writer.WriteOutUserParts();
  CHECK(pages.unwritten == 3);
  append(3);
  CHECK(pages.gathering == 2);
  writer.WriteOutUserParts();
  CHECK(pages.unwritten == 2);
  writer.WriteOutUserLogs();
  CHECK((pages.unwritten == 0 && pages.gathering == 0));
  append(1);
  CHECK(pages.gathering == 1);  // in the rest of the part that the flush has begun
  append(1);
  CHECK(pages.gathering == 0);
  writer.WriteOutUserParts();
  CHECK(pages.unwritten == 0);
  append(8);  // the segment is full
  CHECK(pages.gathering == 0);
  writer.WriteOutUserParts();
  CHECK(pages.unwritten == 0);
}

}  // namespace
}  // namespace latchkey::segment_parts_test
