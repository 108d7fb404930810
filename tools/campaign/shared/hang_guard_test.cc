#include "tools/campaign/shared/hang_guard.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <memory>
#include <string>

#include "storage/base/testing/temp_dir.h"
#include "storage/runtime/runtime.h"
#include "tools/campaign/shared/kill_process.h"

namespace latchkey::hang_guard_test {
namespace {

TEST_CASE("A child that does not end says where its threads are, and dies") {
  const TempDir dir;
  const std::string path = dir.File("stderr");
  const auto child = ChildProcess::Start([&]() -> int {
    dup2(open(path.c_str(), O_CREAT | O_WRONLY, 0600), STDERR_FILENO);
    DieIfHung(1);
    const auto sleep = [] {
      for (;;) ThreadRuntime().SleepFor(kNanosPerSecond);
    };
    const auto other = ThreadRuntime().Spawn("sleeper", sleep);
    sleep();
    return 0;
  });
  REQUIRE(child.ok());
  (*child)->WaitForEnd();
  CHECK_FALSE((*child)->ended_well());
  CHECK((*child)->DescribeEnd().starts_with("the child had not ended"));
  std::ifstream printed(path);
  int threads = 0;
  for (std::string line; std::getline(printed, line);) {
    UNSCOPED_INFO(line);
    threads += line == "a thread is in";
  }
  CHECK(threads == 2);
}

}  // namespace
}  // namespace latchkey::hang_guard_test
