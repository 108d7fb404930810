// How much space a database takes on the disk: when it is new, after many writes, after deletes.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "engine/latchkey.h"
#include "layout/testing/layouts_under_test.h"
#include "storage/base/sanitizers.h"
#include "storage/base/testing/temp_dir.h"

namespace latchkey::space_on_disk_test {
namespace {

constexpr uint64_t kMost = uint64_t{2} << 20;
constexpr uint64_t kShorter = kSanitizer ? 4 : 1;

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
  if (kThreadSanitizer && layout != "hylog") return;  // it has the parts of the others
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
  // For the sanitizers the layout that both appends and overwrites.
  if (kSanitizer && layout != "hylog") return;
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

struct Shrunk {
  uint64_t kept = 0;            ///< bytes of the records that are left
  uint64_t open = 0, data = 0;  ///< bytes after the compaction: all files, and the data file
  uint64_t closed = 0;          ///< all files
};

// Makes a database of `records`, deletes 95 % of them, and compacts it.
Shrunk DeleteAndCompact(uint64_t records, bool by_range, Options options) {
  const TempDir dir;
  const std::string path = (dir.path() / "db").string();
  auto db = Database::Open(path, options);
  REQUIRE(db.ok());
  const Tree tree = *(*db)->OpenTree("tree");
  const auto key_of = [](uint64_t i) { return std::to_string(10'000'000 + i); };
  Shrunk shrunk;
  for (uint64_t begin = 0; begin < records; begin += 1000) {
    Transaction txn = (*db)->Begin();
    for (uint64_t i = begin; i < begin + 1000; ++i) {
      // 7919 is prime and divides no number of records here: every key once, in a mixed order.
      const uint64_t number = i * 7919 % records;
      const std::string key = key_of(number), value(100 + number * 31 % 867, 'v');
      REQUIRE(txn.Put(tree, key, value).ok());
      if (by_range ? number < records / 20 : number % 20 == 0) {
        shrunk.kept += key.size() + value.size();
      }
    }
    REQUIRE(txn.Commit().ok());
  }
  if (by_range) {
    REQUIRE((*db)->DeleteRange(tree, {.from = key_of(records / 20), .to = {}}).ok());
  } else {
    for (uint64_t i = 0; i < records; ++i) {
      if (i % 20 != 0) REQUIRE((*db)->Delete(tree, key_of(i)).ok());
    }
  }
  REQUIRE((*db)->Compact().ok());
  shrunk.open = BytesIn(path);
  shrunk.data = SizeOf(path + "/data.lk");
  REQUIRE((*db)->Verify().ok());
  REQUIRE((*db)->Close().ok());
  shrunk.closed = BytesIn(path);
  return shrunk;
}

// The environment may ask for more records: engine/compact/README.md has the sizes for 1 GiB.
TEST_CASE("After deletes of 95 % and a compaction a database takes little more than its records") {
  const bool by_range = GENERATE(true, false);
  CAPTURE(by_range);
  if (kThreadSanitizer) return;  // one user has no races to find
  const char* const asked = std::getenv("LATCHKEY_SPACE_RECORDS");
  const uint64_t records =
      asked != nullptr ? std::strtoull(asked, nullptr, 10) / 1000 * 1000 : 160'000 / kShorter;
  Options options;
  options.durability = Durability::kGroup;
  options.techniques.segment_size = 128 << 10;
  const Shrunk shrunk = DeleteAndCompact(records, by_range, options);
  if (asked != nullptr) {
    WARN("bytes of records " << shrunk.kept << ", files open " << shrunk.open << ", closed "
                             << shrunk.closed << ", of these the data file " << shrunk.data);
  }
  // Full leaves, four fifths of the capacity. 12 segments of reserve, the header, two checkpoints,
  // log and map journal.
  const uint64_t most = shrunk.kept * 14 / 10 + (8 << 20);
  CHECK(shrunk.data < most);
  CHECK(shrunk.closed < most);
  CHECK(shrunk.open < most + (6 << 20));
}

}  // namespace
}  // namespace latchkey::space_on_disk_test
