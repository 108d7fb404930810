#include "bufferpool/policy_spec.h"

#include <catch2/catch.hpp>

namespace latchkey {
namespace {

constexpr PolicyParameter kParameters[] = {{"size", 4, 1, 100, true, "how many"},
                                           {"share", 0.5, 0, 1, false, "how much"}};
constexpr PolicyDescription kKnown[] = {{"plain", "without parameters", {}},
                                        {"tuned", "with two", kParameters}};

std::vector<double> Values(std::string_view item) {
  const auto choice = ParsePolicy(item, "thing", kKnown);
  REQUIRE(choice.ok());
  REQUIRE(choice->index == 1);
  return choice->values;
}

std::string Error(std::string_view item) {
  const auto choice = ParsePolicy(item, "thing", kKnown);
  REQUIRE(absl::IsInvalidArgument(choice.status()));
  return std::string(choice.status().message());
}

TEST_CASE("A policy item is a name and parameters joined by colons") {
  CHECK(ParsePolicy("plain", "thing", kKnown)->index == 0);
  CHECK(Values("tuned") == std::vector<double>{4, 0.5});
  CHECK(Values("tuned:share=0.25") == std::vector<double>{4, 0.25});
  CHECK(Values("tuned:share=1:size=100") == std::vector<double>{100, 1});
}

TEST_CASE("A bare first value sets the first parameter of a policy") {
  CHECK(Values("tuned:7") == std::vector<double>{7, 0.5});
  CHECK(Values("tuned:7:share=0") == std::vector<double>{7, 0});
}

TEST_CASE("What FormatPolicy writes, ParsePolicy reads back") {
  const auto values = Values("tuned:9:share=0.125");
  CHECK(FormatPolicy(kKnown[1], values) == "tuned:size=9:share=0.125");
  CHECK(Values(FormatPolicy(kKnown[1], values)) == values);
  CHECK(FormatPolicy(kKnown[0], {}) == "plain");
}

TEST_CASE("An unknown policy is refused with the known ones") {
  CHECK(Error("fancy") == "unknown thing 'fancy'; known: plain, tuned");
  CHECK_THAT(Error(""), Catch::Contains("unknown thing ''"));
}

TEST_CASE("An unknown parameter is refused with the known ones and their ranges") {
  CHECK_THAT(Error("tuned:colour=3"), Catch::Contains("no parameter 'colour'") &&
                                          Catch::Contains("size (how many, 1 to 100, default 4)"));
  CHECK_THAT(Error("plain:size=3"), Catch::Contains("it takes none"));
  CHECK_THAT(Error("plain:3"), Catch::Contains("it takes none"));
  CHECK_THAT(Error("tuned:3:4"), Catch::Contains("no parameter '4'"));
}

TEST_CASE("A policy's value outside its range, not whole or no number is refused by name") {
  for (const char* item : {"tuned:size=0", "tuned:size=101", "tuned:size=2.5", "tuned:size=x",
                           "tuned:size=", "tuned:size=4k", "tuned:", "tuned:nan"}) {
    CHECK_THAT(Error(item), Catch::Contains("tuned: size is '") &&
                                Catch::Contains("whole number from 1 to 100"));
  }
  CHECK_THAT(Error("tuned:share=1.01"), Catch::Contains("number from 0 to 1"));
}

TEST_CASE("A policy's parameter given twice is refused") {
  CHECK_THAT(Error("tuned:3:size=3"), Catch::Contains("given twice"));
}

}  // namespace
}  // namespace latchkey
