// Files that are read until the user asks the program to stop.
#include "tools/cli/stoppable_file.h"

#include <sys/stat.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>

#include "engine/testing/testing_database.h"
#include "storage/base/testing/temp_dir.h"
#include "storage/runtime/runtime.h"
#include "tools/cli/cachesim_command.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/file_failure.h"
#include "tools/cli/signals.h"
#include "tools/trace/fix_trace.h"
#include "tools/trace/page_trace.h"

namespace latchkey::stoppable_file_test {
namespace {

/// As after a signal, while this lives.
class AskedToStop {
 public:
  AskedToStop() : flag_(const_cast<std::atomic<bool>&>(StopRequested())) { flag_.store(true); }
  ~AskedToStop() { flag_.store(false); }
  AskedToStop(const AskedToStop&) = delete;
  AskedToStop& operator=(const AskedToStop&) = delete;

 private:
  std::atomic<bool>& flag_;
};

std::string PipeIn(const TempDir& dir) {
  std::string path = dir.File("pipe");
  REQUIRE(mkfifo(path.c_str(), S_IRUSR | S_IWUSR) == 0);
  return path;
}

// The open of a pipe waited for its writer, and no signal ended that.
TEST_CASE("If the user asks to stop, the program stops waiting for a pipe that nobody writes") {
  TempDir dir;
  const std::string pipe = PipeIn(dir);
  const AskedToStop stop;
  CHECK(absl::IsCancelled(ReadPageTrace(pipe).status()));
  CHECK(absl::IsCancelled(ReadFixTrace(pipe).status()));
  CHECK(absl::IsCancelled(ReadWholeFile(pipe).status()));
}

TEST_CASE("cachesim that is stopped while it reads writes a result without rows, marked") {
  TempDir dir;
  CacheSimFlags flags;
  flags.traces = PipeIn(dir);
  flags.sizes = "2,3";
  flags.replacement = "lru,clock";
  flags.output.json = dir.File("result.json");
  {
    const AskedToStop stop;
    CHECK(CacheSimCommand(flags) == kExitInterrupted);
  }
  const auto text = ReadWholeFile(flags.output.json);
  REQUIRE_OK(text.status());
  const Json result = Json::parse(*text);
  CHECK(result["interrupted"] == true);
  CHECK(result["combinations_not_run"] == 4);
  CHECK(result["results"].empty());
}

TEST_CASE("A trace comes through a pipe in any pieces") {
  TempDir dir;
  const std::string pipe = PipeIn(dir);
  const auto writer = ThreadRuntime().Spawn("writer", [&] {
    std::FILE* out = std::fopen(pipe.c_str(), "wb");
    // Three requests, so that no piece but the last ends with a request.
    for (const char* piece : {"aaaa", "aaaabb", "bbbbbbaaaa", "aaaa"}) {
      std::fputs(piece, out);
      std::fflush(out);
    }
    std::fclose(out);
  });
  const auto trace = ReadPageTrace(pipe);
  writer->Join();
  REQUIRE_OK(trace.status());
  CHECK(trace->pages == std::vector<uint32_t>{0, 1, 0});
}

}  // namespace
}  // namespace latchkey::stoppable_file_test
