#include "tools/campaign/canary/canary_hunt.h"

#include <signal.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "storage/base/testing/temp_dir.h"
#include "tools/campaign/campaign_list.h"
#include "tools/campaign/canary/canary_campaign.h"
#include "tools/campaign/canary/canary_list.h"

namespace latchkey::canary_hunt_test {
namespace {

// A wait status as waitpid returns it.
int Exited(int code) { return code << 8; }
int Signalled(int signal) { return signal; }

// A stand-in for latchkey_campaign: a shell script.
std::string Program(const TempDir& dir, const std::string& script) {
  const std::string path = dir.File("program");
  std::ofstream(path) << "#!/bin/sh\n" << script;
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

HuntResult Judge(const std::string& output, int wait_status) {
  return JudgeHunt(output, wait_status, "states");
}

TEST_CASE("A run that says what is wrong has caught its canary, with the work that it took") {
  const HuntResult result = Judge(
      "starting\nWRONG a\nWRONG b\ncounts: crash runs=1 states=12 seconds=3\n"
      "canary met: 7 times, x\n",
      Exited(1));
  CHECK(result.end == HuntEnd::kMistake);
  CHECK(result.caught());
  CHECK(result.what == "WRONG a");
  CHECK(result.work == 12);
  CHECK(result.met == 7);
}

TEST_CASE("A run that passes has caught nothing, whatever it counts") {
  const HuntResult result = Judge("counts: crash other_states=5\n", Exited(0));
  CHECK(result.end == HuntEnd::kPassed);
  CHECK_FALSE(result.caught());
  CHECK_FALSE(result.work.has_value());
}

TEST_CASE("A broken invariant is a catch, an end from outside, a usage error or silence is none") {
  CHECK(Judge("x.cc:1: broken invariant: a\n", Signalled(SIGABRT)).end == HuntEnd::kCheck);
  CHECK_THAT(Judge("first\nlast\n", Signalled(SIGSEGV)).what, Catch::Contains("last"));
  CHECK_FALSE(Judge("", Signalled(SIGKILL)).caught());
  CHECK_FALSE(Judge("WRONG flags\n", Exited(2)).caught());
  CHECK_FALSE(Judge("no reason\n", Exited(1)).caught());
  CHECK_FALSE(Judge("WRONG but all is well\n", Exited(0)).caught());
}

TEST_CASE("A hunt selects its canary for its process alone") {
  TempDir dir;
  HuntOrder order{.program = Program(dir, "echo \"WRONG $LATCHKEY_CANARY by $1\"; exit 1\n"),
                  .arguments = {"crash"},
                  .canary = "a-bug",
                  .unit = "states"};
  CHECK(Hunt(ThreadRuntime(), order)->what == "WRONG a-bug by crash");
  order.canary.clear();
  CHECK(Hunt(ThreadRuntime(), order)->what == "WRONG  by crash");
}

TEST_CASE("A run without an end is ended, and is no catch") {
  TempDir dir;
  const HuntOrder order{.program = Program(dir, "echo WRONG; exec sleep 1000\n"),
                        .arguments = {},
                        .canary = "a-bug",
                        .unit = "states",
                        .limit = kNanosPerMilli};
  const auto result = Hunt(ThreadRuntime(), order);
  CHECK(result->end == HuntEnd::kTooLong);
  CHECK_FALSE(result->caught());
}

TEST_CASE("A program that cannot be started is an error") {
  TempDir dir;
  const HuntOrder order{
      .program = dir.File("nothing"), .arguments = {}, .canary = {}, .unit = "states"};
  CHECK_FALSE(Hunt(ThreadRuntime(), order).ok());
}

TEST_CASE("A canary is tried on its own net first, then on the others until one catches it") {
  TempDir dir;
  const CanaryOptions options{
      .program = Program(dir,
                         "[ \"$LATCHKEY_CANARY\" = early ] && [ $1 = b ] && echo WRONG && exit 1\n"
                         "[ \"$LATCHKEY_CANARY\" = late ] && [ $1 = c ] && echo WRONG && exit 1\n"
                         "exit 0\n"),
      .jobs = 2};
  const std::vector<CanaryNet> nets = {
      {"first", {"a"}, "states"}, {"second", {"b"}, "states"}, {"third", {"c"}, "states"}};
  const Canary early{"early", "", "second"};
  const Canary late{"late", "", "second"};
  const Canary never{"never", "", "third"};
  const CanaryReport report =
      HuntCanaries(ThreadRuntime(), std::vector{&early, &late, &never}, nets, options);
  CHECK(report.wrong.empty());
  CHECK(report.caught == 2);
  CHECK(report.runs == 3 + 1 + 3 + 3);
  CHECK(report.fates[0].net->name == "second");
  CHECK(report.fates[1].net->name == "third");
  CHECK_FALSE(report.fates[2].result.caught());
}

TEST_CASE("A net that finds mistakes where there are none proves nothing, and is named") {
  TempDir dir;
  const CanaryOptions options{.program = Program(dir, "echo WRONG always; exit 1\n")};
  const std::vector<CanaryNet> nets = {{"jumpy", {"crash"}, "states"}};
  const Canary canary{"x", "", "jumpy"};
  const CanaryReport report = HuntCanaries(ThreadRuntime(), std::vector{&canary}, nets, options);
  REQUIRE(report.wrong.size() == 1);
  CHECK_THAT(report.wrong[0], Catch::Contains("jumpy") && Catch::Contains("WRONG always"));
}

TEST_CASE("The list of canaries has no name twice, and every net that it names exists") {
  std::set<std::string_view> names, nets, verbs;
  for (const CanaryNet& net : CanaryNets()) nets.insert(net.name);
  for (const Campaign& campaign : Campaigns()) verbs.insert(campaign.name);
  for (const CanaryNet& net : CanaryNets()) CHECK(verbs.count(net.arguments.front()) == 1);
  for (const Canary& canary : Canaries()) {
    INFO(canary.name);
    CHECK(names.insert(canary.name).second);
    CHECK(nets.count(canary.net) == 1);
    CHECK(FindCanary(canary.name) == &canary);
  }
  CHECK(Canaries().size() >= 20);
  CHECK(FindCanary("no-such-bug") == nullptr);
}

}  // namespace
}  // namespace latchkey::canary_hunt_test
