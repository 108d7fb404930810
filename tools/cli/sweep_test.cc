#include "tools/cli/sweep.h"

#include <catch2/catch.hpp>

#include "tools/cli/experiment.h"

namespace latchkey::sweep_test {
namespace {

std::optional<std::string> AsItIs(const Combination&, const std::string&, const std::string& v) {
  return v;
}

std::string Describe(const Combination& combination, const std::vector<std::string>& flags) {
  std::string text;
  for (const std::string& flag : flags) {
    text += combination.Has(flag) ? combination.Get(flag) : "-";
    text += ' ';
  }
  return text;
}

TEST_CASE("A sweep is the cross product, the first flag changing slowest") {
  const auto all = ExpandSweep({{"layout", {"lfs", "hylog"}}, {"users", {"1", "2", "3"}}}, AsItIs);
  REQUIRE(all.size() == 6);
  CHECK(Describe(all[0], {"layout", "users"}) == "lfs 1 ");
  CHECK(Describe(all[2], {"layout", "users"}) == "lfs 3 ");
  CHECK(Describe(all[3], {"layout", "users"}) == "hylog 1 ");
}

TEST_CASE("A dimension that an engine does not have is run once and absent") {
  const auto resolve = [](const Combination& so_far, const std::string& flag,
                          const std::string& value) -> std::optional<std::string> {
    if (flag == "layout" && so_far.Get("engine") == "rocksdb") return std::nullopt;
    return value;
  };
  const auto all = ExpandSweep({{"engine", {"latchkey", "rocksdb"}},
                                {"layout", {"overwrite", "lfs", "hylog"}},
                                {"users", {"2", "32"}}},
                               resolve);
  REQUIRE(all.size() == 8);
  CHECK(Describe(all[5], {"engine", "layout", "users"}) == "latchkey hylog 32 ");
  CHECK(Describe(all[6], {"engine", "layout", "users"}) == "rocksdb - 2 ");
  CHECK(Describe(all[7], {"engine", "layout", "users"}) == "rocksdb - 32 ");
}

TEST_CASE("The same value twice is one combination") {
  CHECK(ExpandSweep({{"users", {"2", "2"}}}, AsItIs).size() == 1);
}

TEST_CASE("Repetitions are interleaved: every combination once before any runs again") {
  CHECK(ScheduleInterleaved(2, 3) ==
        std::vector<ScheduledRun>{{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2}});
}

Json Row(double rate, const char* error = nullptr) {
  return {{"rate", rate},
          {"interrupted", false},
          {"error", error == nullptr ? Json(nullptr) : Json(error)},
          {"warnings", Json::array()}};
}

const std::vector<std::string> kFigures = {"/rate"};

TEST_CASE("A repeated sweep gives one row per combination, in the sweep's order") {
  double rate = 0;
  std::vector<size_t> order;
  const SweepOutcome outcome =
      RunSweep(2, 3, kFigures, [&](size_t combination, const std::string&) {
        order.push_back(combination);
        return Row(++rate);
      });
  CHECK(order == std::vector<size_t>{0, 1, 0, 1, 0, 1});
  REQUIRE(outcome.rows.size() == 2);
  CHECK(outcome.rows[0]["rate"] == 3.0);  // of 1, 3, 5
  CHECK(outcome.rows[1]["rate"] == 4.0);  // of 2, 4, 6
  CHECK(ExitCodeOf(outcome) == kExitOk);
}

TEST_CASE("A failed run fails the sweep, but the others have their rows") {
  const SweepOutcome outcome =
      RunSweep(2, 1, kFigures, [&](size_t combination, const std::string&) {
        return combination == 0 ? Row(0, "disk on fire") : Row(5);
      });
  CHECK(ExitCodeOf(outcome) == kExitFailure);
  REQUIRE(outcome.rows.size() == 2);
  CHECK(outcome.rows[0]["error"] == "disk on fire");
  CHECK(outcome.rows[1]["rate"] == 5.0);
}

TEST_CASE("A violated consistency condition has an exit code of its own") {
  const SweepOutcome outcome = RunSweep(1, 1, kFigures, [&](size_t, const std::string&) {
    Json row = Row(1);
    row["consistency"] = {{"checked", {1, 2}}, {"violated", {2}}};
    return row;
  });
  CHECK(ExitCodeOf(outcome) == kExitInconsistent);
}

}  // namespace
}  // namespace latchkey::sweep_test
