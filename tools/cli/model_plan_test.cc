#include "tools/cli/model_plan.h"

#include <catch2/catch.hpp>

#include "tools/layout_model/model_report.h"

namespace latchkey::model_plan_test {
namespace {

// The message of the first error; empty: everything is fine.
std::string Refused(const FlagTexts& texts) {
  const auto combinations = ExpandModel(texts);
  if (!combinations.ok()) return std::string(combinations.status().message());
  for (const Combination& combination : *combinations) {
    const auto plan = PlanModel(combination);
    if (!plan.ok()) return std::string(plan.status().message());
  }
  return "";
}

TEST_CASE("Flags of model that are out of range or without effect are refused with the remedy") {
  using Catch::Contains;
  CHECK(Refused({}).empty());
  CHECK(Refused({{"disk", "atlas10k:disks=4,ratio:26.3,flash,fixed:5.6:61"}}).empty());
  CHECK_THAT(Refused({{"disk", "floppy"}}), Contains("no such disk") && Contains("atlas10k"));
  CHECK_THAT(Refused({{"disk", "memory"}}), Contains("takes time"));
  CHECK_THAT(Refused({{"disk", "file"}}), Contains("--measure=FOLDER"));
  CHECK_THAT(Refused({{"disk", "fixed"}}), Contains("mb_s is 0"));
  CHECK_THAT(Refused({{"disk", "atlas10k:raid=raid5"}}), Contains("3 to 1024"));
  CHECK_THAT(Refused({{"disk", "ratio:eta=-1"}}),
             Contains("--disk=ratio:eta=-1: ratio: eta is '-1'"));
  CHECK_THAT(Refused({{"disk", "ratio"}, {"disks", "2"}}), Contains("would be ignored"));
  CHECK_THAT(Refused({{"disk", "flash"}, {"megabyte", "binary"}}), Contains("would be ignored"));
  CHECK_THAT(Refused({{"disk", "rz26"}, {"measure", "."}}), Contains("--measure is the disk"));
  CHECK_THAT(Refused({{"disks", "0"}}), Contains("--disks=0") && Contains("1 to 1024"));
  CHECK_THAT(Refused({{"megabyte", "mebi"}}), Contains("known: thesis, decimal, binary"));
  CHECK_THAT(Refused({{"page-size", "5000"}}), Contains("--page-size=5000"));
  CHECK_THAT(Refused({{"segment-size", "4KiB"}}), Contains("--segment-size=4KiB"));
  CHECK_THAT(Refused({{"segment-size", "100000"}}), Contains("multiple of the page of 8192"));
  CHECK_THAT(Refused({{"space-utilization", "1"}}), Contains("0.01") && Contains("0.999"));
  CHECK_THAT(Refused({{"distribution", "knuth:20:80"}}), Contains("give writes from 80 to 99"));
  CHECK_THAT(Refused({{"distribution", "zipf"}}),
             Contains("--distribution=zipf") && Contains("hill"));
  CHECK_THAT(Refused({{"victim-reads", "half"}}), Contains("overlapped"));
  CHECK_THAT(Refused({{"slots", "8"}}), Contains("known: many, few"));
  CHECK_THAT(Refused({{"protection", "images"}}), Contains("none, doublewrite, twice"));
  CHECK_THAT(Refused({{"compression", "0"}}), Contains("--compression=0") && Contains("0.05"));
  CHECK_THAT(Refused({{"hylog-cleaning", "greedy"}}), Contains("cleaning, cheapest"));
  CHECK_THAT(Refused({{"idle", "1"}}), Contains("0.99"));
  CHECK_THAT(Refused({{"reads-per-write", "-1"}}), Contains("1000"));
}

TEST_CASE("A result of model has the fields that programs read") {
  const auto combinations = ExpandModel({{"disk", "cheetah-x15-36lp"},
                                         {"space-utilization", "0.97"},
                                         {"distribution", "knuth:80:20"}});
  REQUIRE(combinations.ok());
  REQUIRE(combinations->size() == 1);
  auto plan = PlanModel(combinations->front());
  REQUIRE(plan.ok());
  AddPrediction(plan->model, plan->in_ns, plan->row);
  const Json& row = plan->row;
  CHECK(row["disk"] == "cheetah-x15-36lp");
  CHECK(row["page_size"] == 8192);
  CHECK(row["segment_bytes"] == 1 << 20);
  CHECK(row["eta"].get<double>() == Approx(32.769).margin(5e-4));
  CHECK(row["space_utilization"] == 0.97);
  CHECK(row["u"].get<double>() == Approx(.9406).margin(1e-4));
  CHECK(row["cost"]["overwrite"].get<double>() == Approx(32.769).margin(5e-4));
  CHECK(row["cost"]["lfs_cleaning"].get<double>() == Approx(33.67).margin(5e-3));
  CHECK(row["cost"]["lfs_plugging"].get<double>() == Approx(27.28).margin(5e-3));
  CHECK(row["cost"]["hylog"].get<double>() == Approx(12.27).margin(5e-3));  // eta 32.8: 12.28
  CHECK(row["best_hot_proportion"].get<double>() == Approx(.120).margin(1e-3));
  CHECK(row["cheapest"] == "hylog");
  CHECK(row["device_time_us"]["page_write"].get<double>() == Approx(5600 + 8000.0 / 61));
}

TEST_CASE("A disk known by ratios alone has no device times") {
  auto plan = PlanModel(ExpandModel({{"disk", "ratio:26.3"}})->front());
  REQUIRE(plan.ok());
  AddPrediction(plan->model, plan->in_ns, plan->row);
  CHECK(plan->row["device_time_us"].is_null());
  CHECK(plan->row["eta"].get<double>() == Approx(26.3));
}

TEST_CASE("The table of model fits the terminal") {
  const auto combinations =
      ExpandModel({{"disk", "cheetah-x15-36lp,rz26"}, {"distribution", "uniform,hill"}});
  REQUIRE(combinations.ok());
  std::vector<Json> rows;
  for (const Combination& combination : *combinations) {
    auto plan = PlanModel(combination);
    REQUIRE(plan.ok());
    AddPrediction(plan->model, plan->in_ns, plan->row);
    rows.push_back(plan->row);
  }
  std::string line;
  for (const char c : ToTable(rows, ModelColumns())) {
    if (c != '\n') {
      line += c;
      continue;
    }
    CHECK(line.size() <= kTableWidth);
    line.clear();
  }
}

}  // namespace
}  // namespace latchkey::model_plan_test
