#include "tpcc-lite/bench/device_rate.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "storage/base/testing/temp_dir.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey::device_rate_test {
namespace {

TEST_CASE("A simulated device's rate of synced overwrites is that of its model") {
  SimulatedRuntime runtime;
  DeviceRate rate;
  const absl::Status ran = runtime.Run([&] {
    const DeviceSpec spec = *ParseDeviceSpec("fixed:service_ms=9");
    REQUIRE(MeasureOverwriteSyncRate(runtime, spec, "nowhere", kNanosPerSecond, &rate).ok());
  });
  REQUIRE(ran.ok());
  CHECK(rate.overwrites == 112);  // the last one ends behind the second
  CHECK(rate.PerSecond() == Approx(1 / .009).epsilon(.001));
  CHECK_FALSE(std::filesystem::exists("nowhere"));
}

TEST_CASE("Measuring a file system's rate adds up and leaves no file") {
  const TempDir directory;
  DeviceRate rate;
  for (int i = 0; i < 2; ++i) {
    REQUIRE(
        MeasureOverwriteSyncRate(ThreadRuntime(), {}, directory.File("sub"), kNanosPerMilli, &rate)
            .ok());
  }
  CHECK(rate.overwrites >= 2);
  CHECK(rate.seconds >= .002);
  CHECK(std::filesystem::is_empty(directory.File("sub")));
}

}  // namespace
}  // namespace latchkey::device_rate_test
