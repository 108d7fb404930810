#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/latchkey.h"
#include "engine/testing/testing_database.h"
#include "storage/base/racy_memory.h"
#include "storage/base/rng.h"
#include "storage/base/sanitizers.h"
#include "storage/base/testing/temp_dir.h"

namespace latchkey::bulk_load_test {
namespace {

std::unique_ptr<BulkLoader> LoaderOrFail(Database& db, std::string_view name, double fill = 1) {
  absl::StatusOr<std::unique_ptr<BulkLoader>> load = db.NewBulkLoader(name, {.fill = fill});
  if (!load.ok()) FAIL(load.status().message());
  return *std::move(load);
}

using Records = std::map<std::string, std::string>;

Records RandomRecords(Rng& rng, size_t count, size_t longest_key, size_t longest_value) {
  Records records;
  while (records.size() < count) {
    std::string key(rng.Below(longest_key + 1), 'p');
    for (size_t i = key.size() - std::min<size_t>(key.size(), 3 + rng.Below(4)); i < key.size(); ++i) {
      key[i] = static_cast<char>(rng.Next());
    }
    records[key] = std::string(rng.Below(longest_value + 1), static_cast<char>(rng.Next()));
    if (longest_key < 3) --count;
  }
  return records;
}

void CheckHolds(Database& db, Tree tree, const Records& records) {
  Transaction txn = db.Begin();
  Cursor cursor = txn.NewCursor(tree);
  cursor.SeekToFirst();
  for (const auto& [key, value] : records) {
    REQUIRE(cursor.Valid());
    REQUIRE((cursor.key() == key && cursor.value() == value));
    cursor.Next();
  }
  CHECK(!cursor.Valid());
  REQUIRE_OK(cursor.status());
}

Tree Load(Database& db, std::string_view name, const Records& records, double fill = 1) {
  std::unique_ptr<BulkLoader> load = LoaderOrFail(db, name, fill);
  for (const auto& [key, value] : records) REQUIRE_OK(load->Put(key, value));
  CHECK(load->records() == records.size());
  absl::StatusOr<Tree> tree = load->Finish();
  if (!tree.ok()) FAIL(tree.status().message());
  CHECK(absl::IsFailedPrecondition(load->Put("z", "z")));
  CHECK(absl::IsFailedPrecondition(load->Finish().status()));
  return *tree;
}

TEST_CASE("A bulk load of records of every size makes a sound tree that can be changed") {
  const TempDir dir;
  struct Shape {
    size_t count, longest_key, longest_value;
  };
  constexpr size_t kShorter = kThreadSanitizer ? 8 : kSanitizer ? 3 : 1;
  uint64_t seed = 1;
  for (const Durability durability : {Durability::kCommit, Durability::kNone}) {
    for (const uint32_t page_size : {4096u, 16384u}) {
      if (kThreadSanitizer && page_size != 4096) continue;
      Options options;
      options.durability = durability;
      options.page_size = page_size;
      options.cache_bytes = 16 << 20;
      const std::string path =
          dir.path().string() + "/" + std::to_string(page_size) + (durability == Durability::kNone ? "n" : "c");
      auto db = OpenOrFail(path, options);
      std::map<std::string, Records> model;
      for (const auto& [count, longest_key, longest_value] :
           {Shape{0, 9, 9}, Shape{1, 9, 9}, Shape{20'000 / kShorter, 20, 150},
            Shape{3000 / kShorter, 1024, 900}, Shape{3000 / kShorter, 1024, 30},
            Shape{5000 / kShorter, 900, 0}, Shape{60 / kShorter, 30, 300'000}}) {
        for (const double fill : {1.0, 0.5}) {
          Rng rng(++seed);
          const std::string name = "t" + std::to_string(seed);
          INFO("seed " << seed);
          Records& records = model[name];
          records = RandomRecords(rng, count, longest_key, longest_value);
          const Tree tree = Load(*db, name, records, fill);
          CheckHolds(*db, tree, records);
          for (const auto& [key, value] : RandomRecords(rng, std::min<size_t>(count, 300), longest_key,
                                                        std::min<size_t>(longest_value, 5000))) {
            REQUIRE_OK(db->Put(tree, key, value));
            records[key] = value;
          }
          CheckHolds(*db, tree, records);
        }
      }
      REQUIRE_OK(db->Verify());
      REQUIRE_OK(db->Close());
      db = OpenOrFail(path, options);
      for (const auto& [name, records] : model) {
        CheckHolds(*db, *db->OpenTree(name, /*create=*/false), records);
        REQUIRE_OK(db->DropTree(name));
      }
      REQUIRE_OK(db->Verify());
    }
  }
}

TEST_CASE("Keys that share long prefixes load into pages that fit, whichever key comes last") {
  auto db = OpenInMemory();
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    Rng rng(seed);
    Records records;
    std::string prefix;
    for (int i = 0; i < 800; ++i) {
      if (rng.Below(40) == 0) prefix = std::string(rng.Below(1000), static_cast<char>(rng.Next()));
      records[prefix + std::to_string(rng.Below(1000))] = std::string(rng.Below(40), 'v');
    }
    CheckHolds(*db, Load(*db, "t" + std::to_string(seed), records), records);
  }
  REQUIRE_OK(db->Verify());
}

TEST_CASE("A bulk load that is given up leaves no page and no tree") {
  const TempDir dir;
  for (const Durability durability : {Durability::kCommit, Durability::kNone}) {
    Options options;
    options.durability = durability;
    auto db = OpenOrFail(dir.path().string() + (durability == Durability::kNone ? "/n" : "/c"), options);
    Rng rng(2);
    const Records records = RandomRecords(rng, 20'000, 20, 200);
    for (int i = 0; i < 2; ++i) {
      std::unique_ptr<BulkLoader> load = LoaderOrFail(*db, "t");
      for (const auto& [key, value] : records) REQUIRE_OK(load->Put(key, value));
      REQUIRE_OK(load->Put(std::string(30, '\xff'), std::string(100'000, 'v')));
      CHECK(absl::IsNotFound(db->OpenTree("t", /*create=*/false).status()));
    }
    REQUIRE_OK(db->Verify());
    Load(*db, "t", records);
    REQUIRE_OK(db->Verify());
  }
}

TEST_CASE("A database that closes ends its bulk loads") {
  for (const Durability durability : {Durability::kCommit, Durability::kNone}) {
    const TempDir dir;
    Options options;
    options.durability = durability;
    auto db = OpenOrFail(dir.path().string() + "/db", options);
    std::unique_ptr<BulkLoader> load = LoaderOrFail(*db, "t");
    for (int i = 0; i < 9; ++i) REQUIRE_OK(load->Put(std::to_string(i), std::string(5000, 'v')));
    REQUIRE_OK(db->Close());
    CHECK(absl::IsFailedPrecondition(load->Put("x", "v")));
    CHECK(absl::IsFailedPrecondition(load->Finish().status()));
    db.reset();
    load.reset();
    db = OpenOrFail(dir.path().string() + "/db", options);
    CHECK(db->ListTrees().empty());
    REQUIRE_OK(db->Verify());
  }
}

// More than a MiB, so that the load has begun to write: its writer belongs to the store, which the close destroys.
TEST_CASE("A bulk loader may outlive its closed database, whether it has finished or not") {
  const bool finishes = GENERATE(true, false);
  const TempDir dir;
  auto db = OpenOrFail(dir.path().string() + "/db", {});
  std::unique_ptr<BulkLoader> load = LoaderOrFail(*db, "t");
  for (int i = 1000; i < 2000; ++i)
    REQUIRE_OK(load->Put(std::to_string(i), std::string(3000, 'v')));
  if (finishes) REQUIRE_OK(load->Finish().status());
  REQUIRE_OK(db->Close());
  CHECK(absl::IsFailedPrecondition(load->Put("x", "v")));
  db.reset();
  load.reset();
  db = OpenOrFail(dir.path().string() + "/db", {});
  CHECK(db->ListTrees().size() == (finishes ? 1 : 0));
  REQUIRE_OK(db->Verify());
}

TEST_CASE("A bulk load refuses records out of order, and goes on") {
  auto db = OpenInMemory();
  std::unique_ptr<BulkLoader> load = LoaderOrFail(*db, "t");
  REQUIRE_OK(load->Put("b", "1"));
  CHECK(absl::IsInvalidArgument(load->Put("b", "2")));
  CHECK(absl::IsInvalidArgument(load->Put("a", "2")));
  CHECK(absl::IsInvalidArgument(load->Put(std::string(Database::kMaxKeySize + 1, 'c'), "2")));
  REQUIRE_OK(load->Put("c", "2"));
  const absl::StatusOr<Tree> tree = load->Finish();
  REQUIRE_OK(tree.status());
  CheckHolds(*db, *tree, {{"b", "1"}, {"c", "2"}});
}

TEST_CASE("A bulk load refuses a name in use, at its beginning and at its end") {
  auto db = OpenInMemory();
  TreeOrFail(*db, "t");
  CHECK(absl::IsAlreadyExists(db->NewBulkLoader("t").status()));
  CHECK(absl::IsInvalidArgument(db->NewBulkLoader("").status()));
  CHECK(absl::IsInvalidArgument(db->NewBulkLoader("u", {.fill = 0.4}).status()));
  CHECK(absl::IsInvalidArgument(db->NewBulkLoader("u", {.fill = 1.1}).status()));
  std::unique_ptr<BulkLoader> load = LoaderOrFail(*db, "u");
  REQUIRE_OK(load->Put("a", "1"));
  const Tree other = TreeOrFail(*db, "u");
  CHECK(absl::IsAlreadyExists(load->Finish().status()));
  CHECK(absl::IsAlreadyExists(load->Put("b", "1")));
  CheckHolds(*db, other, {});
  REQUIRE_OK(db->Verify());
}

}  // namespace
}  // namespace latchkey::bulk_load_test
