#include "layout/space/space_manager.h"

#include <catch2/catch.hpp>

#include "layout/testing/directory_on_memory.h"

namespace latchkey::space_manager_test {
namespace {

constexpr StoreGeometry kGeometry = DirectoryOnMemory::kGeometry;

// With few slots waiting a round costs two syncs and makes few holes.
TEST_CASE("Writers without a hole ask for a round, if it makes many holes") {
  DirectoryOnMemory directory(/*with_journal=*/true, /*segments=*/60);
  SpaceManager space(*directory, SpaceSizing::Make(kGeometry, 0.8, 0));
  const PageId page = *directory->map().Allocate();
  SegmentId segment{};
  uint32_t used = kGeometry.slots_per_segment;
  const auto rewrite = [&](uint64_t version) {
    if (used == kGeometry.slots_per_segment) {
      segment = directory.OpenSegment();
      used = 0;
    }
    directory.WriteOut(directory.Accept(page, kGeometry.SlotAt(segment, used++), version));
  };
  for (uint64_t version = 1; version <= 100; ++version) rewrite(version);
  const uint32_t seen = space.work_sequence();
  space.AskForHoles();
  CHECK(space.work_sequence() == seen);
  CHECK_FALSE(space.TakeAskedForHoles());
  for (uint64_t version = 101; version <= 300; ++version) rewrite(version);
  space.AskForHoles();
  CHECK(space.work_sequence() != seen);
  CHECK(space.TakeAskedForHoles());
  CHECK_FALSE(space.TakeAskedForHoles());
}

TEST_CASE("The larger the file and its reserve, the more free segments are the cleaner's") {
  const auto [reserve_bytes, segments, watermark] = GENERATE(table<uint64_t, uint32_t, uint32_t>(
      {{0, 60, 2}, {0, 5000, 2}, {16 << 20, 200, 2}, {16 << 20, 1400, 5}, {16 << 20, 5000, 16}}));
  CAPTURE(reserve_bytes, segments);
  DirectoryOnMemory directory(/*with_journal=*/false, segments);
  SpaceManager space(*directory, SpaceSizing::Make(kGeometry, 0.8, reserve_bytes));
  CHECK(space.hard_watermark() == watermark);
  CHECK(space.hard_watermark() < space.soft_watermark());
  for (uint32_t i = 0; i < segments - watermark; ++i) {
    REQUIRE(space.TakeSegment(Claim::kUser, SegmentKind::kHot).has_value());
  }
  for (uint32_t i = SpaceManager::kLeastHardWatermark; i < watermark; ++i) {
    CHECK(space.TakeMetaSegment(MetaClaim::kSpare).ok());
  }
  CHECK(absl::IsResourceExhausted(space.TakeMetaSegment(MetaClaim::kSpare).status()));
  for (uint32_t i = 0; i < SpaceManager::kLeastHardWatermark; ++i) {
    CHECK(space.TakeSegment(Claim::kCleaner, SegmentKind::kHot).has_value());
  }
  CHECK_FALSE(space.TakeSegment(Claim::kCleaner, SegmentKind::kHot).has_value());
}

}  // namespace
}  // namespace latchkey::space_manager_test
