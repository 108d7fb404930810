#include "layout/space/space_manager.h"

#include <catch2/catch.hpp>

#include "layout/testing/directory_on_memory.h"

namespace latchkey::space_manager_test {
namespace {

constexpr StoreGeometry kGeometry = DirectoryOnMemory::kGeometry;

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
