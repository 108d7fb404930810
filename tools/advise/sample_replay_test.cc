#include "tools/advise/sample_replay.h"

#include <catch2/catch.hpp>

#include "layout/space/space_sizing.h"
#include "tools/layout_model/model_disk.h"

namespace latchkey::sample_replay_test {
namespace {

struct Setting {
  AdviceQuestion question;
  ReplayPlan plan;
  std::vector<Candidate> candidates;
};

Setting MakeSetting() {
  Setting setting;
  const DeviceSpec disk = *ParseDeviceSpec("fixed:service_ms=5:mb_s=60");
  const SegmentCosts costs = *CostsOfDisk(disk, {.page_bytes = 4096, .segment_bytes = 512 << 10});
  setting.question = {.page_sizes = {{.page_bytes = 4096,
                                      .segment_bytes = costs.segment_bytes,
                                      .costs = costs.costs}},
                      .space_utilizations = {0.8},
                      .data_bytes = uint64_t{256} << 20};
  setting.plan = {.device = disk, .pages = 2048, .users = 4};
  for (const Candidate& candidate : PredictAll(setting.question)) {
    const std::string_view layout = candidate.way->layout;
    if (layout == "overwrite" || candidate.way->cleaning == "greedy") {
      setting.candidates.push_back(candidate);
    }
  }
  return setting;
}

TEST_CASE("A disk made from costs has these costs") {
  const DeviceSpec disk = *ParseDeviceSpec("fixed:service_ms=2:mb_s=80");
  const SegmentCosts costs = *CostsOfDisk(disk, {.page_bytes = 8192, .segment_bytes = 1 << 20});
  const DevicePages pages{
      .page_bytes = 8192, .segment_bytes = costs.segment_bytes, .costs = costs.costs};
  const DeviceSpec made = DiskOfCosts(pages);
  CHECK(made.service == Approx(disk.service).epsilon(0.001));
  CHECK(made.bytes_per_second == Approx(80e6).epsilon(0.001));
  const SegmentCosts small = *CostsOfDisk(disk, {.page_bytes = 8192, .segment_bytes = 128 << 10});
  const PageCosts shrunk = WithSegments(pages, 128 << 10).costs;
  CHECK(shrunk.segment_write_ns == Approx(small.costs.segment_write_ns).epsilon(0.001));
  CHECK(shrunk.slots_per_segment == 16);
}

TEST_CASE("A device on which segments gain nothing becomes a disk all the same") {
  DevicePages pages;
  pages.costs = {.page_write_ns = 20'000, .segment_write_ns = 25'000, .slots_per_segment = 256};
  const DeviceSpec disk = DiskOfCosts(pages);
  CHECK(disk.takes_time());
  CHECK(CheckDeviceSpec(disk).ok());
}

TEST_CASE("The file of a sample is as full as that of the whole") {
  const Setting setting = MakeSetting();
  const LabConfig config = SampleConfig(setting.plan, setting.candidates[1]);
  CHECK(config.pages == 2048);
  CHECK(config.store.segment_size == 64 << 10);
  CHECK(ModelUtilization(2048, 4096, 64 << 10, config.store.space_utilization, 0) ==
        Approx(setting.candidates[1].model_utilization).margin(0.01));
}

TEST_CASE("A replay of uniform writes measures what is predicted for the sample") {
  const Setting setting = MakeSetting();
  const absl::StatusOr<std::vector<Replay>> replays =
      ReplaySamples(setting.plan, setting.question, setting.candidates, [](const std::string&) {});
  REQUIRE(replays.ok());
  REQUIRE(replays->size() == 2);
  CHECK(replays->front().measured == 1);
  CHECK(replays->front().predicted == 1);
  CHECK(replays->back().measured > 1.5);
  CHECK(replays->back().measured == Approx(replays->back().predicted).epsilon(0.15));
  CHECK(!replays->back().differs());
  CHECK(BestMeasured(*replays) == 1);
}

TEST_CASE("A replay that is told to stop ends as cancelled") {
  Setting setting = MakeSetting();
  const std::atomic<bool> stop{true};
  setting.plan.stop = &stop;
  const auto replays =
      ReplaySamples(setting.plan, setting.question, setting.candidates, [](const std::string&) {});
  CHECK(absl::IsCancelled(replays.status()));
}

}  // namespace
}  // namespace latchkey::sample_replay_test
