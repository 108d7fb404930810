// How much space a database takes on the disk: when it is new, after many writes, after deletes.
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "engine/latchkey.h"
#include "layout/testing/layouts_under_test.h"
#include "storage/base/sanitizers.h"
#include "storage/base/testing/temp_dir.h"

namespace latchkey::space_on_disk_test {
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

uint64_t SizeOf(const std::string& file) { return std::filesystem::file_size(file); }

TEST_CASE("Records rewritten thirty times leave a small log and a small map journal") {
  const std::string layout = GENERATE(from_range(LayoutsUnderTest()));
  CAPTURE(layout);
  // One writer beside the cleaners: for ThreadSanitizer the layout that both appends and overwrites.
  if (kThreadSanitizer && layout != "hylog") return;
  const TempDir dir;
  const std::string path = (dir.path() / "db").string();
  Options options;
  options.durability = Durability::kGroup;
  options.techniques.layout = layout;
  options.techniques.segment_size = 128 << 10;
  uint64_t most = 0;
  for (int open = 0; open < 2; ++open) {
    auto db = Database::Open(path, options);
    REQUIRE(db.ok());
    const Tree tree = *(*db)->OpenTree("tree");
    for (int round = 0; round < 15; ++round) {
      Transaction txn = (*db)->Begin();
      for (int key = 0; key < 1000; ++key) {
        REQUIRE(txn.Put(tree, std::to_string(key), std::string(1000, 'a' + round)).ok());
      }
      REQUIRE(txn.Commit().ok());
    }
    most = std::max(most, SizeOf(path + "/log.lk"));
    REQUIRE((*db)->Close().ok());
    CHECK(SizeOf(path + "/log.lk") == 8192 + 3 * (128 << 10));
    CHECK(SizeOf(path + "/map.lk") <= 8192 + 3 * (64 << 10));
  }
  CHECK(most > 4 << 20);
  auto db = Database::Open(path, options);
  REQUIRE(db.ok());
  std::string value;
  REQUIRE((*db)->Get(*(*db)->OpenTree("tree", false), "999", &value).ok());
  CHECK(value == std::string(1000, 'a' + 14));
}

}  // namespace
}  // namespace latchkey::space_on_disk_test
