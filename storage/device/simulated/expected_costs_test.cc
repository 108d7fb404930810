#include "storage/device/simulated/expected_costs.h"

#include <catch2/catch.hpp>
#include <memory>

#include "storage/base/rng.h"

namespace latchkey::expected_costs_test {
namespace {

using Op = IoRequest::Op;

// Mean service time of requests at random places, one at a time with a pause.
double Measure(const DeviceSpec& spec, Op op, uint64_t length, uint64_t span_bytes) {
  const auto medium = NewMedium(spec);
  medium->Resize(span_bytes);
  constexpr int kRequests = 8000;
  Rng rng(42);
  Nanos now = 0;
  for (int i = 0; i < kRequests; ++i) {
    MediumRequest request(
        {.op = op, .offset = rng.Below(span_bytes / length) * length, .length = length});
    medium->Start(now, request);
    while (request.done_at == kForever) medium->AdvanceTo(medium->NextNews(request));
    now = request.done_at + rng.Below(10 * kNanosPerMilli);
  }
  return static_cast<double>(medium->totals().service[0]) / kRequests;
}

TEST_CASE("The expected costs are those that random requests have on the device") {
  const char* const text = GENERATE(
      "fixed:service_ms=5.6:mb_s=61", "fixed:service_ms=5.6:mb_s=61:disks=8:stripe_kb=128",
      "fixed:service_ms=5.6:mb_s=61:disks=9:stripe_kb=128:raid=raid5", "atlas10k",
      "atlas10k:disks=4", "rz26:disks=2:queue=fcfs", "year2008", "flash:read_us=80:parallel=8");
  CAPTURE(text);
  const DeviceSpec spec = *ParseDeviceSpec(text);
  const CostQuestion question{
      .page_bytes = 8192, .segment_bytes = 1 << 20, .span_bytes = 800 << 20};
  const ExpectedCosts costs = ExpectedCostsOf(spec, question);
  const auto measured = [&](Op op, uint64_t length) {
    return Measure(spec, op, length, question.span_bytes);
  };
  CHECK(measured(Op::kRead, 8192) == Approx(costs.page_read_ns).epsilon(0.02));
  CHECK(measured(Op::kRead, 1 << 20) == Approx(costs.segment_read_ns).epsilon(0.02));
  if (spec.kind == DeviceSpec::Kind::kFlash) return;  // writes: plus garbage collection
  CHECK(measured(Op::kWrite, 8192) == Approx(costs.page_write_ns).epsilon(0.02));
  CHECK(measured(Op::kWrite, 1 << 20) == Approx(costs.segment_write_ns).epsilon(0.02));
}

TEST_CASE("The segment I/O efficiency of the thesis follows from the costs") {
  struct Expected {
    const char* device;
    uint64_t segment_bytes;
    double eta;  // layout reference, with 1 MB/s = 1000 KB/s and KB = 1024 bytes
  };
  for (const Expected& e : {Expected{"fixed:service_ms=5.6:mb_s=62.464", 1 << 20, 32.769},
                            Expected{"fixed:service_ms=8.6:mb_s=20.8896", 512 << 10, 17.078},
                            Expected{"fixed:service_ms=15:mb_s=2.3552", 128 << 10, 4.185}}) {
    const ExpectedCosts costs = ExpectedCostsOf(
        *ParseDeviceSpec(e.device), {.page_bytes = 8192, .segment_bytes = e.segment_bytes});
    const double pages = static_cast<double>(e.segment_bytes) / 8192;
    CHECK(pages * costs.page_write_ns / costs.segment_write_ns == Approx(e.eta).epsilon(1e-4));
  }
}

TEST_CASE("RAID-5 makes page writes dearer against segments by the small-write formula") {
  // eta of RAID-0 times 4 (n - 1) / n, at one stripe unit per disk.
  for (const uint32_t disks : {3, 5, 9}) {
    DeviceSpec spec = *ParseDeviceSpec("fixed:service_ms=5.6:mb_s=61:stripe_kb=1024");
    const auto eta = [&](uint32_t data_disks) {
      const uint64_t segment = uint64_t{data_disks} << 20;
      const ExpectedCosts costs =
          ExpectedCostsOf(spec, {.page_bytes = 8192, .segment_bytes = segment});
      return static_cast<double>(segment) / 8192 * costs.page_write_ns / costs.segment_write_ns;
    };
    spec.disks = disks;
    const double raid0 = eta(disks);
    spec.raid = RaidLevel::kRaid5;
    CHECK(eta(disks - 1) == Approx(raid0 * 4 * (disks - 1) / disks).epsilon(1e-6));
  }
}

TEST_CASE("An idle RAID-5 of mechanical disks writes without a second seek") {
  const DeviceSpec spec = *ParseDeviceSpec("atlas10k:disks=5:raid=raid5");
  const uint64_t span = uint64_t{8} << 30;
  const double four = ExpectedCostsOf(spec, {.span_bytes = span}).page_write_ns;
  const double idle = Measure(spec, Op::kWrite, 4096, span);
  CHECK(idle < 0.95 * four);
  CHECK(idle > 0.6 * four);
}

}  // namespace
}  // namespace latchkey::expected_costs_test
