#include "storage/wal/segment_table.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

namespace latchkey::segment_table_test {
namespace {

TEST_CASE("The free slot nearest to the front is given out first, and slots at the end can go") {
  SegmentTable table;
  for (uint32_t slot = 0; slot < 3; ++slot) table.AddFree(slot);
  REQUIRE(table.Assign(10));
  REQUIRE(table.Assign(11));
  REQUIRE(table.Assign(12));
  CHECK(table.Assign(11));  // has one already
  CHECK_FALSE(table.Assign(13));
  CHECK_FALSE(table.Find(13));
  table.FreeBelow(12);
  REQUIRE(table.Assign(13));
  REQUIRE(table.Assign(14));
  CHECK(table.Find(12)->slot == 2);
  CHECK(table.Find(13)->slot == 0);
  CHECK(table.Find(14)->slot == 1);
  CHECK_FALSE(table.Find(11));
  CHECK(table.slots() == 3);
  CHECK(table.EndOfMapped() == 3);
  CHECK(table.SlotsFrom(13) == std::vector<uint32_t>{0, 1});
  table.FreeFrom(14);
  table.FreeBelow(13);
  CHECK(table.EndOfMapped() == 1);
  table.RemoveFrom(2);
  CHECK(table.slots() == 2);
  REQUIRE(table.Assign(14));
  CHECK(table.Find(14)->slot == 1);
  CHECK_FALSE(table.Assign(15));
}

TEST_CASE("A segment is known by one slot, and a run ends where one is missing") {
  SegmentTable table;
  CHECK(table.AddMapped(0, 5));
  CHECK(table.AddMapped(1, 6));
  CHECK(table.AddMapped(2, 8));
  CHECK_FALSE(table.AddMapped(3, 6));
  CHECK(table.EndOfRun(5) == 7);
  CHECK(table.EndOfRun(8) == 9);
  CHECK(table.EndOfRun(7) == 7);
  CHECK(table.NextMapped(0) == 5);
  CHECK(table.NextMapped(7) == 8);
  CHECK_FALSE(table.NextMapped(9));
}

TEST_CASE("A header counts as durable when it was read, or when that was said") {
  SegmentTable table;
  REQUIRE(table.AddMapped(0, 5));
  table.AddFree(1, /*is_damaged=*/true);
  CHECK(table.damaged() == std::vector<uint32_t>{1});
  REQUIRE(table.Assign(6));
  CHECK(table.Find(5)->is_header_durable);
  CHECK_FALSE(table.Find(6)->is_header_durable);
  table.SetHeaderDurable(6);
  CHECK(table.Find(6)->is_header_durable);
}

TEST_CASE("Group starts are kept with distance, and a position finds one at or below it") {
  GroupStarts starts(100);
  CHECK(starts.empty());
  for (uint64_t start = 1000; start <= 2000; start += 40) starts.Add(start);
  for (uint64_t lsn = 1000; lsn <= 2100; ++lsn) {
    const uint64_t found = starts.AtOrBelow(lsn);
    CHECK(found <= lsn);
    CHECK(found + 140 > std::min<uint64_t>(lsn, 2000));
    CHECK((found - 1000) % 40 == 0);
  }
  const uint64_t before = starts.AtOrBelow(1500);
  starts.PruneBelow(1500);
  CHECK(starts.AtOrBelow(1500) == before);
  CHECK(starts.AtOrBelow(1999) > before);
  CHECK(starts.AtOrBelow(7) == before);  // nothing older is known
}

}  // namespace
}  // namespace latchkey::segment_table_test
