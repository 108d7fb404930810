// Files that the command line writes.
#include "tools/cli/output.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "engine/testing/testing_database.h"
#include "storage/base/testing/temp_dir.h"
#include "storage/runtime/runtime.h"
#include "tools/cli/db_stream.h"
#include "tools/trace/fix_trace_writer.h"

namespace latchkey::output_test {
namespace {

namespace fs = std::filesystem;

// So the check before a run tries the name that the run will write, and two writers of one file
// cannot pass each other.
TEST_CASE("Results, dumps and traces grow under the name that the check of an output tries") {
  TempDir dir;
  const std::string path = dir.File("out");
  const auto trace = [&] {
    return FixTraceWriter::Create(ThreadRuntime(), path, {.page_size = 4096, .trees = {}}, 1);
  };
  SECTION("while they are written") {
    {
      const auto dump = OpenFileSink(path);
      REQUIRE_OK(dump.status());
      CHECK(fs::exists(PartialOf(path)));
    }
    CHECK(fs::is_empty(dir.path()));
    {
      const auto writer = trace();
      REQUIRE_OK(writer.status());
      CHECK(fs::exists(PartialOf(path)));
    }
    CHECK(fs::is_empty(dir.path()));
  }
  SECTION("so what is in the way there is in the way of all") {
    fs::create_directories(PartialOf(path));
    std::ofstream(PartialOf(path) + "/kept") << "by others";
    CHECK(absl::IsInvalidArgument(CheckOutputFile("json", path)));
    CHECK_FALSE(WriteTextFile(path, "{}").ok());
    CHECK_FALSE(OpenFileSink(path).ok());
    CHECK_FALSE(trace().ok());
    CHECK_FALSE(fs::exists(path));
  }
}

}  // namespace
}  // namespace latchkey::output_test
