#include "storage/device/device_list.h"

#include <catch2/catch.hpp>

#include "storage/base/testing/temp_dir.h"
#include "storage/device/aligned_buffer.h"

namespace latchkey {
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
  CHECK(canonical == "fixed:service_ms=9:mb_s=0:disks=11:stripe_kb=64");
  CHECK(CanonicalDeviceSpec(*ParseDeviceSpec(canonical)) == canonical);
  for (const std::string& name : Devices().Names()) CHECK(ParseDeviceSpec(name).ok());
}

TEST_CASE("A device that is misspelt or out of range is refused with what there is") {
  CHECK(Message("disk") == "unknown device 'disk'; known: file, memory, fixed");
  CHECK_THAT(Message("file:disks=2"), Catch::Contains("it takes none"));
  CHECK_THAT(Message("fixed:speed=1"), Catch::Contains("speed") && Catch::Contains("service_ms"));
  CHECK_THAT(Message("fixed:service_ms=-1"), Catch::Contains("0 to 100000"));
  CHECK_THAT(Message("fixed:service_ms=nan"), Catch::Contains("0 to 100000"));
  CHECK_THAT(Message("fixed:service_ms="), Catch::Contains("0 to 100000"));
  CHECK_THAT(Message("fixed:disks=0"), Catch::Contains("1 to 1024"));
  CHECK_THAT(Message("fixed:disks=1.5"), Catch::Contains("a whole number"));
  CHECK_THAT(Message("fixed:stripe_kb=3"), Catch::Contains("power of two"));
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
}  // namespace latchkey
