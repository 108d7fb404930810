#include "storage/device/device_list.h"

#include <catch2/catch.hpp>

#include "storage/base/testing/temp_dir.h"
#include "storage/device/aligned_buffer.h"

namespace latchkey::device_list_test {
namespace {

std::string Message(std::string_view text) {
  return std::string(ParseDeviceSpec(text).status().message());
}

TEST_CASE("A device is named by its kind and its parameters, and prints as all of them") {
  const auto spec = ParseDeviceSpec("fixed:service_ms=9:disks=11");
  REQUIRE(spec.ok());
  CHECK(spec->service == 9 * kNanosPerMilli);
  CHECK(spec->disks == 11);
  CHECK(spec->is_simulated());
  const std::string canonical = CanonicalDeviceSpec(*spec);
  CHECK(canonical == "fixed:service_ms=9:mb_s=0:disks=11:stripe_kb=64:raid=raid0:queue=fcfs");
  CHECK(CanonicalDeviceSpec(*ParseDeviceSpec(canonical)) == canonical);
  for (const DeviceInfo& device : Devices()) {
    const auto parsed = ParseDeviceSpec(device.description.name);
    REQUIRE(parsed.ok());
    CHECK(parsed->is_simulated() == device.simulated);
    CHECK(parsed->is_array() == device.array);
    CHECK(CanonicalDeviceSpec(*ParseDeviceSpec(CanonicalDeviceSpec(*parsed))) ==
          CanonicalDeviceSpec(*parsed));
    CHECK_THAT(DescribeDevices(), Catch::Contains(CanonicalDeviceSpec(*parsed)));
  }
}

TEST_CASE("A device that is misspelt or out of range is refused with what there is") {
  CHECK(Message("disk") ==
        "unknown device 'disk'; known: file, memory, fixed, rz26, atlas10k, year2004, year2008, "
        "cheetah-x15-36lp, flash");
  CHECK_THAT(Message("file:disks=2"), Catch::Contains("it takes none"));
  CHECK_THAT(Message("fixed:speed=1"), Catch::Contains("speed") && Catch::Contains("service_ms"));
  CHECK_THAT(Message("fixed:service_ms=-1"), Catch::Contains("0 to 100000"));
  CHECK_THAT(Message("fixed:service_ms=nan"), Catch::Contains("0 to 100000"));
  CHECK_THAT(Message("fixed:service_ms="), Catch::Contains("0 to 100000"));
  CHECK_THAT(Message("fixed:disks=0"), Catch::Contains("1 to 1024"));
  CHECK_THAT(Message("fixed:disks=1.5"), Catch::Contains("a whole number"));
  CHECK_THAT(Message("fixed:stripe_kb=3"), Catch::Contains("power of two"));
  CHECK_THAT(Message("rz26:raid=raid5:disks=2"), Catch::Contains("3 to 1024"));
  CHECK_THAT(Message("rz26:raid=raid6"), Catch::Contains("raid0, raid5"));
  CHECK_THAT(Message("rz26:queue=sstf"), Catch::Contains("fcfs, scan"));
  CHECK_THAT(Message("flash:erase_kb=10"), Catch::Contains("multiple of 4"));
  CHECK_THAT(Message("flash:spare=0"), Catch::Contains("0.001 to 1"));
  CHECK(absl::IsInvalidArgument(ParseDeviceSpec("").status()));
}

TEST_CASE("Every named device opens and keeps what is written") {
  TempDir dir;
  for (const char* text : {"file", "memory", "fixed:service_ms=0.01:disks=3:stripe_kb=4"}) {
    auto device = OpenDeviceOf(ThreadRuntime(), *ParseDeviceSpec(text), dir.File("data.lk"));
    REQUIRE(device.ok());
    REQUIRE((*device)->Resize(1 << 20).ok());
    AlignedBuffer out(4096), in(4096);
    out.data()[17] = std::byte{42};
    REQUIRE((*device)->Write(8192, out.span(), IoClass::kMeta).ok());
    REQUIRE((*device)->Read(8192, in.span(), IoClass::kMeta).ok());
    CHECK(in.data()[17] == std::byte{42});
  }
}

}  // namespace
}  // namespace latchkey::device_list_test
