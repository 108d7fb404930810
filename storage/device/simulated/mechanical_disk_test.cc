#include "storage/device/simulated/mechanical_disk.h"

#include <catch2/catch.hpp>

#include "storage/base/rng.h"

namespace latchkey::mechanical_disk_test {
namespace {

constexpr uint64_t kPage = 8192;

double Milliseconds(Nanos time) { return static_cast<double>(time) / kNanosPerMilli; }

// Mean of random single-page requests, each a while after the last one.
double MeanOfRandomPages(const MechanicalDiskParameters& parameters, uint64_t span_bytes) {
  constexpr int kRequests = 20'000;
  MechanicalDisk disk(parameters, 0.25);
  Rng rng(42);
  Nanos now = 0, sum = 0;
  for (int i = 0; i < kRequests; ++i) {
    const uint64_t offset = rng.Below(span_bytes / kPage) * kPage;
    const Nanos took = disk.Serve(now, {.offset = offset, .length = kPage}).total();
    sum += took;
    now += took + rng.Below(20 * kNanosPerMilli);
  }
  return Milliseconds(sum) / kRequests;
}

TEST_CASE("The positioning times and bandwidths are those of the thesis") {
  const auto positioning = [](const char* name) {
    return FindMechanicalDisk(name)->positioning_ms();
  };
  CHECK(positioning("atlas10k") == Approx(8.6).epsilon(0.002));  // table 6.2
  CHECK(positioning("cheetah-x15-36lp") == Approx(5.6).epsilon(0.002));
  CHECK(positioning("rz26") == Approx(15.36).epsilon(0.002));     // table 6.3: 9.8 + 5.56
  CHECK(positioning("year2004") == Approx(5.6).epsilon(0.002));   // table 6.6: 3.6 + 2
  CHECK(positioning("year2008") == Approx(3.25).epsilon(0.002));  // table 6.6: 2.0 + 1.25
  CHECK(FindMechanicalDisk("rz27") == nullptr);
}

TEST_CASE("A random page takes the mean seek, half a revolution and its transfer") {
  struct Expected {
    const char* disk;
    double ms;  // by hand: seek + 30000 / rpm + 8192 bytes / bandwidth
  };
  for (const Expected& e :
       {Expected{"rz26", 9.8 + 5.556 + 3.562}, Expected{"atlas10k", 5.6 + 2.993 + 0.402},
        Expected{"cheetah-x15-36lp", 3.6 + 2.0 + 0.134}, Expected{"year2004", 3.6 + 2.0 + 0.134},
        Expected{"year2008", 2.0 + 1.25 + 0.041}}) {
    CAPTURE(e.disk);
    const MechanicalDiskParameters& disk = *FindMechanicalDisk(e.disk);
    CHECK(MeanOfRandomPages(disk, disk.capacity_bytes) == Approx(e.ms).epsilon(0.01));
  }
}

TEST_CASE("The seek curve rises with the distance, and its mean is that of the disk") {
  for (const MechanicalDiskParameters& disk : MechanicalDisks()) {
    CAPTURE(disk.name);
    const SeekCurve curve(disk);
    CHECK(curve.Milliseconds(0) == 0);
    for (uint64_t d = 1; d < disk.cylinders; ++d) {
      REQUIRE(curve.Milliseconds(d) > curve.Milliseconds(d - 1));
    }
    CHECK(curve.MeanMilliseconds(disk.cylinders) == Approx(disk.mean_seek_ms).epsilon(0.002));
    CHECK(curve.MeanMilliseconds(1) == 0);
  }
}

TEST_CASE("Data in a small part of the disk needs shorter seeks") {
  const MechanicalDiskParameters& disk = *FindMechanicalDisk("atlas10k");
  const uint64_t tenth = disk.capacity_bytes / 10;
  const double seek = SeekCurve(disk).MeanMilliseconds(disk.cylinders / 10);
  CHECK(seek < 0.6 * disk.mean_seek_ms);
  CHECK(MeanOfRandomPages(disk, tenth) == Approx(seek + 2.993 + 0.402).epsilon(0.01));
}

TEST_CASE("A request that follows at once waits for nothing, a late one for the rest of a turn") {
  const MechanicalDiskParameters& parameters = *FindMechanicalDisk("atlas10k");
  MechanicalDisk disk(parameters, 0);
  const DiskIo first{.offset = 1 << 20, .length = 65536};
  Nanos now = disk.Serve(0, first).total();
  ServiceTime next = disk.Serve(now, {.offset = first.offset + 65536, .length = 65536});
  CHECK(next.seek == 0);
  CHECK(next.rotation == 0);
  CHECK(Milliseconds(next.transfer) == Approx(65.536 / 20.4).epsilon(1e-4));
  now += next.total() + kNanosPerMilli;
  next = disk.Serve(now, {.offset = first.offset + 2 * 65536, .length = 512});
  CHECK(Milliseconds(next.rotation) == Approx(parameters.revolution_ms() - 1).epsilon(1e-3));
}

TEST_CASE("A sequential stream runs at the disk's bandwidth, across cylinders too") {
  for (const MechanicalDiskParameters& parameters : MechanicalDisks()) {
    CAPTURE(parameters.name);
    MechanicalDisk disk(parameters, 0.7);
    constexpr uint64_t kChunk = 1 << 18, kChunks = 200;
    Nanos now = disk.Serve(0, {.offset = 0, .length = kChunk}).total();
    const Nanos start = now;
    for (uint64_t i = 1; i <= kChunks; ++i) {
      now += disk.Serve(now, {.offset = i * kChunk, .length = kChunk}).total();
    }
    const double rate =
        static_cast<double>(kChunk * kChunks) * kNanosPerSecond / static_cast<double>(now - start);
    CHECK(rate == Approx(static_cast<double>(parameters.bytes_per_second)).epsilon(0.001));
  }
}

}  // namespace
}  // namespace latchkey::mechanical_disk_test
