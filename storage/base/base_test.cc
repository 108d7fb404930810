#include <array>
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/check.h"
#include "storage/base/hash.h"
#include "storage/base/ids.h"
#include "storage/base/log_sink.h"
#include "storage/base/racy_memory.h"
#include "storage/base/rng.h"
#include "storage/base/status_macros.h"

namespace latchkey::base_test {
namespace {

TEST_CASE("A seed repeats its random numbers, and another gives others") {
  Rng a(42), b(42), c(43);
  int same = 0;
  for (int i = 0; i < 100; ++i) {
    const uint64_t value = a.Next();
    REQUIRE(value == b.Next());
    same += value == c.Next();
  }
  CHECK(same == 0);
}

TEST_CASE("Random numbers keep to their bounds and reach all of them") {
  Rng rng(7);
  std::set<uint64_t> below;
  std::set<int64_t> between;
  for (int i = 0; i < 1000; ++i) {
    below.insert(rng.Below(5));
    between.insert(rng.Between(-2, 2));
    const double unit = rng.Unit();
    REQUIRE((unit >= 0 && unit < 1));
  }
  CHECK(below == std::set<uint64_t>{0, 1, 2, 3, 4});
  CHECK(between == std::set<int64_t>{-2, -1, 0, 1, 2});
}

TEST_CASE("Random numbers are spread evenly") {
  Rng rng(1);
  std::array<int, 16> counts{};
  for (int i = 0; i < 160'000; ++i) ++counts[rng.Below(16)];
  for (int count : counts) CHECK(count == Approx(10'000).margin(500));
}

TEST_CASE("The hash is XXH3-64 as published, so that checksums on disk stay valid") {
  CHECK(Hash64("") == 0x2d06800538d394c2u);
  CHECK(Hash64("abc") == 0x78af5f94892f3950u);
  CHECK(Hash64("abc", 1) != Hash64("abc"));
  std::set<uint64_t> mixed;
  for (uint64_t i = 0; i < 1000; ++i) mixed.insert(MixHash(i) >> 48);
  CHECK(mixed.size() > 950);
}

TEST_CASE("Identifiers of different kinds are different types that show their number") {
  CHECK(Raw(PageId{7}) == 7);
  CHECK(Raw(kInvalidPageId) == UINT64_MAX);
  static_assert(!std::is_convertible_v<PageId, FrameId>);
  static_assert(!std::is_convertible_v<uint64_t, PageId>);
}

TEST_CASE("A log sink that is not set drops messages") {
  LogTo(nullptr, LogLevel::kError, "to nobody");
  std::string last;
  LogTo([&](LogLevel, std::string_view message) { last = message; }, LogLevel::kInfo, "hello");
  CHECK(last == "hello");
}

absl::StatusOr<int> Half(int value) {
  if (value % 2 != 0) return InvalidArgument("{} is odd; use an even number", value);
  return value / 2;
}
absl::StatusOr<int> Quarter(int value) {
  LATCHKEY_ASSIGN_OR_RETURN(const int half, Half(value));
  return Half(half);
}
absl::Status BothEven(int a, int b) {
  LATCHKEY_RETURN_IF_ERROR(Half(a).status());
  LATCHKEY_RETURN_IF_ERROR(Half(b).status());
  return absl::OkStatus();
}

TEST_CASE("Errors pass through the status macros with code and message") {
  CHECK(*Quarter(12) == 3);
  CHECK(std::string(Quarter(6).status().message()) == "3 is odd; use an even number");
  CHECK(absl::IsInvalidArgument(Quarter(5).status()));
  CHECK(BothEven(2, 4).ok());
  CHECK_FALSE(BothEven(2, 3).ok());
  CHECK(MakeStatus(absl::StatusCode::kDataLoss, "page {}", 9) == absl::DataLossError("page 9"));
}

TEST_CASE("A condition that holds passes its check and is evaluated once") {
  int evaluations = 0;
  LATCHKEY_CHECK(++evaluations == 1);
  CHECK(evaluations == 1);
}

TEST_CASE("Racy copies, moves and comparisons do what their plain kin do") {
  alignas(8) std::array<uint8_t, 64> page{};
  for (size_t i = 0; i < page.size(); ++i) page[i] = static_cast<uint8_t>(i);
  std::array<uint8_t, 16> copy{};
  RacyCopyOut(copy.data(), page.data() + 3, copy.size());
  CHECK(copy[0] == 3);
  CHECK(RacyCompare(page.data() + 3, copy.data(), copy.size()) == 0);
  copy[5] = 200;
  CHECK(RacyCompare(page.data() + 3, copy.data(), copy.size()) < 0);
  RacyCopyIn(page.data() + 32, copy.data(), copy.size());
  CHECK(page[37] == 200);
  CHECK(RacyLoad<uint32_t>(page.data() + 4) == 0x07060504u);
  RacyStore<uint16_t>(page.data() + 2, uint16_t{0xabcd});
  CHECK(page[3] == 0xab);
}

TEST_CASE("Racy ranges may begin and end anywhere in a word, and moved ones may overlap") {
  alignas(8) std::array<uint8_t, 1200> page{};
  for (size_t i = 0; i < page.size(); ++i) page[i] = static_cast<uint8_t>(i % 251);
  for (const size_t size : {0, 1, 7, 8, 9, 15, 17, 255, 257, 600}) {
    for (size_t from = 0; from < 9; ++from) {
      for (const size_t to : {from, size_t{0}, size_t{5}, size_t{8}, size_t{261}}) {
        auto moved = page, expected = page;
        RacyMove(moved.data() + to, moved.data() + from, size);
        std::memmove(expected.data() + to, expected.data() + from, size);
        REQUIRE(moved == expected);
        RacyMove(moved.data() + from, moved.data() + to, size);
        std::memmove(expected.data() + from, expected.data() + to, size);
        REQUIRE(moved == expected);
      }
      std::array<uint8_t, 610> copy{};
      RacyCopyOut(copy.data() + 3, page.data() + from, size);
      REQUIRE(RacyCompare(page.data() + from, copy.data() + 3, size) == 0);
      REQUIRE(copy[3 + size] == 0);
      for (size_t i = 0; i < size; i += 5) {
        const auto was = std::exchange(copy[3 + i], uint8_t{255});
        REQUIRE(RacyCompare(page.data() + from, copy.data() + 3, size) < 0);
        copy[3 + i] = was;
      }
      auto written = page, expected = page;
      RacyZero(written.data() + from, size + 1);
      RacyCopyIn(written.data() + from, copy.data() + 3, size);
      expected[from + size] = 0;
      REQUIRE(written == expected);
    }
  }
}

}  // namespace
}  // namespace latchkey::base_test
