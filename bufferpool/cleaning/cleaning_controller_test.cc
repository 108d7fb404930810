#include "bufferpool/cleaning/cleaning_controller.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

namespace latchkey::cleaning_controller_test {
namespace {

std::unique_ptr<CleaningController> Make(std::string_view item) {
  return CleaningControllers().Named(item).Make();
}

// Feeds intervals of 1000 page I/Os of which `synchronous` are synchronous writes.
class Feed {
 public:
  explicit Feed(CleaningController& controller) : controller_(controller) {}
  uint32_t Interval(uint64_t synchronous) {
    totals_.synchronous_writes += synchronous;
    totals_.page_reads += (1000 - synchronous) / 2;
    totals_.asynchronous_writes += 1000 - synchronous - (1000 - synchronous) / 2;
    controller_.OnIntervalEnd(totals_);
    return controller_.outstanding_writes();
  }

 private:
  CleaningController& controller_;
  CleaningCounters totals_;
};

TEST_CASE("Every cleaning controller starts with one outstanding write and can be read back") {
  for (const CleaningControllerInfo& info : CleaningControllers()) {
    const std::string name(info.description.name);
    CHECK(Make(name)->outstanding_writes() == 1);
    const std::string full = CleaningControllers().Named(name).ToString();
    CHECK(CleaningControllers().Named(full).ToString() == full);
  }
}

TEST_CASE("The fixed cleaning controller never changes and asks for no intervals") {
  const auto controller = Make("fixed:44");
  CHECK(controller->interval() == 0);
  Feed feed(*controller);
  CHECK(feed.Interval(900) == 44);
  CHECK(feed.Interval(0) == 44);
}

TEST_CASE("The self-tuning controller follows equation 4.1 of the thesis") {
  const auto controller = Make("self-tuning");
  CHECK(controller->interval() == kNanosPerSecond);
  Feed feed(*controller);
  double n = 1;
  for (const uint64_t synchronous :
       {400, 400, 300, 500, 120, 60, 50, 50, 40, 0, 0, 0, 700, 0, 10}) {
    n = std::max(1.0, n + 7.5 * (static_cast<double>(synchronous) / 1000 - 0.05));
    CHECK(feed.Interval(synchronous) == static_cast<uint32_t>(std::floor(n)));
  }
}

TEST_CASE("The self-tuning controller steps down although each step is below one") {
  const auto controller = Make("self-tuning");
  Feed feed(*controller);
  while (feed.Interval(500) < 10) {
  }
  uint32_t intervals = 0;
  while (feed.Interval(0) > 1) ++intervals;
  CHECK(intervals >= 20);  // 9 / (7.5 * 0.05) = 24 steps
  CHECK(intervals <= 30);
}

TEST_CASE("The self-tuning controller stays between one and its cap") {
  const auto controller = Make("self-tuning:gain=1000");
  Feed feed(*controller);
  CHECK(feed.Interval(1000) == kMaxOutstandingWrites);
  CHECK(feed.Interval(1000) == kMaxOutstandingWrites);
  for (int i = 0; i < 10; ++i) feed.Interval(0);
  CHECK(controller->outstanding_writes() == 1);
}

TEST_CASE("An interval without page I/O leaves the self-tuning controller as it is") {
  const auto controller = Make("self-tuning");
  CleaningCounters totals{.page_reads = 100, .synchronous_writes = 900, .asynchronous_writes = 0};
  controller->OnIntervalEnd(totals);
  const uint32_t before = controller->outstanding_writes();
  CHECK(before > 1);
  for (int i = 0; i < 1000; ++i) controller->OnIntervalEnd(totals);
  CHECK(controller->outstanding_writes() == before);
}

// A cache that dirties `needed` frames in the time of one cleaner write. Cleaning at rate N leaves
// the rest to synchronous writes; there are twice as many reads.
uint32_t Settle(CleaningController& controller, double needed, double& observed) {
  double reads = 0, synchronous = 0, asynchronous = 0;
  uint32_t n = controller.outstanding_writes();
  for (int interval = 0; interval < 400; ++interval) {
    const double cleaned = std::min<double>(n, needed) * 1000;
    const double late = needed * 1000 - cleaned;
    observed = late / (3 * needed * 1000);
    reads += 2 * needed * 1000;
    synchronous += late;
    asynchronous += cleaned;
    controller.OnIntervalEnd({.page_reads = static_cast<uint64_t>(reads),
                              .synchronous_writes = static_cast<uint64_t>(synchronous),
                              .asynchronous_writes = static_cast<uint64_t>(asynchronous)});
    n = controller.outstanding_writes();
  }
  return n;
}

TEST_CASE("The self-tuning controller settles where the synchronous proportion meets its target") {
  for (const char* item : {"self-tuning", "self-tuning:target=0.1", "self-tuning:gain=2"}) {
    for (const double needed : {4.0, 20.0, 60.0}) {
      const auto controller = Make(item);
      double observed = 0;
      const double target = std::string_view(item) == "self-tuning:target=0.1" ? 0.1 : 0.05;
      const double ideal = needed * (1 - 3 * target);
      CHECK(std::abs(Settle(*controller, needed, observed) - ideal) <= 1.5);
    }
  }
}

TEST_CASE("The self-tuning controller follows a load that changes") {
  const auto controller = Make("self-tuning");
  double observed = 0;
  CHECK(std::abs(Settle(*controller, 50, observed) - 42.5) <= 1.5);
  CHECK(std::abs(Settle(*controller, 10, observed) - 8.5) <= 1.5);
  CHECK(std::abs(Settle(*controller, 80, observed) - 68.0) <= 1.5);
}

// Feeds intervals of 100 ms to a demand controller.
class DemandFeed {
 public:
  explicit DemandFeed(CleaningController& controller, const CleaningCounters& totals = {})
      : controller_(controller), totals_(totals) {}
  // An interval with `synchronous` and `asynchronous` writes, as many reads, and a mean time of the
  // cleaners' writes. The shortest write of all took 9 ms.
  uint32_t Interval(uint64_t synchronous, uint64_t asynchronous, Nanos mean_write) {
    totals_.now += 100 * kNanosPerMilli;
    totals_.page_reads += synchronous + asynchronous;
    totals_.synchronous_writes += synchronous;
    totals_.asynchronous_writes += asynchronous;
    totals_.written += asynchronous;
    totals_.write_time += asynchronous * mean_write;
    totals_.shortest_write = 9 * kNanosPerMilli;
    controller_.OnIntervalEnd(totals_);
    return controller_.outstanding_writes();
  }

 private:
  CleaningController& controller_;
  CleaningCounters totals_;
};

TEST_CASE("The demand controller takes Little's law at once, within a doubling an interval") {
  const auto controller = Make("demand");
  DemandFeed feed(*controller);
  // 200 writes in 100 ms, each of 20 ms: 40 must be outstanding.
  CHECK(feed.Interval(100, 100, 20 * kNanosPerMilli) == 2);
  CHECK(feed.Interval(100, 100, 20 * kNanosPerMilli) == 4);
  for (int i = 0; i < 4; ++i) feed.Interval(100, 100, 20 * kNanosPerMilli);
  CHECK(controller->outstanding_writes() >= 40);
  CHECK(controller->outstanding_writes() <= 64);
}

TEST_CASE("The demand controller sinks to half as much again as is needed when none is late") {
  const auto controller = Make("demand");
  DemandFeed feed(*controller);
  for (int i = 0; i < 8; ++i) feed.Interval(100, 100, 20 * kNanosPerMilli);
  REQUIRE(controller->outstanding_writes() >= 40);
  for (int i = 0; i < 100; ++i) feed.Interval(0, 50, 20 * kNanosPerMilli);  // 10 s: 10 are needed
  CHECK(controller->outstanding_writes() == 15);
  for (int i = 0; i < 100; ++i) feed.Interval(0, 1, 9 * kNanosPerMilli);
  CHECK(controller->outstanding_writes() == 1);
}

// 20 s before one busy disk where `users` requests wait: with N writes outstanding, a write takes
// `users` + N times 9 ms. Returns the largest N.
uint32_t MostBeforeOneDisk(CleaningController& controller, uint32_t users) {
  DemandFeed feed(controller);
  uint32_t most = 0;
  for (int i = 0; i < 200; ++i) {
    const Nanos write = (users + controller.outstanding_writes()) * 9 * kNanosPerMilli;
    most = std::max(most, feed.Interval(3, 3, write));
  }
  return most;
}

TEST_CASE("The demand controller keeps its writes before one busy disk below the limit") {
  const auto controller = Make("demand:queue=8");
  CHECK(MostBeforeOneDisk(*controller, 4) == 8);
  CHECK(controller->outstanding_writes() == 8);
}

// The limit once bounded the device's whole queue. 60 readers before 11 disks left no room for the
// writes that were needed, and 18 % of the page I/Os were synchronous writes.
TEST_CASE("The demand controller does not count users' reads in the queue") {
  const auto controller = Make("demand:queue=8");
  CHECK(MostBeforeOneDisk(*controller, 40) == 8);
  CHECK(controller->outstanding_writes() == 8);
}

// No write had been done, so the shortest one was infinite, and with it the number of busy disks.
TEST_CASE("The demand controller bounds its writes after intervals of reads alone") {
  const auto controller = Make("demand:queue=8");
  CleaningCounters reads;
  for (int i = 0; i < 10; ++i) {
    reads.now += 100 * kNanosPerMilli;
    reads.page_reads += 100;
    controller->OnIntervalEnd(reads);
  }
  DemandFeed feed(*controller, reads);
  for (int i = 0; i < 20; ++i) feed.Interval(3, 3, 100 * kNanosPerMilli);
  CHECK(controller->outstanding_writes() <= 8);
}

TEST_CASE(
    "With ten busy disks the demand controller's part of the queue may be ten times as long") {
  const auto controller = Make("demand:queue=8");
  DemandFeed feed(*controller);
  for (int i = 0; i < 200; ++i) feed.Interval(30, 30, 400 * kNanosPerMilli);
  CHECK(controller->outstanding_writes() >= 80);
  CHECK(controller->outstanding_writes() <= 88);
}

TEST_CASE("An interval without page I/O leaves the demand controller as it is") {
  const auto controller = Make("demand");
  DemandFeed feed(*controller);
  for (int i = 0; i < 4; ++i) feed.Interval(100, 100, 20 * kNanosPerMilli);
  const uint32_t before = controller->outstanding_writes();
  for (int i = 0; i < 1000; ++i) CHECK(feed.Interval(0, 0, 0) == before);
}

TEST_CASE("Cleaning controllers outside their limits are refused") {
  for (const char* item :
       {"fixed:0", "fixed:257", "fixed:n=1.5", "self-tuning:target=1.5", "self-tuning:interval=0",
        "self-tuning:interval=2h", "self-tuning:speed=3", "demand:queue=1", "demand:target=2",
        "adaptive", ""}) {
    CHECK(absl::IsInvalidArgument(CleaningControllers().Parse(item).status()));
  }
  CHECK_THAT(std::string(CleaningControllers().Parse("adaptive").status().message()),
             Catch::Contains("fixed, self-tuning, demand"));
}

}  // namespace
}  // namespace latchkey::cleaning_controller_test
