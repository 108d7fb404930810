#include "tools/cli/database_catalog.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "storage/base/testing/temp_dir.h"
#include "tools/cli/file_copy.h"

namespace latchkey::database_catalog_test {
namespace {

namespace fs = std::filesystem;

void Write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

std::string Read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

absl::Status WriteLoad(const std::string& path) {
  fs::create_directories(path + "/sub");
  Write(path + "/data", "loaded");
  Write(path + "/sub/more", "and more");
  return absl::OkStatus();
}

TEST_CASE("A load is made once, and every run begins from a copy of it") {
  const TempDir directory;
  DatabaseCatalog catalog(directory.File("db"));
  int loads = 0;
  const auto load = [&](const std::string& path) {
    ++loads;
    return WriteLoad(path);
  };
  REQUIRE(catalog.Prepare("x", load).ok());
  REQUIRE(catalog.Prepare("x", load).ok());
  CHECK(loads == 1);
  for (int run = 0; run < 2; ++run) {
    const auto path = catalog.Restore("x", nullptr);
    REQUIRE(path.ok());
    CHECK(Read(*path + "/data") == "loaded");
    CHECK(Read(*path + "/sub/more") == "and more");
    Write(*path + "/data", "changed by a run");
    Write(*path + "/new", "made by a run");
  }
  CHECK(Read(catalog.LoadPath("x") + "/data") == "loaded");
  CHECK_FALSE(fs::exists(catalog.LoadPath("x") + "/new"));
  catalog.DiscardRun("x");
  CHECK_FALSE(catalog.HasRun("x"));
  CHECK(catalog.HasLoad("x"));
}

TEST_CASE("A broken load leaves nothing behind and is tried again") {
  const TempDir directory;
  DatabaseCatalog catalog(directory.path().string());
  const absl::Status broken = catalog.Prepare("x", [](const std::string& path) {
    WriteLoad(path).IgnoreError();
    return absl::CancelledError("interrupted");
  });
  CHECK(absl::IsCancelled(broken));
  CHECK_FALSE(catalog.HasLoad("x"));
  CHECK(fs::is_empty(directory.File("x")));
  CHECK(catalog.Prepare("x", WriteLoad).ok());
}

TEST_CASE("An interrupted copy is not taken for a run's database") {
  const TempDir directory;
  DatabaseCatalog catalog(directory.path().string());
  REQUIRE(catalog.Prepare("x", WriteLoad).ok());
  const std::atomic<bool> stop{true};
  const auto restored = catalog.Restore("x", &stop);
  // A file system with reflinks copies at once, so there is no time to interrupt it.
  if (!restored.ok()) CHECK(absl::IsCancelled(restored.status()));
  CHECK(catalog.HasRun("x") == restored.ok());
}

TEST_CASE("Copies keep sizes, contents and holes") {
  const TempDir directory;
  const std::string from = directory.File("from");
  fs::create_directory(from);
  Write(from + "/sparse", "head");
  fs::resize_file(from + "/sparse", 64 << 20);
  Write(from + "/empty", "");
  const std::string to = directory.File("to");
  REQUIRE(CopyDirectory(from, to).ok());
  CHECK(fs::file_size(to + "/sparse") == 64 << 20);
  CHECK(fs::file_size(to + "/empty") == 0);
  std::string head(4, ' ');
  std::ifstream(to + "/sparse").read(head.data(), 4);
  CHECK(head == "head");
  CHECK(*DiskUsage(to) < 1 << 20);
  CHECK_FALSE(CopyDirectory(from, to).ok());  // `to` exists
}

}  // namespace
}  // namespace latchkey::database_catalog_test
