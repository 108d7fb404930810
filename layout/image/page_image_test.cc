#include "layout/image/page_image.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "layout/testing/layouts_under_test.h"
#include "storage/base/rng.h"
#include "storage/page_format.h"

namespace latchkey::page_image_test {
namespace {

constexpr PageId kPage{77};
constexpr uint64_t kDatabase = 0x1234;
constexpr uint32_t kWrite = 5;

StoreGeometry GeometryFor(uint32_t page_size) {
  return StoreGeometry::Of(page_size, 1 << 20, kSlotsOfCompressed);
}

// The first `random` bytes do not compress.
std::vector<std::byte> PageOf(uint32_t page_size, size_t random) {
  std::vector<std::byte> page(page_size, std::byte{'x'});
  Rng rng(page_size + random);
  for (size_t i = 0; i < random; ++i) page[i] = static_cast<std::byte>(rng.Below(256));
  return page;
}

TEST_CASE("An image proves the page that it was made of, for every codec and page size") {
  for (const std::string& name : CodecsUnderTest()) {
    for (uint32_t page_size = kMinPageSize; page_size <= kMaxPageSize; page_size *= 2) {
      CAPTURE(name, page_size);
      const StoreGeometry geometry = GeometryFor(page_size);
      PagePacker packer(geometry, PageCodecs().Named(name));
      std::vector<std::byte> page = PageOf(page_size, page_size / 3);
      packer.Begin(page.data());
      std::vector<std::byte> image(packer.image().begin(), packer.image().end());
      REQUIRE_FALSE(image.empty());
      CHECK(packer.SlotsOf(image) >= 3);
      CHECK(packer.SlotsOf(image) <= 4);
      SealImage(image, page, kPage, kWrite, kDatabase);
      image.resize(packer.SlotsOf(image) * geometry.slot_size());

      std::vector<std::byte> unpacked(page_size);
      REQUIRE(UnpackPage(image, kPage, unpacked).ok());
      CHECK(VerifyPage(unpacked, kPage, kWrite, kDatabase).ok());
      SealPage(page, kPage, kWrite, kDatabase);
      CHECK(std::memcmp(page.data(), unpacked.data(), page_size) == 0);
    }
  }
}

TEST_CASE("A page that would not save a slot has no image") {
  for (const std::string& name : CodecsUnderTest()) {
    CAPTURE(name);
    PagePacker packer(GeometryFor(4096), PageCodecs().Named(name));
    const std::vector<std::byte> random = PageOf(4096, 4096), almost = PageOf(4096, 3600);
    packer.Begin(random.data());
    CHECK(packer.image().empty());
    packer.Begin(almost.data());
    CHECK(packer.image().empty());
  }
  PagePacker none(GeometryFor(4096), PageCodecs().Named("none"));
  const std::vector<std::byte> page = PageOf(4096, 0);
  none.Begin(page.data());
  CHECK(none.image().empty());
  for (const std::string& name : CodecsUnderTest()) {
    PagePacker whole_slots(StoreGeometry::Of(4096, 1 << 20), PageCodecs().Named(name));
    whole_slots.Begin(page.data());
    CHECK(whole_slots.image().empty());
  }
}

TEST_CASE("A damaged image never passes for its page, and the error names the page") {
  Rng rng(3);
  for (const std::string& name : CodecsUnderTest()) {
    PagePacker packer(GeometryFor(4096), PageCodecs().Named(name));
    const std::vector<std::byte> page = PageOf(4096, 1500);
    packer.Begin(page.data());
    std::vector<std::byte> image(packer.image().begin(), packer.image().end());
    SealImage(image, page, kPage, kWrite, kDatabase);
    std::vector<std::byte> unpacked(4096);
    REQUIRE(UnpackPage(image, kPage, unpacked).ok());
    const std::vector<std::byte> whole = unpacked;
    int refused = 0;
    for (int i = 0; i < 2000; ++i) {
      std::vector<std::byte> damaged = image;
      damaged[rng.Below(damaged.size())] ^= static_cast<std::byte>(1 + rng.Below(255));
      absl::Status status = UnpackPage(damaged, kPage, unpacked);
      if (status.ok()) status = VerifyPage(unpacked, kPage, kWrite, kDatabase);
      if (status.ok()) {
        CHECK(unpacked == whole);
        continue;
      }
      ++refused;
      CHECK(absl::IsDataLoss(status));
      CHECK_THAT(std::string(status.message()), Catch::Contains("page 77"));
    }
    CHECK(refused > 1900);
    CHECK(absl::IsDataLoss(UnpackPage(std::span(image).first(64), kPage, unpacked)));
  }
}

}  // namespace
}  // namespace latchkey::page_image_test
