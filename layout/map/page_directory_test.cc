#include "layout/map/page_directory.h"

#include <catch2/catch.hpp>

#include "layout/testing/directory_on_memory.h"

namespace latchkey::page_directory_test {
namespace {

constexpr StoreGeometry kGeometry = DirectoryOnMemory::kGeometry;

TEST_CASE("Without a journal a slot is released when the newer copy is in its slot") {
  DirectoryOnMemory directory(/*with_journal=*/false);
  const PageId page = *directory->map().Allocate();
  const SegmentId segment = directory.OpenSegment();
  const SlotId first = kGeometry.SlotAt(segment, 0), second = kGeometry.SlotAt(segment, 1);
  directory.WriteOut(directory.Accept(page, first, 1));

  const FrameIndex newer = directory.Accept(page, second, 2);
  CHECK(directory.IsOwned(first));
  CHECK(directory->DurableWord(page).slot() == first);
  directory.WriteOut(newer);
  CHECK_FALSE(directory.IsOwned(first));
  CHECK(directory.IsOwned(second));
  CHECK(directory->DurableWord(page).slot() == second);
}

TEST_CASE("With a journal a superseded slot keeps its owner until a round is done") {
  DirectoryOnMemory directory(/*with_journal=*/true);
  const PageId page = *directory->map().Allocate();
  const SegmentId segment = directory.OpenSegment();
  const SlotId first = kGeometry.SlotAt(segment, 0), second = kGeometry.SlotAt(segment, 1);
  directory.WriteOut(directory.Accept(page, first, 1));
  directory.WriteOut(directory.Accept(page, second, 2));

  CHECK(directory.IsOwned(first));
  CHECK(directory->journal()->pending_slots() == 1);
  REQUIRE(directory->RunRound().ok());
  CHECK_FALSE(directory.IsOwned(first));
  CHECK(directory.IsOwned(second));
  CHECK(directory->durable_ticket() == 2);
}

TEST_CASE("An overtaken write gives up its own slot and no other") {
  DirectoryOnMemory directory(/*with_journal=*/true);
  const PageId page = *directory->map().Allocate();
  const SegmentId segment = directory.OpenSegment();
  const SlotId durable = kGeometry.SlotAt(segment, 0), late = kGeometry.SlotAt(segment, 1),
               newest = kGeometry.SlotAt(segment, 2);
  directory.WriteOut(directory.Accept(page, durable, 1));
  const FrameIndex overtaken = directory.Accept(page, late, 2);
  const FrameIndex newer = directory.Accept(page, newest, 3);
  const uint64_t before = directory->overtaken();

  directory.WriteOut(overtaken);
  CHECK(directory->overtaken() == before + 1);
  CHECK_FALSE(directory.IsOwned(late));
  CHECK(directory.IsOwned(durable));
  directory.WriteOut(newer);
  REQUIRE(directory->RunRound().ok());
  CHECK_FALSE(directory.IsOwned(durable));
  CHECK(directory->DurableWord(page).slot() == newest);
}

TEST_CASE("A round makes no ticket durable before the page of an earlier one is in its slot") {
  DirectoryOnMemory directory(/*with_journal=*/true);
  const PageId early = *directory->map().Allocate(), late = *directory->map().Allocate();
  const SegmentId segment = directory.OpenSegment();
  const FrameIndex waits = directory.Accept(early, kGeometry.SlotAt(segment, 0), 1);
  directory.WriteOut(directory.Accept(late, kGeometry.SlotAt(segment, 1), 1));

  REQUIRE(directory->RunRound().ok());
  CHECK(directory->durable_ticket() == 0);
  directory.WriteOut(waits);
  REQUIRE(directory->RunRound().ok());
  CHECK(directory->durable_ticket() == 2);
}

TEST_CASE(
    "A freed page gives up the slot of its durable copy, also while a newer one is in memory") {
  const bool newer_in_memory = GENERATE(false, true);
  CAPTURE(newer_in_memory);
  DirectoryOnMemory directory(/*with_journal=*/true);
  const PageId page = *directory->map().Allocate();
  const SegmentId segment = directory.OpenSegment();
  const SlotId slot = kGeometry.SlotAt(segment, 0), target = kGeometry.SlotAt(segment, 1);
  directory.WriteOut(directory.Accept(page, slot, 1));
  FrameIndex newer{};
  if (newer_in_memory) newer = directory.Accept(page, target, 2);

  LocationWord word = directory->map().Load(page);
  REQUIRE(directory->DropCopies(page, word));
  directory->map().Free(page);
  CHECK(directory.IsOwned(slot));
  if (newer_in_memory) directory.WriteOut(newer);
  CHECK_FALSE(directory.IsOwned(target));
  REQUIRE(directory->RunRound().ok());
  CHECK_FALSE(directory.IsOwned(slot));
  CHECK(directory->DurableWord(page).free());
}

// Each pass of the cleaner ends with a round. With two free segments or fewer no checkpoint found one. Each
// round asked for one again, so the cleaner never slept.
TEST_CASE("A journal beyond its bound asks once for each checkpoint, not at each round") {
  struct : SpaceListener {
    void OnSegmentFreed() override {}
    void OnRoundDue() override { ++asked; }
    int asked = 0;
  } listener;
  DirectoryOnMemory directory(/*with_journal=*/true, /*segments=*/4, /*checkpoint_bytes=*/1);
  directory->SetListener(&listener);
  const PageId page = *directory->map().Allocate();
  const SegmentId segment = directory.OpenSegment();
  const auto run_rounds = [&](uint32_t first, uint32_t end) {
    for (uint32_t round = first; round < end; ++round) {
      directory.WriteOut(directory.Accept(page, kGeometry.SlotAt(segment, round), 1 + round));
      REQUIRE(directory->RunRound().ok());
    }
  };
  run_rounds(0, 5);
  CHECK(directory->journal()->WantsCheckpoint(1));
  CHECK(listener.asked == 1);
  REQUIRE(directory->RunRoundWith([] { return absl::OkStatus(); }).ok());  // a checkpoint
  run_rounds(5, 10);
  CHECK(listener.asked == 2);
}

TEST_CASE("A round whose capture fails releases no slot and makes the store read-only") {
  DirectoryOnMemory directory(/*with_journal=*/true);
  const PageId page = *directory->map().Allocate();
  const SegmentId segment = directory.OpenSegment();
  directory.WriteOut(directory.Accept(page, kGeometry.SlotAt(segment, 0), 1));
  directory.WriteOut(directory.Accept(page, kGeometry.SlotAt(segment, 1), 2));

  const absl::Status failed =
      directory->RunRoundWith([] { return absl::UnavailableError("the capture failed"); });
  CHECK(absl::IsUnavailable(failed));
  CHECK(directory.core().poisoned());
  CHECK(directory.IsOwned(kGeometry.SlotAt(segment, 0)));
  CHECK(directory->durable_ticket() == 0);
  CHECK(absl::IsUnavailable(directory->RunRound()));
}

}  // namespace
}  // namespace latchkey::page_directory_test
