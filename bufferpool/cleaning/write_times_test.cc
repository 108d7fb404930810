#include "bufferpool/cleaning/write_times.h"

#include <catch2/catch.hpp>

namespace latchkey::write_times_test {
namespace {

TEST_CASE("Writes are timed from their acceptance, the oldest first") {
  WriteTimes times(8);
  times.NoteAccepted(10);
  times.NoteAccepted(20);
  times.NoteWaiting(1, 50);
  CHECK((times.writes() == 1 && times.sum() == 40 && times.shortest() == 40));
  times.NoteWaiting(0, 55);
  CHECK((times.writes() == 2 && times.sum() == 75 && times.shortest() == 35));
}

TEST_CASE("Pages that gathered are timed from when they begin to wait") {
  WriteTimes times(8);
  times.NoteWaiting(0, 10);
  times.NoteWaiting(4, 100);  // a part of four pages is full
  times.NoteWaiting(0, 130);
  CHECK((times.writes() == 4 && times.sum() == 120));
}

TEST_CASE("If more writes wait than are timed at once, the oldest are not timed") {
  WriteTimes times(4);
  Nanos now = 0;
  for (int i = 0; i < 10; ++i) times.NoteAccepted(now);
  for (int i = 0; i < 100; ++i) {  // ten wait all the time, for ten steps each
    times.NoteWaiting(9, ++now);
    times.NoteAccepted(now);
  }
  CHECK(times.writes() == 0);  // all that are done were too old
  times.NoteWaiting(0, ++now);
  CHECK(times.writes() == 4);
  times.NoteWaiting(6, now);
  times.NoteWaiting(0, ++now);
  CHECK((times.writes() == 8 && times.shortest() == 1));
}

}  // namespace
}  // namespace latchkey::write_times_test
