#include "layout/map/segment_table.h"

#include <catch2/catch.hpp>

#include "layout/space/space_sizing.h"

namespace latchkey {

struct SlotReleaseInTests {
  static void Of(StoreSegmentTable& table, SlotId slot) { table.ReleaseSlot(slot); }
};

}  // namespace latchkey

namespace latchkey::segment_table_test {
namespace {

constexpr StoreGeometry kGeometry = StoreGeometry::Of(4096, 32768);  // 8 slots
constexpr uint32_t kSlots = 8;

// Fills a segment with pages from `first` on and closes it.
SegmentId Fill(StoreSegmentTable& table, SegmentKind kind, uint64_t first, uint64_t birth = 1) {
  const SegmentId segment = *table.TakeFree(0, kind);
  for (uint32_t i = 0; i < kSlots; ++i) {
    table.AssignSlot(kGeometry.SlotAt(segment, i), PageId{first + i}, 1);
  }
  table.Close(segment, birth);
  return segment;
}

TEST_CASE("A segment is free again when its last page is gone") {
  StoreSegmentTable table(ThreadRuntime(), kGeometry);
  struct : SpaceListener {
    void OnSegmentFreed() override { ++freed; }
    void OnRoundDue() override {}
    int freed = 0;
  } listener;
  table.set_listener(&listener);
  REQUIRE(table.Grow(4));
  const SegmentId segment = Fill(table, SegmentKind::kHot, 100);
  CHECK(table.free_count() == 3);
  CHECK(table.LiveOf(segment) == kSlots);
  for (uint32_t i = 0; i < kSlots; ++i) {
    CHECK(listener.freed == 0);
    CHECK(table.OwnerOf(kGeometry.SlotAt(segment, i)) == PageId{100 + i});
    SlotReleaseInTests::Of(table, kGeometry.SlotAt(segment, i));
  }
  CHECK(listener.freed == 1);
  CHECK(table.free_count() == 4);
  CHECK(table.StateOf(segment) == SegmentState::kFree);
  CHECK(table.live_of_kind(SegmentKind::kHot) == 0);
}

TEST_CASE("With page compression a page owns slots of one block, and a hole is a whole block") {
  constexpr StoreGeometry kEighths = StoreGeometry::Of(4096, 32768, kSlotsOfCompressed);
  StoreSegmentTable table(ThreadRuntime(), kEighths);
  REQUIRE(table.Grow(3));
  const SegmentId segment = *table.TakeFree(0, SegmentKind::kHot);
  const auto at = [&](uint32_t index) { return kEighths.SlotAt(segment, index); };
  table.AssignSlot(at(0), PageId{1}, 3);
  table.AssignSlot(at(3), PageId{2}, 5);
  for (uint32_t block = 1; block < 8; ++block)
    table.AssignSlot(at(block * 8), PageId{2 + block}, 7);
  table.Close(segment, 1);
  CHECK(table.LiveOf(segment) == 57);
  CHECK(table.OwnerOf(at(3)) == PageId{2});
  CHECK(table.OwnerOf(at(1)) == kInvalidPageId);
  CHECK_FALSE(table.TakeHole(SegmentKind::kHot, PageId{90}, 1));  // 7 slots are free, no block is

  SlotReleaseInTests::Of(table, at(0));
  CHECK(table.LiveOf(segment) == 54);
  CHECK_FALSE(table.TakeHole(SegmentKind::kHot, PageId{90}, 1));
  SlotReleaseInTests::Of(table, at(3));
  CHECK(table.LiveOf(segment) == 49);
  CHECK(table.TakeHole(SegmentKind::kHot, PageId{90}, 2) == at(0));
  CHECK(table.LiveOf(segment) == 51);
  CHECK_FALSE(table.TakeHole(SegmentKind::kHot, PageId{91}, 1));
  SlotReleaseInTests::Of(table, at(16));
  CHECK(table.TakeHole(SegmentKind::kCold, PageId{91}, 8) == at(16));
  const auto victim = table.BestVictim([](double u, double) { return 1 - u; }, 2);
  REQUIRE(victim);
  CHECK(victim->live == 52);
}

TEST_CASE("A segment that is open or being cleaned is not freed under its user") {
  StoreSegmentTable table(ThreadRuntime(), kGeometry);
  REQUIRE(table.Grow(2));
  const SegmentId open = *table.TakeFree(0, SegmentKind::kHot);
  table.AssignSlot(kGeometry.SlotAt(open, 0), PageId{1}, 1);
  SlotReleaseInTests::Of(table, kGeometry.SlotAt(open, 0));
  CHECK(table.StateOf(open) == SegmentState::kOpen);
  table.Close(open, 1);
  CHECK(table.StateOf(open) == SegmentState::kFree);

  const SegmentId victim = Fill(table, SegmentKind::kHot, 0);
  REQUIRE(table.BeginCleaning(victim));
  CHECK_FALSE(table.BeginCleaning(victim));
  for (uint32_t i = 0; i < kSlots; ++i) SlotReleaseInTests::Of(table, kGeometry.SlotAt(victim, i));
  CHECK(table.StateOf(victim) == SegmentState::kCleaning);
  table.EndCleaning(victim);
  CHECK(table.StateOf(victim) == SegmentState::kFree);
}

TEST_CASE("Holes are taken from the fullest segments of the wanted kind first") {
  StoreSegmentTable table(ThreadRuntime(), kGeometry);
  REQUIRE(table.Grow(8));
  const SegmentId emptier = Fill(table, SegmentKind::kCold, 0);
  const SegmentId fuller = Fill(table, SegmentKind::kCold, 10);
  const SegmentId hot = Fill(table, SegmentKind::kHot, 20);
  CHECK_FALSE(table.TakeHole(SegmentKind::kCold, PageId{99}, 1));
  for (const uint32_t i : {1u, 3u}) SlotReleaseInTests::Of(table, kGeometry.SlotAt(emptier, i));
  SlotReleaseInTests::Of(table, kGeometry.SlotAt(fuller, 5));
  SlotReleaseInTests::Of(table, kGeometry.SlotAt(hot, 0));
  CHECK(table.TakeHole(SegmentKind::kCold, PageId{90}, 1) == kGeometry.SlotAt(fuller, 5));
  CHECK(table.TakeHole(SegmentKind::kCold, PageId{91}, 1) == kGeometry.SlotAt(emptier, 1));
  CHECK(table.TakeHole(SegmentKind::kCold, PageId{92}, 1) == kGeometry.SlotAt(emptier, 3));
  CHECK(table.TakeHole(SegmentKind::kCold, PageId{93}, 1) == kGeometry.SlotAt(hot, 0));
  CHECK_FALSE(table.TakeHole(SegmentKind::kCold, PageId{94}, 1));
  CHECK(table.OwnerOf(kGeometry.SlotAt(emptier, 3)) == PageId{92});
}

TEST_CASE("A hole that is lent to a probe has no page, and no page gets it") {
  StoreSegmentTable table(ThreadRuntime(), kGeometry);
  REQUIRE(table.Grow(3));
  const SegmentId full = Fill(table, SegmentKind::kHot, 100), open = *table.TakeFree(0, {});
  const auto at = [&](uint32_t index) { return kGeometry.SlotAt(full, index); };
  CHECK_FALSE(table.BorrowHole(full, 0));
  CHECK_FALSE(table.BorrowHole(open, 0));
  CHECK_FALSE(table.BorrowHole(SegmentId{2}, 0));  // free
  for (const uint32_t index : {2u, 5u}) SlotReleaseInTests::Of(table, at(index));

  REQUIRE(table.BorrowHole(full, 3) == at(5));
  CHECK(table.OwnerOf(at(5)) == kInvalidPageId);
  CHECK(table.LiveOf(full) == kSlots - 1);
  CHECK(table.TakeHole(SegmentKind::kHot, PageId{7}, 1) == at(2));
  CHECK_FALSE(table.TakeHole(SegmentKind::kHot, PageId{8}, 1));
  CHECK_FALSE(table.BorrowHole(full, 3));
  for (const uint32_t index : {0u, 1u, 2u, 3u, 4u, 6u, 7u})
    SlotReleaseInTests::Of(table, at(index));
  CHECK(table.StateOf(full) == SegmentState::kClosed);  // the probe still writes there
  SlotReleaseInTests::Of(table, at(5));
  CHECK(table.StateOf(full) == SegmentState::kFree);
}

TEST_CASE("A bad slot is no hole, and its segment is not free without it") {
  StoreSegmentTable table(ThreadRuntime(), kGeometry);
  REQUIRE(table.Grow(2));
  const SegmentId segment = Fill(table, SegmentKind::kCold, 0);
  table.MarkBad(kGeometry.SlotAt(segment, 2));
  table.MarkBad(kGeometry.SlotAt(segment, 3));
  CHECK(table.bad_slots() == 2);
  CHECK(table.bad_segments() == 1);
  CHECK(table.HasBadSlots(segment));
  for (const uint32_t i : {0u, 1u, 4u, 5u, 6u, 7u})
    SlotReleaseInTests::Of(table, kGeometry.SlotAt(segment, i));
  CHECK(table.StateOf(segment) == SegmentState::kClosed);
  CHECK(table.free_count() == 1);
  for (const uint32_t i : {0u, 1u, 4u, 5u, 6u, 7u}) {
    CHECK(table.TakeHole(SegmentKind::kCold, PageId{90}, 1) == kGeometry.SlotAt(segment, i));
  }
  CHECK_FALSE(table.TakeHole(SegmentKind::kCold, PageId{90}, 1));
}

TEST_CASE("Free segments are handed out from the front and kept back as asked") {
  StoreSegmentTable table(ThreadRuntime(), kGeometry);
  REQUIRE(table.Grow(3));
  CHECK(table.TakeFree(2, SegmentKind::kHot) == SegmentId{0});
  CHECK_FALSE(table.TakeFree(2, SegmentKind::kHot));
  CHECK(table.TakeMeta(1) == SegmentId{1});
  table.ReleaseMeta(SegmentId{1});
  CHECK(table.TakeFree(0, SegmentKind::kCold) == SegmentId{1});
}

TEST_CASE("The tail is retired down to the first segment in use") {
  StoreSegmentTable table(ThreadRuntime(), kGeometry);
  REQUIRE(table.Grow(2));
  Fill(table, SegmentKind::kHot, 0);
  Fill(table, SegmentKind::kHot, 10);
  REQUIRE(table.Grow(6));
  CHECK(table.RetireTail(1, /*keep=*/0) == 2);
  CHECK(table.free_count() == 0);
  table.Truncate(2);
  CHECK(table.total() == 2);
  REQUIRE(table.Grow(4));
  CHECK(table.free_count() == 2);
}

// The cut took the last free segments. The cleaner then had none to move pages into.
TEST_CASE("The tail is retired only while enough segments stay free") {
  StoreSegmentTable table(ThreadRuntime(), kGeometry);
  REQUIRE(table.Grow(8));
  CHECK(table.RetireTail(1, /*keep=*/3) == 3);
  CHECK(table.free_count() == 3);
  table.Truncate(3);
  CHECK(table.RetireTail(1, /*keep=*/3) == 3);
  CHECK(table.total() == 3);
}

TEST_CASE("The file is sized so that live over capacity is the wanted utilisation") {
  const StoreGeometry geometry = StoreGeometry::Of(4096, 1 << 20);
  for (const double wanted : {0.5, 0.8, 0.95, 0.98}) {
    const SpaceSizing sizing = SpaceSizing::Make(geometry, wanted, 16 << 20);
    CHECK(sizing.reserve_segments == 16);
    for (uint64_t live = 100'000; live < 3'000'000; live += 77'777) {
      const uint32_t segments = sizing.TargetSegments(live, 8 * live);
      const auto capacity = static_cast<double>(sizing.CapacitySlots(segments, 8 * live));
      CHECK(static_cast<double>(live) / capacity == Approx(wanted).margin(.003));
      CHECK_FALSE(sizing.TooLarge(segments, live, 8 * live));
      CHECK(sizing.TooLarge(segments + 3 + SpaceSizing::GrowthStep(segments), live, 8 * live));
    }
  }
}

TEST_CASE("The reserve of a small file is small, and the capacity of every size is exact") {
  const SpaceSizing sizing = SpaceSizing::Make(StoreGeometry::Of(4096, 128 << 10), .8, 16 << 20);
  CHECK(sizing.ReserveFor(1) == SpaceSizing::kMinReserveSegments);
  CHECK(sizing.ReserveFor(100) == 25);
  CHECK(sizing.ReserveFor(512) == 128);
  CHECK(sizing.ReserveFor(100'000) == 128);
  const uint32_t meta = 2 * sizing.CheckpointSegments(0, 1);
  uint32_t before = 0;
  for (uint32_t segments = 1; segments < 2000; ++segments) {
    const uint32_t data = sizing.DataSegments(segments, 0);
    CAPTURE(segments, data);
    REQUIRE(data >= before);
    before = data;
    if (data > 0) REQUIRE(data + sizing.ReserveFor(data) + meta <= segments);
    const uint32_t more = data + 1 + sizing.ReserveFor(data + 1) + meta;
    REQUIRE(more > segments);  // one more data segment does not fit
  }
}

// A database of 1 GiB of which 50 MiB were left kept room for two checkpoints of 1 GiB.
TEST_CASE("A file of which most pages were freed has room for a checkpoint of half the size") {
  const SpaceSizing sizing = SpaceSizing::Make(StoreGeometry::Of(4096, 128 << 10), .8, 0);
  constexpr uint64_t kLimit = 400'000, kLive = 14'000;
  const uint32_t before = sizing.TargetSegments(kLive, 8 * kLimit);
  const uint32_t now = sizing.TargetSegments(kLive, 4 * (kLimit + kLive));
  CHECK(before - now == 24);
}

TEST_CASE("To allocate and free a page again and again never makes a file too large") {
  const SpaceSizing sizing = SpaceSizing::Make(StoreGeometry::Of(4096, 128 << 10), .8, 16 << 20);
  constexpr uint64_t kLimit = 400'000;
  for (uint64_t live = 1000; live < 100'000; ++live) {
    const auto map_bytes = [](uint64_t in_use) { return 4 * (kLimit + in_use); };
    const uint32_t grown = sizing.TargetSegments(live + 1, map_bytes(live + 1));
    CAPTURE(live, grown);
    REQUIRE_FALSE(sizing.TooLarge(grown, live, map_bytes(live)));
  }
}

TEST_CASE("The reserve is constant in bytes but never less than progress needs") {
  CHECK(SpaceSizing::Make(StoreGeometry::Of(4096, 4 << 20), .8, 16 << 20).reserve_segments == 12);
  CHECK(SpaceSizing::Make(StoreGeometry::Of(4096, 256 << 10), .8, 16 << 20).reserve_segments == 64);
}

}  // namespace
}  // namespace latchkey::segment_table_test
