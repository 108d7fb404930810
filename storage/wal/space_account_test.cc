#include "storage/wal/space_account.h"

#include <catch2/catch.hpp>

namespace latchkey::space_account_test {
namespace {

constexpr LogGeometry kGeometry{.segment_bytes = 1u << 20, .block_bytes = 4096};
constexpr uint64_t kSlots = 16;

uint64_t Kept() { return kSlots * kGeometry.payload() / 16; }
uint64_t Usable() { return kSlots * kGeometry.payload() - Kept(); }

TEST_CASE("Normal claims leave the kept-back part, urgent ones half of it, marks nothing") {
  SpaceAccount space(kGeometry, GroupSpace::kShared);
  space.Begin(kSlots, 0);
  CHECK(!space.TryTake(Usable() + 1, SpaceClaim::kNormal));
  CHECK(space.TryTake(Usable(), SpaceClaim::kNormal));
  CHECK(!space.TryTake(1, SpaceClaim::kNormal));
  CHECK(space.TryTake(Kept() / 2, SpaceClaim::kUrgent));
  CHECK(!space.TryTake(1, SpaceClaim::kUrgent));
  CHECK(space.TryTake(Kept() - Kept() / 2, SpaceClaim::kMark));
  CHECK(!space.TryTake(1, SpaceClaim::kMark));
  CHECK(space.reserved() == Usable() + Kept());
}

TEST_CASE("A small log keeps back what its owner asked for, a tiny one half of its bytes") {
  constexpr uint64_t kAsked = 2u << 20;
  const uint64_t all = 3 * kGeometry.payload();
  SpaceAccount space(kGeometry, GroupSpace::kShared, kAsked);
  space.Begin(3, 0);
  CHECK(!space.TryTake(all / 2 + 1, SpaceClaim::kNormal));
  CHECK(space.TryTake(all / 2, SpaceClaim::kNormal));
  CHECK(space.TryTake(all / 4, SpaceClaim::kUrgent));
  space.Release(all / 2 + all / 4);
  space.AddSlots(3);
  CHECK(!space.TryTake(2 * all - kAsked + 1, SpaceClaim::kNormal));
  CHECK(space.TryTake(2 * all - kAsked, SpaceClaim::kNormal));
  CHECK(space.TryTake(kAsked / 2, SpaceClaim::kUrgent));
  CHECK(!space.TryTake(1, SpaceClaim::kUrgent));
}

TEST_CASE("Space is scarce when unpaid groups have used a quarter of the kept-back part") {
  SpaceAccount space(kGeometry, GroupSpace::kShared);
  space.Begin(kSlots, Usable());
  CHECK(!space.scarce());
  const auto quarter = static_cast<int64_t>(Kept() / 4);
  CHECK(space.CanPayWithoutGrowth(quarter));
  CHECK(!space.CanPayWithoutGrowth(quarter + 1));
  CHECK(space.CanPayAtLeast(3 * quarter));
  CHECK(!space.CanPayAtLeast(3 * quarter + 4096));
  space.SettleGroup(0, 0, Kept() / 4 + 4096);
  CHECK(space.scarce());
  space.AddSlots(1);
  CHECK(!space.scarce());
}

TEST_CASE("A group takes what its records have not paid, and no more") {
  SpaceAccount space(kGeometry, GroupSpace::kOfRecords);
  space.Begin(kSlots, 0);
  const uint64_t bytes = space.price().RecordSpace(100);
  REQUIRE(space.TryTake(bytes, SpaceClaim::kNormal));
  space.SettleGroup(bytes, bytes, 4096);
  CHECK(space.reserved() == 0);
  CHECK(space.Lacking(Usable(), SpaceClaim::kNormal) == 4096);
  space.AddUnneeded(4096);
  CHECK(space.Lacking(Usable(), SpaceClaim::kNormal) == 0);
}

TEST_CASE("A record pays for a group of its own, or a share if most groups hold many records") {
  const GroupPrice alone(GroupSpace::kOfRecords, kGeometry);
  CHECK(alone.RecordSpace(100) == kRecordHeaderBytes + 100 + alone.overhead());
  CHECK(alone.PaidGroupSpace() == 0);
  const GroupPrice shared(GroupSpace::kShared, kGeometry);
  CHECK(shared.RecordSpace(100) < kRecordHeaderBytes + 100 + shared.overhead() / 16);
  CHECK(shared.PaidGroupSpace() == shared.overhead());
  CHECK(shared.WholeGroup(shared.PaidGroupSpace()) == shared.overhead());
  CHECK(shared.WholeGroup(0) == 0);
}

}  // namespace
}  // namespace latchkey::space_account_test
