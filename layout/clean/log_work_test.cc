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
  // 3 + (50 * 10 + 60 * 3 + 10 * 40) / 100: the pages read are counted without those copied.
  CHECK((after - before).NanosPerPage(costs, .8) == Approx(13.8));
}

TEST_CASE(
    "The work of a log tells nothing before 16 segments are filled and about as many emptied") {
  LogWorkWindow window(100);
  LogWork work{.appended = 5000};
  CHECK_FALSE(window.Advance(work));  // it lived on free segments
  work.appended += 1000;
  work.emptied += 9;
  CHECK_FALSE(window.Advance(work));  // only 10 segments: goes on
  work.appended += 600;
  work.emptied += 3;
  const auto told = window.Advance(work);
  REQUIRE(told);
  CHECK(told->appended == 1600);
  CHECK(told->emptied == 12);
  work.appended += 1600;
  work.emptied += 11;
  CHECK_FALSE(window.Advance(work));  // some of the 16 were free segments
}

}  // namespace
}  // namespace latchkey::log_work_test
