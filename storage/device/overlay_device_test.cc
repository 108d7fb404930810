#include "storage/device/overlay_device.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "storage/base/rng.h"
#include "storage/device/aligned_buffer.h"
#include "storage/device/memory_device.h"
#include "storage/device/testing/forwarding_device.h"

namespace latchkey::overlay_device_test {
namespace {

constexpr uint64_t kBlock = 512;

std::vector<std::byte> AllOf(BlockDevice& device) {
  AlignedBuffer bytes(device.geometry().size_bytes);
  REQUIRE(device.Read(0, bytes.span(), IoClass::kMeta).ok());
  return {bytes.data(), bytes.data() + bytes.size()};
}

void Fill(AlignedBuffer& buffer, Rng& rng) {
  for (size_t i = 0; i < buffer.size(); ++i) buffer.data()[i] = static_cast<std::byte>(rng.Next());
}

TEST_CASE("An overlay shows its writes over another device, which stays as it is") {
  constexpr uint64_t kBlocks = 64;
  Rng rng(7);
  const std::shared_ptr<BlockDevice> base =
      std::move(*MemoryDevice::Create(ThreadRuntime(), {.size_bytes = kBlocks * kBlock}));
  AlignedBuffer bytes(kBlocks * kBlock);
  Fill(bytes, rng);
  REQUIRE(base->Write(0, bytes.span(), IoClass::kMeta).ok());
  const std::vector<std::byte> before = AllOf(*base);
  OverlayDevice overlay(ThreadRuntime(), std::make_unique<ForwardingDevice>(base));
  std::vector<std::byte> model = before;
  for (int step = 0; step < 2000; ++step) {
    if (rng.Below(10) == 0) {
      const uint64_t size = kBlock * rng.Below(2 * kBlocks);
      REQUIRE(overlay.Resize(size).ok());
      model.resize(size);
    }
    const uint64_t blocks = model.size() / kBlock;
    if (blocks == 0) continue;
    const uint64_t from = rng.Below(blocks), count = 1 + rng.Below(blocks - from);
    AlignedBuffer some(count * kBlock);
    if (rng.Below(2) == 0) {
      Fill(some, rng);
      REQUIRE(overlay.Write(from * kBlock, some.span(), IoClass::kMeta).ok());
      std::copy_n(some.data(), some.size(), model.begin() + static_cast<long>(from * kBlock));
    } else {
      REQUIRE(overlay.Read(from * kBlock, some.span(), IoClass::kMeta).ok());
      REQUIRE(std::equal(some.data(), some.data() + some.size(),
                         model.begin() + static_cast<long>(from * kBlock)));
    }
  }
  REQUIRE(overlay.Sync().ok());
  CHECK(AllOf(*base) == before);
  CHECK(base->geometry().size_bytes == kBlocks * kBlock);
}

}  // namespace
}  // namespace latchkey::overlay_device_test
