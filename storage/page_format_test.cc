#include "storage/page_format.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace latchkey::page_format_test {
namespace {

constexpr uint64_t kDatabase = 0x1122334455667788;

std::vector<std::byte> SealedPage(PageId id, uint32_t sequence) {
  std::vector<std::byte> page(kDefaultPageSize, std::byte{0x5a});
  SealPage(page, id, sequence, kDatabase);
  return page;
}

TEST_CASE("A sealed page proves its identity, its write and its content") {
  const auto page = SealedPage(PageId{7}, 3);
  CHECK(VerifyPage(page, PageId{7}, 3, kDatabase).ok());
}

TEST_CASE("Every flipped bit of a page is found") {
  auto page = SealedPage(PageId{7}, 3);
  for (size_t bit = 0; bit < page.size() * 8; bit += 13) {
    page[bit / 8] ^= std::byte(1 << (bit % 8));
    CHECK(absl::IsDataLoss(VerifyPage(page, PageId{7}, 3, kDatabase)));
    page[bit / 8] ^= std::byte(1 << (bit % 8));
  }
}

TEST_CASE("Misdirected, stale and foreign pages are refused by name") {
  const auto page = SealedPage(PageId{7}, 3);
  CHECK_THAT(std::string(VerifyPage(page, PageId{8}, 3, kDatabase).message()),
             Catch::Contains("found page 7 in its place"));
  CHECK_THAT(std::string(VerifyPage(page, PageId{7}, 4, kDatabase).message()),
             Catch::Contains("expected write 4"));
  CHECK(absl::IsDataLoss(VerifyPage(page, PageId{7}, 3, kDatabase + 1)));
}

TEST_CASE("Page sizes are powers of two from 4 to 64 KiB") {
  CHECK(IsValidPageSize(4096));
  CHECK(IsValidPageSize(65536));
  CHECK_FALSE(IsValidPageSize(2048));
  CHECK_FALSE(IsValidPageSize(131072));
  CHECK_FALSE(IsValidPageSize(12288));
}

}  // namespace
}  // namespace latchkey::page_format_test
