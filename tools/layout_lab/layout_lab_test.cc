// Small versions of what the README shows, against figures that were computed elsewhere
// (LAYOUT_REFERENCE sections 1 and 2).
#include <catch2/catch.hpp>

#include "layout/separate/write_cost_model.h"
#include "layout/testing/layouts_under_test.h"
#include "storage/base/sanitizers.h"
#include "storage/device/simulated/expected_costs.h"
#include "tools/layout_lab/lab_report.h"
#include "tools/layout_lab/lab_run.h"
#include "tools/layout_lab/loaded_costs.h"

namespace latchkey::layout_lab_test {
namespace {

LabConfig ConfigOf(const std::string& device, const std::string& layout) {
  LabConfig config;
  config.device = *ParseDeviceSpec(device);
  config.path = "lab";
  config.store.mode = SegmentStoreOptions::Mode::kCreate;
  config.store.layout = Layouts().Named(layout);
  config.store.segment_cleaning = CleaningPolicies().Named("greedy");
  config.store.page_size = 4096;
  config.store.database_id = 7;
  config.pages = 8192;
  config.users = 20;
  return config;
}

LabResult Run(const LabConfig& config) {
  absl::StatusOr<LabResult> result = RunLayoutLab(config, [](const std::string&) {});
  INFO(result.status());
  REQUIRE(result.ok());
  return *std::move(result);
}

double Throughput(const LabResult& result) {
  const uint64_t done =
      result.end.reads + result.end.writes - result.begin.reads - result.begin.writes;
  return static_cast<double>(done) * kNanosPerSecond /
         static_cast<double>(result.end.time - result.begin.time);
}

double Difference(const LabResult& result, uint64_t PageStoreStats::*counter) {
  return static_cast<double>(result.end.store.*counter - result.begin.store.*counter);
}

TEST_CASE(
    "Greedy cleaning of uniform writes finds victims as full as the model with finite S says") {
  if (kSanitizer) return;  // a steady state takes its time
  LabConfig config = ConfigOf("fixed:service_ms=5.6:mb_s=61", "lfs");
  config.store.segment_size = 512 << 10;  // S = 128
  config.store.reserve_bytes = 0;
  config.pages = 24'576;
  config.store.space_utilization = GENERATE(0.8, 0.95);
  const LabResult result = Run(config);
  CHECK(result.not_steady.empty());
  const double u = Difference(result, &PageStoreStats::emptied_live_pages) /
                   Difference(result, &PageStoreStats::emptied_slots);
  // Segments that never hold pages: those that only the cleaner may take, and those of checkpoints.
  constexpr double kSetApart = 2 + 2;
  const double live = static_cast<double>(config.pages) / 128;  // in segments
  const double usable = live / (live / result.end.store.effective_space_utilization - kSetApart);
  CAPTURE(usable);
  // (6.2), less what the reference has for S = 128 at every u_d from .7 to .95.
  CHECK(u == Approx(CleaningUtilization(usable) - 0.007).margin(0.01));
}

TEST_CASE("RAID-5 of 9 disks halves the throughput of Overwrite on RAID-0 of 8 disks") {
  if (kSanitizer) return;  // a steady state takes its time
  const auto run = [](const std::string& device) {
    LabConfig config = ConfigOf(device, "overwrite");
    config.users = 200;  // every disk is busy
    config.reads_per_write = 1.37;
    return Throughput(Run(config));
  };
  const double raid0 = run("fixed:service_ms=5.6:disks=8:raid=raid0");
  const double raid5 = run("fixed:service_ms=5.6:disks=9:raid=raid5");
  CHECK(raid5 / raid0 == Approx(0.497).epsilon(0.05));
}

// With page compression segments were only cleaned, never plugged, though whole pages fill holes.
TEST_CASE("Pages that do not compress cost a log what they cost it without page compression") {
  if (CodecsUnderTest().empty()) return;
  const auto run = [](std::string_view codec) {
    LabConfig config = ConfigOf("atlas10k", "lfs");
    config.store.segment_cleaning = CleaningPolicies().Named("hole-plugging");
    config.store.page_compression = PageCodecs().Named(codec);
    config.store.space_utilization = 0.95;
    config.workload = LabWorkloads().Named("zipf:0.99");
    config.reads_per_write = 0;
    config.warmup = 3;
    config.measured = 1;
    config.pages = 2048;
    return Run(config);
  };
  const LabResult without = run("none"), with = run(CodecsUnderTest().back());
  CHECK(Difference(without, &PageStoreStats::plugged_segments) > 0);
  CHECK(Throughput(with) == Approx(Throughput(without)).epsilon(0.03));
}

TEST_CASE("A run of the laboratory is the same again with the same seed") {
  LabConfig config = ConfigOf("atlas10k:disks=3", GENERATE("hylog", "wolf"));
  config.workload = LabWorkloads().Named("zipf:0.99");
  config.warmup = 3;
  config.measured = 1;
  config.pages = 2048;
  const LabResult one = Run(config), two = Run(config);
  CHECK(one.end.time == two.end.time);
  CHECK(one.end.reads == two.end.reads);
  CHECK(one.write_latency.max() == two.write_latency.max());
}

TEST_CASE("A run that does not reach steady state within its budget says why") {
  LabConfig config = ConfigOf("fixed:service_ms=5.6:mb_s=61", "lfs");
  config.budget = 1;
  config.measured = 1;
  CHECK(!Run(config).not_steady.empty());
}

TEST_CASE("Every workload runs on every kind of device, in memory and with a journal") {
  PageTrace trace;
  for (uint32_t i = 0; i < 4096; ++i) trace.pages.push_back(i * 7 % 512);
  trace.writes.assign(trace.pages.size(), true);
  trace.unique_pages = 512;
  for (const LabWorkloadInfo& workload : LabWorkloads()) {
    const std::string device = GENERATE("memory", "flash", "atlas10k:disks=4:raid=raid5");
    CAPTURE(workload.description.name, device);
    LabConfig config = ConfigOf(device, "hylog");
    config.workload = LabWorkloads().Named(workload.description.name);
    config.trace = workload.needs_trace ? &trace : nullptr;
    config.pages = 512;
    config.journal = true;
    config.warmup = 1;
    config.measured = 1;
    config.users = 4;
    const LabResult result = Run(config);
    CHECK(result.end.writes > result.begin.writes);
  }
}

TEST_CASE("The true costs of a fixed disk and its arrays are those of its parameters") {
  const std::string device =
      GENERATE("fixed:service_ms=5.6:mb_s=61", "fixed:service_ms=5.6:mb_s=61:disks=4:stripe_kb=256",
               "fixed:service_ms=5.6:mb_s=61:disks=5:stripe_kb=256:raid=raid5");
  CAPTURE(device);
  const DeviceSpec spec = *ParseDeviceSpec(device);
  const auto costs = MeasureLoadedCosts(
      {.device = spec, .segment_bytes = 1 << 20, .span_bytes = 64 << 20, .users = 8});
  REQUIRE(costs.ok());
  const ExpectedCosts expected = ExpectedCostsOf(spec, {.segment_bytes = 1 << 20});
  CHECK(costs->page_write_ns == Approx(expected.page_write_ns).epsilon(1e-3));
  CHECK(costs->segment_write_ns * 256 == Approx(expected.segment_write_ns).epsilon(1e-3));
}

TEST_CASE(
    "Pages in a tenth of a disk's span cost less, because its arm moves less, and segments do "
    "not") {
  LoadedCostsQuestion question{.device = *ParseDeviceSpec("atlas10k"), .users = 8};
  const auto everywhere = MeasureLoadedCosts(question);
  question.page_share = .1;
  const auto at_the_front = MeasureLoadedCosts(question);
  REQUIRE(everywhere.ok());
  REQUIRE(at_the_front.ok());
  CHECK(at_the_front->page_write_ns < .97 * everywhere->page_write_ns);
  CHECK(at_the_front->segment_write_ns == Approx(everywhere->segment_write_ns).epsilon(.03));
}

// A log writes no page by itself. Plugged pages, of which the cleaner writes many at once, counted as
// such, and probes wrote 16 pages at once into a free segment: SCAN and short seeks make both cheaper than
// a page that a user writes. LFS measured .35 of the true eta here.
TEST_CASE("On disks with arms eta is the device's, also in a log that writes no page by itself") {
  if (kSanitizer) return;  // a steady state takes its time
  LabConfig config = ConfigOf("atlas10k:disks=4:stripe_kb=512", GENERATE("lfs", "hylog"));
  config.store.segment_cleaning = CleaningPolicies().Named("adaptive");
  config.store.segment_size = 1 << 20;
  config.pages = 16'384;
  config.users = 8;
  config.reads_per_write = 1.37;
  const LabResult result = Run(config);
  const auto truth = MeasureLoadedCosts({.device = config.device,
                                         .segment_bytes = 1 << 20,
                                         .span_bytes = result.end.store.file_bytes,
                                         .users = config.users,
                                         .reads_per_write = config.reads_per_write});
  REQUIRE(truth.ok());
  // The run is short, so few pages were probed, and their service times differ by a third.
  CHECK(result.costs.eta() == Approx(truth->eta()).epsilon(.06));
}

TEST_CASE(
    "A row has the costs that the store measured beside the true ones, of a page and a segment") {
  LabConfig config = ConfigOf("fixed:service_ms=5.6:mb_s=61", "overwrite");
  config.store.segment_size = 512 << 10;
  config.pages = 2048;
  const LabResult result = Run(config);
  const LoadedCosts truth{.page_write_ns = 5e6, .segment_write_ns = 1e5};
  Json row = Json::object();
  AddLabFigures(config, &result, truth, row);
  CHECK(row["segment_io_efficiency"].get<double>() ==
        Approx(row["device_time_us"]["page_write"].get<double>() * 128 /
               row["device_time_us"]["segment_write"].get<double>()));
  CHECK(row["true_device_time_us"] == Json{{"page_write", 5e3}, {"segment_write", 1.28e4}});
  CHECK(row["true_segment_io_efficiency"] == 50);
  AddLabFigures(config, &result, std::nullopt, row);
  CHECK(row["true_device_time_us"].is_null());
  CHECK(row["true_segment_io_efficiency"].is_null());
}

}  // namespace
}  // namespace latchkey::layout_lab_test
