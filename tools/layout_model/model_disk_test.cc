#include "tools/layout_model/model_disk.h"

#include <catch2/catch.hpp>

#include "storage/device/simulated/expected_costs.h"
#include "tools/layout_model/measured_costs.h"

namespace latchkey::model_disk_test {
namespace {

SegmentCosts Of(const char* device, uint32_t page_bytes, uint64_t segment_bytes = 0,
                Megabyte megabyte = Megabyte::kThesis) {
  const auto costs = CostsOfDisk(AsModelled(*ParseDeviceSpec(device), megabyte),
                                 {.page_bytes = page_bytes, .segment_bytes = segment_bytes});
  REQUIRE(costs.ok());
  return *costs;
}

TEST_CASE("The disks of the list have the segments and the eta of the reference") {
  struct Row {
    const char* device;
    uint64_t segment_kb;
    double eta_8k, eta_4k;
  };
  for (const Row& row :
       {Row{"cheetah-x15-36lp", 1024, 32.769, 64.787}, Row{"atlas10k", 512, 17.078, 33.411},
        Row{"rz26", 128, 4.185, 7.582}, Row{"year2008", 2048, 61.97, 123.17}}) {
    CAPTURE(row.device);
    const SegmentCosts of_8k = Of(row.device, 8192);
    const SegmentCosts of_4k = Of(row.device, 4096);
    CHECK(of_8k.segment_bytes == row.segment_kb << 10);
    CHECK(of_4k.segment_bytes == row.segment_kb << 10);
    const double margin = row.eta_8k > 60 ? 5.1e-3 : 5.1e-4;  // the digits that are printed
    CHECK(of_8k.costs.eta() == Approx(row.eta_8k).margin(margin));
    CHECK(of_4k.costs.eta() == Approx(row.eta_4k).margin(margin));
  }
}

TEST_CASE("Only the thesis's megabytes give the thesis's eta") {
  const auto eta = [](Megabyte megabyte) {
    return Of("cheetah-x15-36lp", 8192, 1 << 20, megabyte).costs.eta();
  };
  CHECK(eta(Megabyte::kThesis) == Approx(32.77).margin(5e-3));
  CHECK(eta(Megabyte::kDecimal) == Approx(32.21).margin(5e-3));
  CHECK(eta(Megabyte::kBinary) == Approx(33.34).margin(5e-3));
}

TEST_CASE("A disk by parameters is the disk of the list with these parameters") {
  CHECK(Of("fixed:service_ms=5.6:mb_s=61", 8192).costs.eta() ==
        Approx(Of("cheetah-x15-36lp", 8192).costs.eta()));
  CHECK(Of("fixed:service_ms=5.6:mb_s=61", 8192).segment_bytes == 1 << 20);
  // (6.1) with the product alone.
  CHECK(Of("fixed:service_ms=15:mb_s=2.3", 8192, 128 << 10).costs.eta() ==
        Approx(SegmentIoEfficiency({15, 2.3}, 8, 128)));
}

TEST_CASE("An array has the eta of its disk, RAID-5 more by the small-write factor") {
  const double one = Of("atlas10k", 8192).costs.eta();
  const SegmentCosts raid0 = Of("atlas10k:disks=4", 8192);
  CHECK(raid0.segment_bytes == 4 * 512 << 10);
  CHECK(raid0.costs.eta() == Approx(one));
  for (const uint32_t disks : {3u, 5u, 9u}) {
    const std::string device = "atlas10k:raid=raid5:disks=" + std::to_string(disks);
    const SegmentCosts raid5 = Of(device.c_str(), 8192);
    CHECK(raid5.segment_bytes == uint64_t{disks - 1} * 512 << 10);
    CHECK(raid5.costs.eta() == Approx(one * 4 * (disks - 1) / disks));
  }
}

TEST_CASE("In decimal megabytes the model charges what a simulated device of fixed time charges") {
  const DeviceSpec device = *ParseDeviceSpec("fixed:service_ms=5.6:mb_s=61:disks=4");
  const SegmentCosts model =
      Of("fixed:service_ms=5.6:mb_s=61:disks=4", 4096, 0, Megabyte::kDecimal);
  const ExpectedCosts costs =
      ExpectedCostsOf(device, {.page_bytes = 4096, .segment_bytes = model.segment_bytes});
  CHECK(model.costs.page_write_ns == Approx(costs.page_write_ns));
  CHECK(model.costs.segment_write_ns * model.costs.slots_per_segment ==
        Approx(costs.segment_write_ns));
  CHECK(model.costs.page_read_ns + model.costs.slot_read_ns * (model.costs.slots_per_segment - 1) ==
        Approx(costs.segment_read_ns));
}

TEST_CASE("Protection costs a share of a batch, or a page more") {
  const DeviceSpec disk = AsModelled(*ParseDeviceSpec("cheetah-x15-36lp"), Megabyte::kThesis);
  const PageCosts none = CostsOfDisk(disk, {})->costs;
  const PageCosts twice = CostsOfDisk(disk, {.protection = ModelProtection::kTwice})->costs;
  const PageCosts batch = CostsOfDisk(disk, {.protection = ModelProtection::kDoublewrite})->costs;
  CHECK(none.in_place_ns() == none.page_write_ns);
  CHECK(twice.in_place_ns() == Approx(2 * none.page_write_ns));
  CHECK(batch.protection_ns > none.segment_write_ns / 2);
  CHECK(batch.protection_ns < 2 * none.segment_write_ns);
}

TEST_CASE("Ratios give the costs that they name") {
  const auto costs = CostsOfRatios({.eta = 10.9, .rho = 4.64}, {.page_bytes = 4096});
  REQUIRE(costs.ok());
  CHECK(costs->costs.eta() == Approx(10.9));
  CHECK(costs->costs.page_read_ns == Approx(10.9 * costs->costs.segment_write_ns));
  CHECK(costs->segment_bytes == 1 << 20);
}

TEST_CASE("A disk or a segment that the model cannot use is refused with the range") {
  using Catch::Contains;
  const auto refused = [](const char* device, const SegmentQuestion& question) {
    const auto costs = CostsOfDisk(*ParseDeviceSpec(device), question);
    return costs.ok() ? "" : std::string(costs.status().message());
  };
  CHECK_THAT(refused("memory", {}), Contains("takes time"));
  CHECK_THAT(refused("fixed:service_ms=0:mb_s=5", {}), Contains("service_ms above 0"));
  CHECK_THAT(refused("fixed:service_ms=5", {}), Contains("mb_s is 0") && Contains("0.001"));
  CHECK_THAT(refused("fixed:mb_s=60", {.segment_bytes = 12'000}), Contains("multiple of the page"));
  CHECK_THAT(refused("fixed:mb_s=60", {.segment_bytes = 8192}),
             Contains("from 16384 to 1073741824"));
  CHECK_THAT(refused("fixed:mb_s=60:disks=5:raid=raid5", {.segment_bytes = 1 << 16}),
             Contains("full stripe, 262144 bytes"));
  CHECK_THAT(refused("fixed:mb_s=60:disks=2:stripe_kb=4", {}), Contains("stripe_kb"));
  const auto ratios = CostsOfRatios({.eta = 200}, {});
  CHECK_THAT(std::string(ratios.status().message()), Contains("eta is 200") && Contains("128"));
  const auto folder = MeasureCosts("no-such-folder", {});
  CHECK_THAT(std::string(folder.status().message()), Contains("no-such-folder: no folder"));
}

}  // namespace
}  // namespace latchkey::model_disk_test
