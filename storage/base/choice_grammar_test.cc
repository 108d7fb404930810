#include "storage/base/choice_grammar.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "storage/base/registry.h"

namespace latchkey::choice_grammar_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::string_view kVariants[] = {"heap", "array"};
constexpr ChoiceParameter kParameters[] = {
    {"size", 4, 1, 100, ParameterKind::kWhole, "how many"},
    {"share", 0.5, 0, 1, ParameterKind::kNumber, "how much"},
    {"stack", 2, 1, kInfinity, ParameterKind::kNumber, "how deep"},
    {"prefetch", 1, 0, 1, ParameterKind::kSwitch, "whether ahead"},
    {"interval", 1e9, 1e6, 3600e9, ParameterKind::kDuration, "how often"},
    {"variant", 1, 0, 1, ParameterKind::kWord, "which", kVariants},
};

struct Thing {
  ChoiceDescription description;
  int (*make)(int factor, std::span<const double> parameters);
};
constexpr Thing kThings[] = {
    {{"plain", "without parameters", {}},
     [](int factor, std::span<const double>) { return factor; }},
    {{"tuned", "with six", kParameters},
     [](int factor, std::span<const double> p) { return factor * static_cast<int>(p[0]); }},
};
constexpr Registry<Thing> kRegistry("thing", kThings);

// A thing whose only parameter may be absent.
constexpr ChoiceParameter kOptional[] = {
    {"share", std::numeric_limits<double>::quiet_NaN(), 0, 1, ParameterKind::kNumber, "how much"}};
constexpr Thing kChoosers[] = {
    {{"chooser", "with or without", kOptional}, [](int, std::span<const double>) { return 0; }}};
constexpr Registry<Thing> kChooserRegistry("chooser", kChoosers);

std::vector<double> Values(std::string_view item) {
  const auto choice = kRegistry.Parse(item);
  REQUIRE(choice.ok());
  REQUIRE(choice->name() == "tuned");
  return {choice->values().begin(), choice->values().end()};
}

std::string Error(std::string_view item) {
  const auto choice = kRegistry.Parse(item);
  REQUIRE(absl::IsInvalidArgument(choice.status()));
  return std::string(choice.status().message());
}

TEST_CASE("An item is a name and parameters joined by colons") {
  CHECK(kRegistry.Parse("plain")->name() == "plain");
  CHECK(Values("tuned") == std::vector<double>{4, 0.5, 2, 1, 1e9, 1});
  CHECK(Values("tuned:share=0.25")[1] == 0.25);
  CHECK(Values("tuned:share=1:size=100") == std::vector<double>{100, 1, 2, 1, 1e9, 1});
}

TEST_CASE("Bare values at the beginning set the first parameters of an item in their order") {
  CHECK(Values("tuned:7")[0] == 7);
  CHECK(Values("tuned:7:share=0")[1] == 0);
  CHECK(Values("tuned:7:0.25:3") == std::vector<double>{7, 0.25, 3, 1, 1e9, 1});
  CHECK(Values("tuned:7:0.25:variant=heap") == std::vector<double>{7, 0.25, 2, 1, 1e9, 0});
}

TEST_CASE("A word stands for its parameter wherever it is") {
  CHECK(Values("tuned:heap")[5] == 0);
  CHECK(Values("tuned:heap:7:0.25") == std::vector<double>{7, 0.25, 2, 1, 1e9, 0});
  CHECK(Values("tuned:7:heap:share=0.25") == std::vector<double>{7, 0.25, 2, 1, 1e9, 0});
  CHECK_THAT(std::string(kRegistry.Parse("tuned:heap:variant=heap").status().message()),
             Catch::Contains("variant is given twice"));
}

TEST_CASE("Parameters take switches, times, words and infinity") {
  CHECK(Values("tuned:prefetch=off")[3] == 0);
  CHECK(Values("tuned:interval=500ms")[4] == 500e6);
  CHECK(Values("tuned:interval=2")[4] == 2e9);
  CHECK(Values("tuned:variant=heap")[5] == 0);
  CHECK(Values("tuned:stack=inf")[2] == kInfinity);
}

TEST_CASE("What a choice writes, its registry reads back") {
  const auto choice =
      *kRegistry.Parse("tuned:9:share=0.125:prefetch=off:stack=inf:variant=heap:interval=20ms");
  CHECK(choice.ToString() ==
        "tuned:size=9:share=0.125:stack=inf:prefetch=off:interval=20ms:variant=heap");
  CHECK(kRegistry.Parse(choice.ToString())->ToString() == choice.ToString());
  CHECK(kRegistry.Named("plain").ToString() == "plain");
}

TEST_CASE("A choice makes what its entry makes of its parameters") {
  CHECK(kRegistry.Named("plain").Make(3) == 3);
  CHECK(kRegistry.Named("tuned:5").Make(3) == 15);
  CHECK(kRegistry.Names() == std::vector<std::string>{"plain", "tuned"});
}

TEST_CASE("A parameter without a default may be absent, and is then not written") {
  CHECK(std::isnan(kChooserRegistry.Named("chooser").values()[0]));
  CHECK(kChooserRegistry.Named("chooser").ToString() == "chooser");
  CHECK(kChooserRegistry.Named("chooser:0.5").ToString() == "chooser:share=0.5");
  for (const char* item : {"chooser:share=2", "chooser:share=nan", "chooser:share=none"}) {
    CHECK_THAT(std::string(kChooserRegistry.Parse(item).status().message()),
               Catch::Contains("must be a number from 0 to 1"));
  }
  CHECK_THAT(std::string(kChooserRegistry.Parse("chooser:size=1").status().message()),
             Catch::Contains("default none"));
}

TEST_CASE("An unknown name is refused with the known ones") {
  CHECK(Error("fancy") == "unknown thing 'fancy'; known: plain, tuned");
  CHECK_THAT(Error(""), Catch::Contains("unknown thing ''"));
}

TEST_CASE("An unknown parameter is refused with the known ones and their ranges") {
  CHECK_THAT(Error("tuned:colour=3"),
             Catch::Contains("no parameter 'colour'") &&
                 Catch::Contains("size (how many: a whole number from 1 to 100, default 4)") &&
                 Catch::Contains("prefetch (whether ahead: on or off, default on)") &&
                 Catch::Contains("interval (how often: a time from 1ms to 3600s, default 1s)") &&
                 Catch::Contains("variant (which: one of heap, array, default array)"));
  CHECK_THAT(Error("plain:size=3"), Catch::Contains("it takes none"));
  CHECK_THAT(Error("plain:3"), Catch::Contains("it takes none"));
  CHECK_THAT(Error("tuned:share=1:4"), Catch::Contains("no parameter '4'"));
  CHECK_THAT(Error("tuned:1:1:1:on:1s:heap:7"), Catch::Contains("no parameter '7'"));
  CHECK_THAT(Error("tuned:3:4"), Catch::Contains("share is '4'"));
}

TEST_CASE("A value outside its range, not whole or of another kind is refused by name") {
  for (const char* item : {"tuned:size=0", "tuned:size=101", "tuned:size=2.5", "tuned:size=x",
                           "tuned:size=", "tuned:size=4k", "tuned:", "tuned:nan", "tuned:inf"}) {
    CHECK_THAT(Error(item), Catch::Contains("tuned: size is '") &&
                                Catch::Contains("must be a whole number from 1 to 100"));
  }
  CHECK_THAT(Error("tuned:share=1.01"), Catch::Contains("a number from 0 to 1"));
  CHECK_THAT(Error("tuned:share=inf"), Catch::Contains("a number from 0 to 1"));
  CHECK_THAT(Error("tuned:prefetch=1"), Catch::Contains("must be on or off"));
  CHECK_THAT(Error("tuned:interval=5d"), Catch::Contains("a time from 1ms to 3600s"));
  CHECK_THAT(Error("tuned:variant=list"), Catch::Contains("one of heap, array"));
}

TEST_CASE("A parameter given twice is refused") {
  CHECK_THAT(Error("tuned:3:size=3"), Catch::Contains("given twice"));
}

}  // namespace
}  // namespace latchkey::choice_grammar_test
