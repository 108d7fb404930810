#include "tools/cli/layout_plan.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace latchkey::layout_plan_test {
namespace {

// The message of the first error; empty: everything is fine.
std::string Refused(const FlagTexts& texts) {
  const auto combinations = ExpandLayout(texts);
  if (!combinations.ok()) return std::string(combinations.status().message());
  PageTraces traces;
  for (const Combination& combination : *combinations) {
    const auto plan = PlanLayout(combination, traces, "lab");
    if (!plan.ok()) return std::string(plan.status().message());
  }
  return "";
}

TEST_CASE("Flags of layout that are out of range or without effect are refused with the remedy") {
  using Catch::Contains;
  CHECK(Refused({}).empty());
  CHECK(Refused({{"disks", "4"}, {"raid", "raid0"}, {"workload", "hotcold:90:10"}}).empty());
  CHECK_THAT(Refused({{"disks", "0"}}), Contains("--disks=0") && Contains("1 to 1024"));
  CHECK_THAT(Refused({{"disks", "2"}, {"raid", "raid5"}}), Contains("3 to 1024"));
  CHECK_THAT(Refused({{"device", "file"}, {"disks", "2"}}), Contains("would be ignored"));
  CHECK_THAT(Refused({{"users", "0"}}), Contains("--users=0") && Contains("1024"));
  CHECK_THAT(Refused({{"segment-size", "1000"}}), Contains("--segment-size=1000"));
  CHECK_THAT(Refused({{"segment-size", "64KiB"}, {"page-size", "65536"}}), Contains("8 pages"));
  CHECK_THAT(Refused({{"space-utilization", "0.99"}}), Contains("0.5") && Contains("0.98"));
  CHECK_THAT(Refused({{"workload", "hotcold:101"}}), Contains("writes is '101'"));
  CHECK_THAT(Refused({{"workload", "trace"}}), Contains("give --trace=FILE"));
  CHECK_THAT(Refused({{"trace", "x"}}), Contains("--workload=trace"));
  CHECK_THAT(Refused({{"durability", "commit"}}), Contains("no transactions"));
  CHECK_THAT(Refused({{"durability", "group"}, {"torn-write-protection", "images"}}),
             Contains("doublewrite or none"));
  CHECK_THAT(Refused({{"torn-write-protection", "none"}}), Contains("--durability=group"));
  CHECK_THAT(Refused({{"layout", "overwrite"}, {"segment-cleaning", "greedy"}}),
             Contains("overwrite cleans no segments"));
  CHECK_THAT(Refused({{"data-size", "1KiB"}}), Contains("--data-size"));
  CHECK_THAT(Refused({{"warmup", "-1"}}), Contains("--warmup"));
}

TEST_CASE("Overwrite runs once, whatever the segment cleanings of the sweep") {
  const auto combinations =
      ExpandLayout({{"layout", "overwrite,lfs"}, {"segment-cleaning", "greedy,cost-benefit"}});
  REQUIRE(combinations.ok());
  CHECK(combinations->size() == 3);
}

TEST_CASE("A row and its label name the segment cleaning that auto stands for") {
  const auto combinations = ExpandLayout({{"layout", "overwrite,wolf,hylog"}});
  REQUIRE(combinations.ok());
  std::vector<std::string> cleanings;
  PageTraces traces;
  for (const Combination& combination : *combinations) {
    const auto plan = PlanLayout(combination, traces, "lab");
    REQUIRE(plan.ok());
    const Json& cleaning = plan->row["segment_cleaning"];
    cleanings.push_back(cleaning.is_null() ? "" : cleaning.get<std::string>());
    const bool is_named = plan->label.find(cleanings.back()) != std::string::npos;
    CHECK((cleaning.is_null() || is_named));
    CHECK(plan->label.find("auto") == std::string::npos);
  }
  CHECK(cleanings == std::vector<std::string>{"", "adaptive", "death-time"});
}

}  // namespace
}  // namespace latchkey::layout_plan_test
