// A new database takes little space, with every layout and durability.
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "engine/latchkey.h"
#include "layout/testing/layouts_under_test.h"
#include "storage/base/testing/temp_dir.h"

namespace latchkey {
namespace {

constexpr uint64_t kMost = uint64_t{2} << 20;

uint64_t BytesIn(const std::string& directory) {
  uint64_t bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(directory)) {
    bytes += file.file_size();
  }
  return bytes;
}

void PutOne(Database& db, std::string_view key) {
  auto tree = db.OpenTree("tree");
  REQUIRE(tree.ok());
  REQUIRE(db.Put(*tree, key, "value").ok());
}

TEST_CASE("A database of two records takes at most 2 MiB, open and closed") {
  const std::string layout = GENERATE(from_range(LayoutsUnderTest()));
  const auto durability = GENERATE(Durability::kNone, Durability::kGroup, Durability::kCommit);
  CAPTURE(layout, durability);
  const TempDir dir;
  const std::string path = (dir.path() / "db").string();
  Options options;
  options.durability = durability;
  options.techniques.layout = layout;
  // What is measured on a fast drive; a disk with long seeks gets larger segments.
  options.techniques.segment_size = 128 << 10;
  for (const std::string_view key : {"first", "second", "third"}) {
    auto db = Database::Open(path, options);
    REQUIRE(db.ok());
    PutOne(**db, key);
    CHECK(BytesIn(path) <= kMost);
    REQUIRE((*db)->Close().ok());
    CHECK(BytesIn(path) <= kMost);
  }
}

}  // namespace
}  // namespace latchkey
