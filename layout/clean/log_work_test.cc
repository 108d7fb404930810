#include "layout/clean/log_work.h"

#include <catch2/catch.hpp>

namespace latchkey::log_work_test {
namespace {

TEST_CASE("The cost of a log is its appends and the work of its cleaner, per page appended") {
  const PageCosts costs{.page_write_ns = 50,
                        .segment_write_ns = 2,
                        .segment_read_ns = 10,
                        .plug_write_ns = 40,
                        .part_factor = 1.5,
                        .read_share = 0.5};
  const LogWork before{.appended = 1000, .read = 7, .moved = 7};
  const LogWork after{.appended = 1100, .read = 57, .moved = 67, .plugged = 10};
  // 3 + (50 * 10 + 60 * 2 + 10 * 40) / 100: the pages read are counted without those copied.
  CHECK((after - before).NanosPerPage(costs, .8) == Approx(13.2));
}

TEST_CASE("The cost of a log is known once users have filled 16 segments") {
  LogWorkWindow window;
  LogWork work{.appended = 500, .moved = 90};
  CHECK_FALSE(window.Advance(work, 100, 50));  // the first call begins
  work.appended += 1500;
  CHECK_FALSE(window.Advance(work, 100, 50));
  work.appended += 100;
  work.moved += 300;
  const auto done = window.Advance(work, 100, 51);
  REQUIRE(done);
  CHECK(done->appended == 1600);
  CHECK(done->moved == 300);
}

TEST_CASE("A log that lives on free segments does not tell what it costs") {
  LogWorkWindow window;
  CHECK_FALSE(window.Advance({}, 100, 50));
  CHECK_FALSE(window.Advance({.appended = 2000}, 100, 56));  // 6 of the 20 segments were free
  CHECK(window.Advance({.appended = 4000}, 100, 60));
}

TEST_CASE("What was done before a restart does not count for the cost of a log") {
  LogWorkWindow window;
  CHECK_FALSE(window.Advance({}, 100, 50));
  window.Restart();
  CHECK_FALSE(window.Advance({.appended = 2000, .moved = 1000}, 100, 50));
  const auto done = window.Advance({.appended = 4000, .moved = 1500}, 100, 50);
  REQUIRE(done);
  CHECK(done->moved == 500);
}

}  // namespace
}  // namespace latchkey::log_work_test
