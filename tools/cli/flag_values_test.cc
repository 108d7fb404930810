#include "tools/cli/flag_values.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "tpcc-lite/report/environment.h"

namespace latchkey::flag_values_test {
namespace {

bool Mentions(const absl::Status& status, const std::string& text) {
  return std::string(status.message()).find(text) != std::string::npos;
}

TEST_CASE("A list is split at its commas, and colons stay inside an item") {
  CHECK(*SplitList("replacement", "lru,2q:kin=0.25:kout=0.5") ==
        std::vector<std::string>{"lru", "2q:kin=0.25:kout=0.5"});
  CHECK(*SplitList("users", "8") == std::vector<std::string>{"8"});
}

TEST_CASE("Empty items and lists are refused by the flag's name") {
  for (const char* text : {"", ",", "a,", ",a", "a,,b"}) {
    CAPTURE(text);
    const auto items = SplitList("layout", text);
    CHECK(Mentions(items.status(), "--layout"));
  }
}

TEST_CASE("Counts take thousands, and nothing that is not whole or out of range") {
  CHECK(*ParseCount("records", "10M", 1, 1'000'000'000) == 10'000'000);
  CHECK(*ParseCount("records", "1.5k", 1, 10'000) == 1500);
  CHECK(*ParseCount("seed", "18446744073709551615", 0, UINT64_MAX) == UINT64_MAX);
  for (const char* text : {"", "x", "-1", "1.5", "0", "11", "5 apples", "nan", "1e400"}) {
    CAPTURE(text);
    CHECK(absl::IsInvalidArgument(ParseCount("users", text, 1, 10).status()));
  }
}

TEST_CASE("Sizes are bytes or binary multiples of them") {
  const auto parse = [](const char* text) { return ParseBytes("size", text, 1, 1ull << 31); };
  CHECK(*parse("4096") == 4096);
  CHECK(*parse("64KiB") == 65536);
  CHECK(*parse("1.5GiB") == 1610612736);
  CHECK(*parse("1GB") == 1073741824);
  for (const char* text : {"1 parsec", "inf", "-1", "0", "2.1GiB"}) {
    CAPTURE(text);
    CHECK(Mentions(parse(text).status(), "give 1 to 2147483648 bytes"));
  }
}

TEST_CASE("The examples of a refused size lie within its range") {
  const auto refusal = [](uint64_t min, uint64_t max) {
    return std::string(ParseBytes("size", "x", min, max).status().message());
  };
  CHECK(refusal(1, 1 << 20) == "--size=x: give 1 to 1048576 bytes, e.g. 4096 or 64KiB");
  CHECK(refusal(1 << 20, 1ull << 31) ==
        "--size=x: give 1048576 to 2147483648 bytes, e.g. 1.5MiB, 256MiB or 1.5GiB");
  CHECK(refusal(1, 10) == "--size=x: give 1 to 10 bytes");
}

TEST_CASE("Sizes that are powers of two are refused with the range") {
  CHECK(*ParsePowerOfTwo("page-size", "64KiB", 4096, 65536) == 65536);
  for (const char* text : {"-4096", "5000", "2048", "128KiB", "x"}) {
    CAPTURE(text);
    CHECK(Mentions(ParsePowerOfTwo("page-size", text, 4096, 65536).status(),
                   "a power of two from 4096 to 65536"));
  }
}

TEST_CASE("A cache larger than the machine's memory is refused with the memory there is") {
  const std::optional<uint64_t> memory = PhysicalMemoryBytes();
  REQUIRE(memory.has_value());
  const std::string named = std::to_string(*memory);
  CHECK(Mentions(ParseMemory("cache-size", "1000000GiB", 0).status(), named));
  CHECK(Mentions(ParseCacheSize("cache-size", "1000000GiB", 4000).status(), named));
  CHECK(Mentions(ParseCacheSize("cache-size", "100%", *memory + 4096).status(), named));
  CHECK(*ParseMemory("cache-size", named, 0) == *memory);
  CHECK(Mentions(ParseMemory("cache-size", "1KiB", 1 << 20).status(), "1048576 to " + named));
}

TEST_CASE("Durations are seconds unless they say otherwise") {
  CHECK(*ParseDuration("duration", "30") == 30 * kNanosPerSecond);
  CHECK(*ParseDuration("duration", "0.5s") == 500 * kNanosPerMilli);
  CHECK(*ParseDuration("duration", "500ms") == 500 * kNanosPerMilli);
  CHECK(*ParseDuration("duration", "2m") == 120 * kNanosPerSecond);
  CHECK_FALSE(ParseDuration("duration", "2 days").ok());
  CHECK_FALSE(ParseDuration("duration", "1e12").ok());
}

TEST_CASE("A cache size is bytes or a share of the data") {
  CHECK(*ParseCacheSize("cache-size", "25%", 4000) == 1000);
  CHECK(*ParseCacheSize("cache-size", "150%", 4000) == 6000);
  CHECK(*ParseCacheSize("cache-size", "1MiB", 4000) == 1 << 20);
  for (const char* text : {"%", "-5%", "0%", "a lot"}) {
    CAPTURE(text);
    CHECK(Mentions(ParseCacheSize("cache-size", text, 4000).status(), "--cache-size"));
  }
  CHECK(Mentions(ParseCacheSize("cache-size", "0%", 4000).status(),
                 "--cache-size=0%: give 0.001% to 100000% of the data"));
}

TEST_CASE("Numbers outside their range are refused with the range") {
  CHECK(*ParseNumber("space-utilization", "0.95", 0.5, 0.98) == 0.95);
  const auto refused = ParseNumber("space-utilization", "0.99", 0.5, 0.98);
  CHECK(Mentions(refused.status(), "0.5"));
  CHECK(Mentions(refused.status(), "0.98"));
  CHECK_FALSE(ParseNumber("space-utilization", "nan", 0.5, 0.98).ok());
}

TEST_CASE("A size is a number, or a share of a whole and then at least one") {
  CHECK(ParseCountOrShare("size", "2k", 1, 1 << 20, "the pages")->Of(10) == 2000);
  CHECK(ParseCountOrShare("size", "5%", 1, 1 << 20, "the pages")->Of(1000) == 50);
  CHECK(ParseCountOrShare("size", "0.1%", 1, 1 << 20, "the pages")->Of(10) == 1);
  for (const char* wrong : {"0", "0%", "-5%", "2000%", "2M", "some"}) {
    CAPTURE(wrong);
    const auto refused = ParseCountOrShare("size", wrong, 1, 1 << 20, "the pages");
    REQUIRE(absl::IsInvalidArgument(refused.status()));
    CHECK(
        refused.status().message() ==
        fmt::format("--size={}: give a whole number from 1 to 1048576, or 0.0001% to 1000% of the "
                    "pages",
                    wrong));
  }
}

}  // namespace
}  // namespace latchkey::flag_values_test
