// Options and statistics by their names.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "engine/latchkey.h"
#include "engine/option_names.h"

namespace latchkey::named_options_test {
namespace {

std::string Message(std::string_view name, std::string_view value) {
  Options options;
  const absl::Status set = SetOption(name, value, &options);
  CHECK(set.code() == absl::StatusCode::kInvalidArgument);
  return std::string(set.message());
}

const NamedStatistic& Find(const std::vector<NamedStatistic>& statistics, std::string_view name) {
  const auto found = std::find_if(statistics.begin(), statistics.end(),
                                  [&](const NamedStatistic& s) { return s.name == name; });
  REQUIRE(found != statistics.end());
  return *found;
}

}  // namespace

TEST_CASE("Every listed option is set again from the text that lists it") {
  for (const NamedOption& option : ListOptions()) {
    INFO(option.name << "=" << option.value);
    Options options;
    CHECK(SetOption(option.name, option.value, &options).ok());
    CHECK(!option.help.empty());
    const std::vector<NamedOption> again = ListOptions(options);
    CHECK(std::any_of(again.begin(), again.end(), [&](const NamedOption& other) {
      return other.name == option.name && other.value == option.value;
    }));
  }
}

TEST_CASE("An option by name changes the member that it names") {
  Options options;
  CHECK(SetOption("cache-size", "1.5GiB", &options).ok());
  CHECK(options.cache_bytes == (uint64_t{3} << 29));
  CHECK(SetOption("page_size", "8k", &options).ok());
  CHECK(options.page_size == 8192);
  CHECK(SetOption("page-size", "auto", &options).ok());
  CHECK(options.page_size == 0);
  CHECK(SetOption("durability", "group", &options).ok());
  CHECK(options.durability == Durability::kGroup);
  CHECK(SetOption("isolation", "serializable", &options).ok());
  CHECK(options.isolation == Isolation::kSerializable);
  CHECK(SetOption("device", "memory", &options).ok());
  CHECK(options.in_memory_device);
  CHECK(SetOption("replacement", "2q:kin=0.3", &options).ok());
  CHECK(options.techniques.replacement == "2q:kin=0.3");
  CHECK(SetOption("seed", "18446744073709551615", &options).ok());
  CHECK(options.techniques.seed == UINT64_MAX);
}

TEST_CASE("A refused option names value and range, and leaves the options as they were") {
  using Catch::Contains;
  CHECK_THAT(Message("cache-size", "12Q"), Contains("cache-size=12Q") && Contains("1048576"));
  CHECK_THAT(Message("page-size", "5000"), Contains("=5000") && Contains("4096 to 65536, or auto"));
  CHECK_THAT(Message("lock_wait_ms", "0"), Contains("lock-wait-ms=0") && Contains("1 to 3600000"));
  CHECK_THAT(Message("durability", "maybe"), Contains("maybe") && Contains("none, group, commit"));
  CHECK_THAT(Message("replacement", "lur"), Contains("replacement=lur") && Contains("lru"));
  CHECK_THAT(Message("create-if-missing", "1"), Contains("true or false"));
  CHECK_THAT(Message("device", "tape"), Contains("file or memory"));
  CHECK_THAT(Message("cash-size", "1"), Contains("'cash-size'") && Contains("cache-size"));
  Options options;
  CHECK(!SetOption("replacement", "lur", &options).ok());
  CHECK(options.techniques.replacement == Techniques().replacement);
  CHECK(SetOption("seed", "1", nullptr).code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("Statistics by name say what was not measured") {
  Statistics statistics;
  statistics.hits = 7;
  statistics.space_utilization = 0.75;
  const std::vector<NamedStatistic> without = ListStatistics(statistics);
  CHECK(Find(without, "hits").integer == 7);
  CHECK(Find(without, "hits").real == 7);
  CHECK(Find(without, "space_utilization").real == 0.75);
  CHECK(!Find(without, "space_utilization").is_integer);
  CHECK(!Find(without, "write_cost").measured);
  CHECK(!Find(without, "log.records").measured);
  statistics.log = Statistics::Log{.records = 3};
  statistics.recovery = Statistics::Recovery{.redo_s = 0.5};
  const std::vector<NamedStatistic> with = ListStatistics(statistics);
  CHECK(with.size() == without.size());
  CHECK(Find(with, "log.records").integer == 3);
  CHECK(Find(with, "recovery.redo_s").real == 0.5);
}

}  // namespace latchkey::named_options_test
