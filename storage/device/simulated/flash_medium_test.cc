#include "storage/device/simulated/flash_medium.h"

#include <catch2/catch.hpp>

#include "storage/base/rng.h"

namespace latchkey::flash_medium_test {
namespace {

using Op = IoRequest::Op;

constexpr FlashParameters kFlash = {.read_us = 80,
                                    .write_us = 20,
                                    .read_mb_per_s = 2000,
                                    .write_mb_per_s = 1000,
                                    .parallel = 16,
                                    .erase_kb = 256,
                                    .spare = 0.1,
                                    .streams = 4};

TEST_CASE("One request on flash takes its latency and its transfer, many share the device") {
  FlashMedium flash(kFlash);
  flash.Resize(64 << 20);
  // 4096 bytes at 2000 MB/s are 2.048 us.
  CHECK(flash.Enqueue(0, {.op = Op::kRead, .length = 4096}) == 82'048);
  Nanos last = 0;
  for (int i = 0; i < 1000; ++i) {
    last = flash.Enqueue(1'000'000, {.op = Op::kRead, .offset = 1 << 20, .length = 4096});
  }
  // Each occupies the device for 80 / 16 + 2.048 us; the last one completes 75 us later.
  CHECK(last - 1'000'000 == 1000 * 7'048 + 75'000);
}

TEST_CASE("A large request on flash runs at its bandwidth") {
  FlashMedium flash(kFlash);
  flash.Resize(64 << 20);
  const Nanos read = flash.Enqueue(0, {.op = Op::kRead, .length = 16 << 20});
  CHECK(static_cast<double>(read) == Approx(80e3 + (16 << 20) / 2.0).epsilon(1e-6));
  const Nanos start = 1'000'000'000;
  const Nanos write = flash.Enqueue(start, {.op = Op::kWrite, .length = 16 << 20}) - start;
  CHECK(static_cast<double>(write) == Approx(20e3 + (16 << 20) / 1.0).epsilon(1e-6));
}

TEST_CASE("Garbage collection slows writes down by its moves, and the device reports them") {
  FlashMedium flash(kFlash);
  constexpr uint64_t kBytes = 64 << 20;
  flash.Resize(kBytes);
  Rng rng(42);
  for (uint64_t i = 0; i < 4 * kBytes / 4096; ++i) {
    flash.Enqueue(0, {.op = Op::kWrite, .offset = rng.Below(kBytes / 4096) * 4096, .length = 4096});
  }
  const MediumTotals totals = flash.totals();
  const MediumStats& stats = totals.stats;
  CHECK(stats.host_pages_written == 4 * kBytes / 4096);
  CHECK(stats.moved_pages > 0);
  CHECK(stats.erases > 0);
  CHECK(stats.write_amplification() > 2);
  const double expected =
      static_cast<double>(stats.host_pages_written) * kFlash.OccupancyNanos(Op::kWrite, 4096) +
      static_cast<double>(stats.moved_pages) * kFlash.MoveNanos();
  CHECK(static_cast<double>(totals.service[0]) == Approx(expected).epsilon(1e-3));
}

TEST_CASE("A write of a part of a flash page writes the whole page, a discard of a part nothing") {
  FlashMedium flash(kFlash);
  flash.Resize(1 << 20);
  flash.Enqueue(0, {.op = Op::kWrite, .offset = 3584, .length = 1024});
  CHECK(flash.totals().stats.host_pages_written == 2);
  flash.Discard(512, 4096);
  CHECK(flash.totals().stats.discarded_pages == 0);
  flash.Discard(512, 8192);
  CHECK(flash.totals().stats.discarded_pages == 1);
}

}  // namespace
}  // namespace latchkey::flash_medium_test
