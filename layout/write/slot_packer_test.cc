#include "layout/write/slot_packer.h"

#include <catch2/catch.hpp>

#include "storage/base/rng.h"

namespace latchkey::slot_packer_test {
namespace {

constexpr StoreGeometry kGeometry = StoreGeometry::Of(4096, 64 << 10, kSlotsOfCompressed);

TEST_CASE("Pages follow each other, and every slot is taken or given up once") {
  Rng rng(7);
  for (int round = 0; round < 50; ++round) {
    SlotPacker packer(kGeometry);
    uint32_t next = 0;
    for (;;) {
      const auto slots = static_cast<uint32_t>(1 + rng.Below(8));
      const bool at_block = rng.Below(10) == 0;
      const std::optional<SlotPacker::Taken> taken = packer.Take(slots, at_block);
      if (!taken) break;
      REQUIRE(taken->first == next + taken->given_up);
      if (at_block) REQUIRE(taken->first % kSlotsOfCompressed == 0);
      if (!at_block) REQUIRE(taken->given_up == 0);
      next = taken->first + slots;
      if (rng.Below(20) == 0) next += packer.EndBlock();
      REQUIRE(next <= kGeometry.slots_per_segment);
    }
    CHECK(next + 2 * kSlotsOfCompressed > kGeometry.slots_per_segment);
  }
}

TEST_CASE("A block that is written is not filled further") {
  SlotPacker packer(kGeometry);
  CHECK(packer.Take(5, false)->first == 0);
  CHECK(packer.EndBlock() == 3);
  CHECK(packer.EndBlock() == 0);
  CHECK(packer.Take(5, false)->first == 8);
  CHECK(packer.Take(5, false)->first == 13);  // across the end of the block
  CHECK(packer.Take(8, true)->first == 24);
}

TEST_CASE("Without page compression slots come one after the other") {
  const StoreGeometry geometry = StoreGeometry::Of(4096, 64 << 10);
  SlotPacker packer(geometry);
  for (uint32_t i = 0; i < geometry.slots_per_segment; ++i) {
    CHECK(packer.Take(1, i % 2 == 0)->first == i);
    CHECK(packer.EndBlock() == 0);
  }
  CHECK_FALSE(packer.Take(1, false));
  packer.Reset();
  CHECK(packer.Take(1, false)->first == 0);
}

}  // namespace
}  // namespace latchkey::slot_packer_test
