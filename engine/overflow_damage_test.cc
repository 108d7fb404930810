// Overflow chains whose pages prove themselves and yet lead nowhere: found by the fuzz target of
// pages, which read beyond the page table.
#include <catch2/catch.hpp>
#include <cstring>

#include "engine/log/testing/logged_trees.h"
#include "engine/overflow.h"

namespace latchkey::overflow_damage_test {
namespace {

constexpr uint32_t kPage = 4096;
constexpr size_t kFirstListed = 48;  // engine/overflow.h

TEST_CASE("An overflow page that lists pages which do not exist is damage") {
  for (const uint64_t listed : {uint64_t{1000}, kMaxPageIds, UINT64_MAX - 1}) {
    MapPageStore store(ThreadRuntime(), kPage);
    const auto pool = MakeTestPool(store, 64);
    OverflowStore overflow(*pool);
    const auto reference = overflow.Write(std::string(30'000, 'v'));
    REQUIRE(reference.ok());
    {
      ExclusiveGuard first;
      REQUIRE(pool->FixExclusive(pool->Here(), ChainOf(*reference).first_page, &first).ok());
      std::memcpy(first.Mutable() + kFirstListed, &listed, sizeof(listed));
    }
    std::string value;
    CHECK(absl::IsDataLoss(overflow.Read(*reference, &value)));
    CHECK(absl::IsDataLoss(overflow.Free(*reference)));
  }
}

TEST_CASE("A reference that claims more than the database can hold takes no memory for it") {
  MapPageStore store(ThreadRuntime(), kPage);
  const auto pool = MakeTestPool(store, 64);
  OverflowStore overflow(*pool);
  const auto written = overflow.Write(std::string(100, 'v'));
  REQUIRE(written.ok());
  std::string reference(written->view());
  const uint64_t claimed = uint64_t{1} << 30;
  std::memcpy(reference.data() + 8, &claimed, sizeof(claimed));
  std::string value;
  CHECK(absl::IsDataLoss(overflow.Read(reference, &value)));
  CHECK(value.capacity() < 1 << 20);
}

}  // namespace
}  // namespace latchkey::overflow_damage_test
