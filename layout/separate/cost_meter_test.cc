#include "layout/separate/cost_meter.h"

#include <absl/functional/function_ref.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "storage/base/rng.h"
#include "storage/device/aligned_buffer.h"
#include "storage/device/device_list.h"
#include "storage/device/io_window.h"
#include "storage/device/simulated/expected_costs.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey::cost_meter_test {
namespace {

constexpr uint32_t kPage = 4096, kSegment = 1 << 20;
constexpr uint64_t kBytes = uint64_t{256} << 20;
constexpr StoreGeometry kGeometry = StoreGeometry::Of(kPage, kSegment);

// Runs `body` in virtual time on a device of kBytes.
void OnDevice(uint64_t seed, const DeviceSpec& spec,
              absl::FunctionRef<void(SimulatedRuntime&, BlockDevice&)> body) {
  SimulatedRuntime runtime({.seed = seed});
  const absl::Status ran = runtime.Run([&] {
    const auto device = OpenDeviceOf(runtime, spec, "data");
    REQUIRE(device.ok());
    REQUIRE((*device)->Resize(kBytes).ok());
    body(runtime, **device);
  });
  REQUIRE(ran.ok());
}

// Page reads, page writes and segment writes at random places, `depth` in flight.
void RunMix(BlockDevice& device, uint32_t depth, int requests) {
  Rng rng(depth);
  auto queue = device.NewQueue(depth);
  REQUIRE(queue.ok());
  AlignedBuffer buffer(kSegment);
  IoWindow<int> window(depth);
  int started = 0;
  window.Run(
      **queue,
      [&](IoRequest& request) {
        if (started++ >= requests) return false;
        const uint64_t kind = rng.Below(10);
        request.op = kind < 3 ? IoRequest::Op::kRead : IoRequest::Op::kWrite;
        request.io_class = kind < 3   ? IoClass::kPageRead
                           : kind < 9 ? IoClass::kPageWrite
                                      : IoClass::kSegmentWrite;
        request.length = kind < 9 ? kPage : kSegment;
        request.offset = rng.Below(kBytes / request.length) * request.length;
        request.buffer = buffer.data();
        return true;
      },
      [](const IoRequest& request, int) { REQUIRE(request.status.ok()); });
}

TEST_CASE("What the cost meter measures under a mix is what the device charges for each alone") {
  const std::string device_text =
      GENERATE(as<std::string>(), "fixed:service_ms=5.6:mb_s=61",
               "fixed:service_ms=5.6:mb_s=61:disks=4:stripe_kb=64",
               "fixed:service_ms=5.6:mb_s=61:disks=5:stripe_kb=64:raid=raid5");
  const uint32_t depth = GENERATE(1u, 8u, 64u);
  CAPTURE(device_text, depth);
  const DeviceSpec spec = *ParseDeviceSpec(device_text);
  PageCosts measured;
  OnDevice(3, spec, [&](SimulatedRuntime& runtime, BlockDevice& device) {
    // The first guess is far from the truth, and fades.
    CostMeter meter(runtime, device, kGeometry,
                    {.page_write_ns = 1e6, .segment_write_ns = 1e6, .segment_read_ns = 1e6});
    for (int sample = 0; sample < 40; ++sample) {
      RunMix(device, depth, 500);
      meter.Sample({});
    }
    measured = meter.costs();
  });
  const ExpectedCosts expected =
      ExpectedCostsOf(spec, {.page_bytes = kPage, .segment_bytes = kSegment, .span_bytes = kBytes});
  const double eta =
      expected.page_write_ns / (expected.segment_write_ns / kGeometry.slots_per_segment);
  CHECK(measured.eta() == Approx(eta).epsilon(0.03));
  CHECK(measured.page_read_ns == Approx(expected.page_read_ns).epsilon(0.03));
}

TEST_CASE("A cost without samples stays as last measured") {
  OnDevice(4, *ParseDeviceSpec("fixed:service_ms=5:mb_s=50"),
           [&](SimulatedRuntime& runtime, BlockDevice& device) {
             CostMeter meter(
                 runtime, device, kGeometry,
                 {.page_write_ns = 1e3, .segment_write_ns = 7e5, .segment_read_ns = 1e6});
             AlignedBuffer page(kPage);
             for (uint64_t i = 0; i < 1000; ++i) {
               REQUIRE(device.Write(i * 8 * kPage, page.span(), IoClass::kPageWrite).ok());
               meter.Sample({});
             }
             // The page write costs 1,300 times what was assumed; the others do not follow it.
             CHECK(meter.costs().page_write_ns > 1e6);
             CHECK(meter.costs().segment_write_ns == 7e5);
           });
}

// The cleaner plugs many holes at once, which SCAN serves with short seeks. These writes were taken for
// pages written by themselves: eta was 6.7 on an array whose true one is 19, and a HyLog would have
// written most pages in place.
TEST_CASE("What a plugged page costs does not count as the cost of a page written by itself") {
  OnDevice(6, *ParseDeviceSpec("atlas10k"), [&](SimulatedRuntime& runtime, BlockDevice& device) {
    CostMeter meter(runtime, device, kGeometry,
                    {.page_write_ns = 9e6, .segment_write_ns = 3e5, .segment_read_ns = 1e6});
    CHECK(meter.costs().plug_ns() == 9e6);  // not known
    auto queue = device.NewQueue(64);
    REQUIRE(queue.ok());
    AlignedBuffer page(kPage);
    Rng rng(6);
    IoWindow<int> window(64);
    int started = 0;
    window.Run(
        **queue,
        [&](IoRequest& request) {
          if (started++ >= 1000) return false;
          request.op = IoRequest::Op::kWrite;
          request.io_class = IoClass::kPlugWrite;
          request.length = kPage;
          request.offset = rng.Below(kBytes / kPage) * kPage;
          request.buffer = page.data();
          return true;
        },
        [](const IoRequest& request, int) { REQUIRE(request.status.ok()); });
    meter.Sample({});
    CHECK(meter.costs().page_write_ns == 9e6);
    const double plugged = meter.costs().plug_ns();
    CHECK(plugged < 5e6);
    // Once nothing is plugged any more, probes of pages give plugging another chance.
    const ProbeResult probe{.request_ns = 1e6, .exact = true, .requests = 4};
    for (int i = 0; i < 200; ++i) meter.AddProbe(CostKind::kPageWrite, probe, /*replaces=*/false);
    CHECK(meter.costs().plug_ns() == Approx(meter.costs().page_write_ns).epsilon(.05));
  });
}

// Few requests had ended when the window did, and the device had charged for those in flight, too: a
// segment seemed to cost a fifth more than it does.
TEST_CASE("Segments in flight at the end of a sample are counted with the time they are charged") {
  const DeviceSpec spec = *ParseDeviceSpec("fixed:service_ms=5.6:mb_s=61");
  OnDevice(7, spec, [&](SimulatedRuntime& runtime, BlockDevice& device) {
    CostMeter meter(runtime, device, kGeometry,
                    {.page_write_ns = 1e6, .segment_write_ns = 1e6, .segment_read_ns = 1e6});
    auto queue = device.NewQueue(9);
    REQUIRE(queue.ok());
    AlignedBuffer segment(kSegment);
    IoWindow<int> window(9);
    int started = 0, ended = 0;
    window.Run(
        **queue,
        [&](IoRequest& request) {
          if (started >= 60) return false;
          request.op = IoRequest::Op::kWrite;
          request.io_class = IoClass::kSegmentWrite;
          request.length = kSegment;
          request.offset = started++ * uint64_t{kSegment};
          request.buffer = segment.data();
          return true;
        },
        [&](const IoRequest& request, int) {
          REQUIRE(request.status.ok());
          if (++ended == 40) meter.Sample({});
        });
    const ExpectedCosts expected = ExpectedCostsOf(
        spec, {.page_bytes = kPage, .segment_bytes = kSegment, .span_bytes = kBytes});
    CHECK(meter.costs().segment_write_ns * kGeometry.slots_per_segment ==
          Approx(expected.segment_write_ns).epsilon(.001));
  });
}

// Flash collects garbage within the write that needs the space. Most bytes are written in segments, so
// most of that time was charged to segments, although single pages had made the garbage. Appending
// looked as dear as writing in place.
TEST_CASE(
    "Flash's garbage collection is charged to pages written alone, if segments fill erase units") {
  const bool fills_units = GENERATE(true, false);
  const DeviceSpec spec =
      *ParseDeviceSpec(fills_units ? "flash:erase_kb=1024" : "flash:erase_kb=2048");
  CAPTURE(fills_units);
  OnDevice(5, spec, [&](SimulatedRuntime& runtime, BlockDevice& device) {
    CostMeter meter(runtime, device, kGeometry,
                    {.page_write_ns = 1e5, .segment_write_ns = 1e5, .segment_read_ns = 1e5});
    AlignedBuffer buffer(kSegment);
    Rng rng(5);
    const auto write = [&](uint32_t length, IoClass io_class) {
      const uint64_t offset = rng.Below(kBytes / length) * length;
      REQUIRE(device.Write(offset, buffer.span().first(length), io_class).ok());
    };
    for (int i = 0; i < 150'000; ++i) {
      write(kPage, IoClass::kPageWrite);
      if (i % 200 == 0) write(kSegment, IoClass::kSegmentWrite);
      if (i % 2000 == 0) meter.Sample({});
    }
    REQUIRE(device.stats().medium.write_amplification() > 1.2);
    const ExpectedCosts alone = ExpectedCostsOf(
        spec, {.page_bytes = kPage, .segment_bytes = kSegment, .span_bytes = kBytes});
    const PageCosts costs = meter.costs();
    const double segment_ns = costs.segment_write_ns * kGeometry.slots_per_segment;
    if (fills_units) {
      CHECK(costs.page_write_ns == Approx(alone.page_write_ns).epsilon(.03));
      CHECK(segment_ns == Approx(alone.segment_write_ns).epsilon(.03));
      // As if the single pages alone had caused it, and as if all pages had.
      CHECK(costs.cold_collection_ns > 0);
      CHECK(costs.collection_ns == Approx(costs.cold_collection_ns * 456 / 200).epsilon(.1));
      CHECK(costs.in_place_ns() == costs.page_write_ns + costs.collection_ns + costs.protection_ns);
    } else {
      CHECK(segment_ns > 1.2 * alone.segment_write_ns);
      CHECK(costs.collection_ns == 0);
      CHECK(costs.cold_collection_ns == 0);
    }
  });
}

TEST_CASE("Until a page is written alone, flash alone is expected to move pages for it") {
  const bool is_flash = GENERATE(true, false);
  const DeviceSpec spec = *ParseDeviceSpec(is_flash ? "flash" : "fixed:service_ms=5:mb_s=50");
  OnDevice(6, spec, [&](SimulatedRuntime& runtime, BlockDevice& device) {
    const CostMeter meter(runtime, device, kGeometry,
                          {.page_write_ns = 1e3, .segment_write_ns = 1e3, .segment_read_ns = 1e3});
    CHECK((meter.costs().collection_ns > meter.costs().page_write_ns) == is_flash);
    CHECK((meter.costs().collection_ns == 0) == !is_flash);
  });
}

}  // namespace
}  // namespace latchkey::cost_meter_test
