#include "tools/doctor/device_figures.h"

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "storage/device/device_list.h"
#include "storage/device/memory_device.h"
#include "storage/device/testing/forwarding_device.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey::device_figures_test {
namespace {

absl::StatusOr<DeviceFigures> Measure(const char* device, const ExaminationPlan& plan,
                                      Nanos* took = nullptr) {
  SimulatedRuntime runtime;
  absl::StatusOr<DeviceFigures> figures = absl::UnknownError("not run");
  const absl::Status ran = runtime.Run([&] {
    const auto spec = ParseDeviceSpec(device);
    REQUIRE(spec.ok());
    const auto opened = OpenDeviceOf(runtime, *spec, "examined");
    REQUIRE(opened.ok());
    const Nanos began = runtime.Now();
    figures = MeasureDevice(runtime, **opened, plan);
    if (took != nullptr) *took = runtime.Now() - began;
  });
  REQUIRE(ran.ok());
  return figures;
}

TEST_CASE("A device of known speed is measured as it is, within its time") {
  Nanos took = 0;
  const auto figures = Measure("fixed:service_ms=1", {.bytes = kLeastExamined}, &took);
  INFO(figures.status());
  REQUIRE(figures.ok());
  CHECK(figures->file_bytes == kLeastExamined);
  REQUIRE(figures->page_reads.size() == std::size(kDepths));
  for (const auto* timings : {&figures->page_reads, &figures->page_writes}) {
    for (const Timing& timing : *timings) {
      CHECK(timing.per_second == Approx(1000).epsilon(0.1));  // one disk: a queue gains nothing
      CHECK(timing.p50_us == Approx(1000.0 * timing.depth).epsilon(0.1));
    }
  }
  CHECK(figures->segment_writes.back().mb_per_second() == Approx(4194.3).epsilon(0.1));
  CHECK(took < 15 * kNanosPerSecond);
  CHECK(took > 5 * kNanosPerSecond);
}

TEST_CASE("The disks of an array serve a deep queue together") {
  const auto figures = Measure("fixed:service_ms=1:disks=4", {.bytes = kLeastExamined});
  REQUIRE(figures.ok());
  CHECK(figures->page_reads.front().per_second == Approx(1000).epsilon(0.1));
  CHECK(figures->page_reads.back().per_second > 3000);
}

/// A device that takes a tenth of a second for each growth.
class SlowToGrow final : public ForwardingDevice {
 public:
  SlowToGrow(Runtime& runtime, std::unique_ptr<BlockDevice> below)
      : ForwardingDevice(std::move(below)), runtime_(runtime) {}
  absl::Status Resize(uint64_t size_bytes) override {
    runtime_.SleepFor(100 * kNanosPerMilli);
    return ForwardingDevice::Resize(size_bytes);
  }

 private:
  Runtime& runtime_;
};

TEST_CASE("A device that is slow to write is measured on a smaller file") {
  SimulatedRuntime runtime;
  const absl::Status ran = runtime.Run([&] {
    auto below = OpenDeviceOf(runtime, *ParseDeviceSpec("fixed:service_ms=1"), "examined");
    REQUIRE(below.ok());
    SlowToGrow device(runtime, *std::move(below));
    const auto figures =
        MeasureDevice(runtime, device, {.time = 2 * kNanosPerSecond, .bytes = uint64_t{1} << 30});
    REQUIRE(figures.ok());
    CHECK(figures->file_bytes == uint64_t{32} << 20);  // four steps of 8 MiB in 0.4 s
  });
  REQUIRE(ran.ok());
}

TEST_CASE("An examination that is stopped says so, wherever it is") {
  for (int stop_after = 0; stop_after < 16; ++stop_after) {
    std::atomic<bool> stop{false};
    int steps = 0;
    ExaminationPlan plan{.time = kNanosPerSecond, .bytes = kLeastExamined, .stop = &stop};
    plan.progress = [&](std::string_view) { stop = steps++ >= stop_after; };
    const auto figures = Measure("fixed:service_ms=1", plan);
    CAPTURE(stop_after, steps);
    if (steps > stop_after) {
      CHECK(absl::IsCancelled(figures.status()));
    } else {
      CHECK(figures.ok());
    }
  }
}

TEST_CASE("An examination refuses a file that is too small, and reports a full device") {
  CHECK(absl::IsInvalidArgument(Measure("memory", {.bytes = 1 << 20}).status()));
  SimulatedRuntime runtime;
  const absl::Status ran = runtime.Run([&] {
    auto device = MemoryDevice::Create(runtime, {.capacity_limit_bytes = 4 << 20});
    REQUIRE(device.ok());
    CHECK(absl::IsResourceExhausted(MeasureDevice(runtime, **device, {}).status()));
  });
  REQUIRE(ran.ok());
}

}  // namespace
}  // namespace latchkey::device_figures_test
