#include "storage/device/memory_device.h"

#include <catch2/catch.hpp>

#include "storage/device/aligned_buffer.h"

namespace latchkey::memory_device_test {
namespace {

TEST_CASE("A memory device stops at its capacity limit, as a full disk does") {
  auto device = MemoryDevice::Create(
      ThreadRuntime(), {.size_bytes = 4096, .capacity_limit_bytes = 16384, .name = "small"});
  REQUIRE(device.ok());
  CHECK((*device)->Resize(16384).ok());
  const absl::Status full = (*device)->Resize(16384 + 512);
  CHECK(absl::IsResourceExhausted(full));
  CHECK_THAT(std::string(full.message()), Catch::Contains("\"small\"") &&
                                              Catch::Contains("16896") &&
                                              Catch::Contains("capacity_limit_bytes"));
  CHECK((*device)->geometry().size_bytes == 16384);
}

TEST_CASE("A memory device larger than its limit, or of an unaligned size, is refused") {
  CHECK(absl::IsResourceExhausted(
      MemoryDevice::Create(ThreadRuntime(), {.size_bytes = 8192, .capacity_limit_bytes = 4096})
          .status()));
  CHECK(absl::IsInvalidArgument(
      MemoryDevice::Create(ThreadRuntime(), {.size_bytes = 1000}).status()));
}

TEST_CASE("A memory device cut inside a host page forgets what was behind the cut") {
  auto device = MemoryDevice::Create(ThreadRuntime(), {.size_bytes = 16384});
  REQUIRE(device.ok());
  AlignedBuffer ones(16384), read(16384);
  for (std::byte& b : ones.span()) b = std::byte{1};
  REQUIRE((*device)->Write(0, ones.span(), IoClass::kMeta).ok());
  REQUIRE((*device)->Resize(512).ok());
  REQUIRE((*device)->Resize(16384).ok());
  REQUIRE((*device)->Read(0, read.span(), IoClass::kMeta).ok());
  for (size_t i = 0; i < read.size(); ++i) REQUIRE(read.data()[i] == std::byte(i < 512));
}

TEST_CASE("Aligned buffers are aligned, zeroed and movable") {
  for (HugePages huge : {HugePages::kNo, HugePages::kAdvise}) {
    AlignedBuffer buffer(5000, huge);
    CHECK(reinterpret_cast<uintptr_t>(buffer.data()) % AlignedBuffer::kAlignment == 0);
    CHECK(buffer.span().size() == 5000);
    CHECK(buffer.data()[4999] == std::byte{0});
    const std::byte* address = buffer.data();
    const AlignedBuffer moved = std::move(buffer);
    CHECK(moved.data() == address);
  }
  CHECK(AlignedBuffer().size() == 0);
}

}  // namespace
}  // namespace latchkey::memory_device_test
