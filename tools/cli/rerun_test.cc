// The words that repeat the run of a result file.
#include "tools/cli/rerun.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>

#include "engine/testing/testing_database.h"
#include "storage/base/testing/temp_dir.h"

namespace latchkey::rerun_test {
namespace {

/// A program with a verb that writes results, and with rerun.
struct Program {
  Program() {
    CLI::App* verb = app.add_subcommand("sweep");
    verb->add_option("--csv", csv);
    verb->add_option("--costs", costs);
    verb->add_option("--policy", policy);
    verb->add_option("FILE", file);
    rerun = app.add_subcommand("rerun");
    AddRerunFlags(*rerun, flags);
  }
  void Parse(std::vector<std::string> words) {
    std::reverse(words.begin(), words.end());  // CLI11 expects the order of a stack
    app.parse(words);
  }

  CLI::App app;
  CLI::App* rerun = nullptr;
  RerunFlags flags;
  std::string csv, costs = "built in", policy, file;
};

using Words = std::vector<std::string>;

TEST_CASE("What repeats a run gives its empty values again, and nothing else in their place") {
  TempDir dir;
  const std::string result = dir.File("result.json");
  std::ofstream(result) << R"({"argv": ["sweep", "--costs=", "--policy=a=", "--csv=", ""],)"
                        << R"( "flags": {}})";
  Program program;
  program.Parse({"rerun", result, "--dry-run"});
  const absl::StatusOr<Words> words = WordsOfRerun(program.app, program.flags, *program.rerun);
  REQUIRE_OK(words.status());
  CHECK(*words == Words{"sweep", "--costs", "", "--policy=a=", "--csv", "", ""});
  CHECK(ShellWords(*words) == "sweep --costs '' --policy=a= --csv '' ''");

  Program again;
  again.file = "none";
  again.Parse(*words);
  CHECK(again.costs.empty());
  CHECK(again.policy == "a=");
  CHECK(again.file.empty());
}

TEST_CASE("An empty value of rerun's own flags is given on") {
  TempDir dir;
  const std::string result = dir.File("result.json");
  std::ofstream(result) << R"({"argv": ["sweep", "--csv=theirs"], "flags": {}})";
  Program program;
  program.Parse({"rerun", result, "--csv", ""});
  const absl::StatusOr<Words> words = WordsOfRerun(program.app, program.flags, *program.rerun);
  REQUIRE_OK(words.status());
  CHECK(*words == Words{"sweep", "--csv", ""});
}

}  // namespace
}  // namespace latchkey::rerun_test
