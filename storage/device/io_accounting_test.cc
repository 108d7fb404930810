#include "storage/device/io_accounting.h"

#include <catch2/catch.hpp>

#include "storage/base/rng.h"
#include "storage/runtime/testing/manual_clock.h"

namespace latchkey::io_accounting_test {
namespace {

TEST_CASE("A single request is charged all of its time") {
  ManualClock clock;
  IoAccounting accounting(clock);
  accounting.Start(IoBatch::One(IoClass::kPageRead, 4096));
  clock.Advance(70);
  accounting.Finish(IoBatch::One(IoClass::kPageRead, 4096, 4096));
  clock.Advance(1000);  // idle: not charged
  const DeviceStats stats = accounting.Snapshot();
  CHECK(stats.busy == 70);
  CHECK(stats.of(IoClass::kPageRead).busy == 70);
  CHECK(stats.of(IoClass::kPageRead).requests == 1);
  CHECK(stats.of(IoClass::kPageRead).bytes == 4096);
  CHECK(stats.mean_depth == Approx(1));
  CHECK(stats.in_flight == 0);
}

TEST_CASE("Requests of one length share every interval evenly") {
  ManualClock clock;
  IoAccounting accounting(clock);
  accounting.Start(IoBatch::One(IoClass::kPageRead, 4096));
  clock.Advance(100);  // page read alone
  accounting.Start(IoBatch::One(IoClass::kSegmentWrite, 4096));
  clock.Advance(100);  // half each
  IoBatch two;
  two.Add(IoClass::kPageRead, 4096);
  two.Add(IoClass::kPageRead, 4096);
  accounting.Start(two);
  clock.Advance(100);  // three page reads, one segment write
  IoBatch three = two;
  three.Add(IoClass::kPageRead, 4096);
  accounting.Finish(three);
  clock.Advance(100);  // segment write alone
  accounting.Finish(IoBatch::One(IoClass::kSegmentWrite, 4096, 4096));

  const DeviceStats stats = accounting.Snapshot();
  CHECK(stats.busy == 400);
  CHECK(stats.of(IoClass::kPageRead).busy == 100 + 50 + 75);
  CHECK(stats.of(IoClass::kSegmentWrite).busy == 50 + 25 + 100);
  CHECK(stats.mean_depth == Approx((1 + 2 + 4 + 1) / 4.0));
}

TEST_CASE("A segment beside page reads is charged for its bytes, a page for its positioning") {
  ManualClock clock;
  IoAccounting accounting(clock);
  accounting.SetRequestTimes({.read = {.fixed = 4096}, .write = {.fixed = 4096}});
  IoBatch reads;
  for (int i = 0; i < 8; ++i) reads.Add(IoClass::kPageRead, 4096);
  accounting.Start(reads);                                        // weight 8 * 8192
  accounting.Start(IoBatch::One(IoClass::kSegmentWrite, 61440));  // weight 65536
  clock.Advance(100);
  CHECK(accounting.Snapshot().of(IoClass::kPageRead).busy == 50);
  CHECK(accounting.Snapshot().of(IoClass::kSegmentWrite).busy == 50);
  accounting.Finish(reads);
  accounting.Finish(IoBatch::One(IoClass::kSegmentWrite, 61440, 61440));
}

// On an SSD a page written took 7 us and a page read 11. Among 64 requests both were charged alike, so a
// page write seemed to cost half as much again beside reads as alone.
TEST_CASE(
    "A read that takes three times as long as a write is charged three times as much beside it") {
  ManualClock clock;
  IoAccounting accounting(clock);
  accounting.SetRequestTimes(
      {.read = {.fixed = 20, .per_byte = .1}, .write = {.fixed = 10, .per_byte = 0}});
  const IoClass read = GENERATE(IoClass::kPageRead, IoClass::kSegmentRead, IoClass::kProbeRead);
  const IoClass write = GENERATE(IoClass::kPageWrite, IoClass::kProbeWrite, IoClass::kMeta);
  accounting.Start(IoBatch::One(read, 100));
  accounting.Start(IoBatch::One(write, 100));
  clock.Advance(80);
  CHECK(accounting.Snapshot().of(read).busy == 60);
  CHECK(accounting.Snapshot().of(write).busy == 20);
  accounting.Finish(IoBatch::One(read, 100, 100));
  accounting.Finish(IoBatch::One(write, 100, 100));
}

TEST_CASE("A snapshot includes the time of requests still in flight") {
  ManualClock clock;
  IoAccounting accounting(clock);
  accounting.Start(IoBatch::One(IoClass::kMeta, 512));
  clock.Advance(30);
  CHECK(accounting.Snapshot().busy == 30);
  CHECK(accounting.Snapshot().in_flight == 1);
  CHECK(accounting.Snapshot().of(IoClass::kMeta).requests == 0);
  clock.Advance(12);
  accounting.Finish(IoBatch::One(IoClass::kMeta, 512, 512));
  CHECK(accounting.Snapshot().busy == 42);
}

TEST_CASE("Syncs and errors are counted apart from busy time") {
  ManualClock clock;
  IoAccounting accounting(clock);
  accounting.CountSync(500, true);
  accounting.CountSync(700, false);
  accounting.CountRefused();
  const DeviceStats stats = accounting.Snapshot();
  CHECK(stats.syncs == 2);
  CHECK(stats.sync_time == 1200);
  CHECK(stats.errors == 2);
  CHECK(stats.busy == 0);
  CHECK(stats.mean_depth == 0);
}

// A queue that reports the page reads that a test has let complete.
class FakeSource final : public CompletionSource {
 public:
  void TakeCompleted(IoBatch& completed) override {
    ++asked;
    for (; done > 0; --done) completed.Add(IoClass::kPageRead, 4096);
  }
  int done = 0;   // not reported yet
  int asked = 0;  // since the test set it to 0
};

constexpr auto kRead = IoClass::kPageRead;

TEST_CASE(
    "A queue is asked for completions while its requests are in flight, and at no other time") {
  ManualClock clock;
  IoAccounting accounting(clock);
  FakeSource busy, idle;
  accounting.Start(IoBatch::One(kRead, 4096), &idle);
  idle.done = 1;
  CHECK(accounting.Snapshot().in_flight == 0);
  idle.asked = 0;
  accounting.Start(IoBatch::One(kRead, 4096), &busy);
  accounting.Start(IoBatch::One(kRead, 4096), &busy);
  busy.asked = 0;
  clock.Advance(10);
  busy.done = 1;
  CHECK(accounting.Snapshot().in_flight == 1);
  busy.done = 1;
  CHECK(accounting.Snapshot().in_flight == 0);
  CHECK(busy.asked == 2);
  clock.Advance(1000);  // reported: no longer charged
  CHECK(accounting.Snapshot().busy == 10);
  CHECK(busy.asked == 2);
  CHECK(idle.asked == 0);

  accounting.Start(IoBatch::One(kRead, 4096), &busy);
  CHECK(accounting.Snapshot().in_flight == 1);
  CHECK(busy.asked == 3);
  busy.done = 1;
  IoBatch all;
  for (int i = 0; i < 4; ++i) all.Add(kRead, 4096, 4096);
  accounting.FinishTaken(all);
  CHECK(accounting.Snapshot().of(kRead).requests == 4);
}

TEST_CASE("A request that its queue will never report ends when it is finished") {
  ManualClock clock;
  IoAccounting accounting(clock);
  FakeSource first, second;  // destroyed before the accounting, so it must not ask them any more
  accounting.Start(IoBatch::One(kRead, 4096), &first);
  accounting.Start(IoBatch::One(kRead, 4096), &second);
  accounting.Start({}, &first);
  accounting.Finish(IoBatch::One(kRead, 4096), &first);
  first.asked = second.asked = 0;
  CHECK(accounting.Snapshot().in_flight == 1);
  CHECK(first.asked == 0);
  CHECK(second.asked == 1);
  second.done = 1;
  accounting.FinishTaken(IoBatch::One(kRead, 4096, 4096));
  CHECK(accounting.Snapshot().in_flight == 0);
  CHECK(accounting.Snapshot().of(kRead).requests == 2);
}

TEST_CASE("Busy times of the classes add up to the device's") {
  ManualClock clock;
  IoAccounting accounting(clock);
  Rng rng(42);
  std::array<uint32_t, kIoClasses> open{};
  for (int i = 0; i < 10'000; ++i) {
    const size_t c = rng.Below(kIoClasses);
    clock.Advance(rng.Below(1000));
    if (rng.Below(2) == 0 && open[c] > 0) {
      accounting.Finish(IoBatch::One(static_cast<IoClass>(c), 512 * (c + 1), 1));
      --open[c];
    } else {
      accounting.Start(IoBatch::One(static_cast<IoClass>(c), 512 * (c + 1)));
      ++open[c];
    }
  }
  const DeviceStats stats = accounting.Snapshot();
  Nanos sum = 0;
  for (const IoClassStats& of_class : stats.by_class) sum += of_class.busy;
  CHECK(static_cast<double>(sum) == Approx(static_cast<double>(stats.busy)).margin(kIoClasses));
}

}  // namespace
}  // namespace latchkey::io_accounting_test
