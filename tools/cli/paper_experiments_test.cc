#include "tools/cli/paper_experiments.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "storage/base/testing/temp_dir.h"

namespace latchkey::paper_experiments_test {
namespace {

namespace fs = std::filesystem;

fs::path FileAt(const fs::path& path) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << "#";
  return path;
}

TEST_CASE("The papers' experiments are found in a source tree and in an installation") {
  TempDir dir;
  const fs::path root = dir.File("root");
  SECTION("in the source tree, in some folder above the program") {
    const fs::path script = FileAt(root / "tools/experiment");
    CHECK(FindExperimentScript(root / "build/release/tools/latchkey") == script);
  }
  SECTION("in the folder of shared files beside an installed program") {
    const fs::path script = FileAt(root / "share/latchkey/tools/experiment");
    CHECK(FindExperimentScript(root / "bin/latchkey") == script);
  }
  SECTION("a folder of that name is no script") {
    fs::create_directories(root / "tools/experiment");
    CHECK(FindExperimentScript(root / "bin/latchkey") != root / "tools/experiment");
  }
}

}  // namespace
}  // namespace latchkey::paper_experiments_test
