// The end of a database: what becomes of running transactions, and of calls that come afterwards.
#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/testing/testing_database.h"

namespace latchkey::close_test {
namespace {

void CheckSays(const absl::Status& status, const std::string& part) {
  CHECK(absl::IsFailedPrecondition(status));
  CHECK_THAT(std::string(status.message()), Catch::Contains(part));
}

std::map<std::string, std::string> Contents(Database& db, Tree tree) {
  std::map<std::string, std::string> all;
  Transaction txn = db.Begin();
  Cursor cursor = txn.NewCursor(tree);
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next())
    all.emplace(cursor.key(), cursor.value());
  REQUIRE_OK(cursor.status());
  return all;
}

TEST_CASE("A transaction that runs when the database closes is rolled back, whatever is logged") {
  const Durability durability =
      GENERATE(values({Durability::kNone, Durability::kGroup, Durability::kCommit}));
  const bool by_destruction = GENERATE(false, true);
  TempDir dir;
  Options options;
  options.durability = durability;
  const std::string large(50'000, 'l');
  std::optional<Transaction> first, second, reader;
  std::optional<Cursor> cursor;
  {
    auto db = OpenOrFail(dir.File("db"), options);
    const Tree tree = TreeOrFail(*db, "t"), other = TreeOrFail(*db, "other");
    for (int i = 0; i < 100; ++i) REQUIRE_OK(db->Put(tree, std::to_string(i), "committed"));
    REQUIRE_OK(db->Put(tree, "large", large));
    first.emplace(db->Begin());
    for (int i = 0; i < 50; ++i) REQUIRE_OK(first->Put(tree, std::to_string(i), "uncommitted"));
    REQUIRE_OK(first->Delete(tree, "60"));
    REQUIRE_OK(first->Put(tree, "new", large));
    REQUIRE_OK(first->Put(tree, "large", "short"));
    const auto savepoint = first->SetSavepoint();
    REQUIRE_OK(first->Put(tree, "61", "after a savepoint"));
    second.emplace(db->Begin({.isolation = Isolation::kSerializable}));
    REQUIRE_OK(second->Put(other, "k", "uncommitted"));
    std::string value;
    CHECK(absl::IsNotFound(second->GetForUpdate(tree, "locked", &value)));
    reader.emplace(db->Begin({.read_only = true}));
    cursor.emplace(reader->NewCursor(tree));
    cursor->SeekToFirst();
    if (!by_destruction) REQUIRE_OK(db->Close());
  }
  // The objects outlive the database: they answer, and go.
  std::string value;
  CheckSays(first->Commit(), "closed while it ran");
  CheckSays(first->Get(Tree(), "1", &value), "closed while it ran");
  CheckSays(second->Rollback(), "closed while it ran");
  CheckSays(second->SetSavepoint().status(), "closed while it ran");
  cursor->Next();
  CHECK_FALSE(cursor->Valid());
  CheckSays(cursor->status(), "closed while it ran");
  cursor->SeekToFirst();
  CheckSays(cursor->status(), "closed while it ran");
  first.reset();
  reader.reset();
  cursor.reset();

  auto db = OpenOrFail(dir.File("db"), options);
  const auto contents = Contents(*db, TreeOrFail(*db, "t"));
  CHECK(contents.size() == 101);
  for (const auto& [key, found] : contents) {
    CHECK((found == (key == "large" ? large : "committed")));
  }
  CHECK(Contents(*db, TreeOrFail(*db, "other")).empty());
  REQUIRE_OK(db->Verify());
  CheckSays(second->Put(TreeOrFail(*db, "t"), "k", "v"), "closed while it ran");
}

TEST_CASE("After Close every call is refused, and the path is free") {
  TempDir dir;
  const Durability durability = GENERATE(values({Durability::kNone, Durability::kCommit}));
  Options options;
  options.durability = durability;
  auto db = OpenOrFail(dir.File("db"), options);
  const Tree tree = TreeOrFail(*db, "t");
  REQUIRE_OK(db->Put(tree, "k", "v"));
  const uint64_t commits = db->GetStatistics().commits;
  const std::string device = db->DeviceDescription();
  REQUIRE_OK(db->Close());

  std::string value;
  WriteBatch batch;
  batch.Put(tree, "k", "w");
  CheckSays(db->Get(tree, "k", &value), "the database is closed");
  CheckSays(db->Put(tree, "k", "w"), "the database is closed");
  CheckSays(db->Delete(tree, "k"), "the database is closed");
  CheckSays(db->Write(batch), "the database is closed");
  CheckSays(db->Write(WriteBatch()), "the database is closed");
  CheckSays(db->OpenTree("t").status(), "the database is closed");
  CheckSays(db->DropTree("t"), "the database is closed");
  CheckSays(db->Checkpoint(), "the database is closed");
  CheckSays(db->SetCacheBytes(16 << 20), "the database is closed");
  CheckSays(db->Verify(), "the database is closed");
  Transaction late = db->Begin();
  CheckSays(late.Get(tree, "k", &value), "the database is closed");
  CheckSays(late.Put(tree, "k", "w"), "the database is closed");
  CheckSays(late.Commit(), "the database is closed");
  CheckSays(late.Rollback(), "the database is closed");
  CheckSays(late.SetSavepoint().status(), "the database is closed");
  Cursor cursor = late.NewCursor(tree);
  cursor.SeekToFirst();
  CHECK_FALSE(cursor.Valid());
  CheckSays(cursor.status(), "the database is closed");
  late.Prefetch(tree, {});
  db->ResetStatisticsExtremes();
  CHECK(db->ListTrees().empty());
  CHECK(db->GetStatistics().commits == commits);
  CHECK(db->page_size() == 4096);
  CHECK(db->DeviceDescription() == device);
  REQUIRE_OK(db->Close());

  auto again = OpenOrFail(dir.File("db"), options);
  CheckSays(again->Put(tree, "k", "w"), "of a database that is closed");
  REQUIRE_OK(again->Get(TreeOrFail(*again, "t"), "k", &value));
  CHECK(value == "v");
  db.reset();  // the closed one takes nothing from the open one
  REQUIRE_OK(again->Put(TreeOrFail(*again, "t"), "k", "x"));
  REQUIRE_OK(again->Close());
}

TEST_CASE("A transaction that ended before Close may outlive the database, too") {
  std::optional<Transaction> done;
  std::optional<Cursor> cursor;
  {
    auto db = OpenInMemory();
    const Tree tree = TreeOrFail(*db, "t");
    REQUIRE_OK(db->Put(tree, "k", "v"));
    done.emplace(db->Begin());
    cursor.emplace(done->NewCursor(tree));
    cursor->SeekToFirst();
    REQUIRE_OK(done->Commit());
  }
  CheckSays(done->Rollback(), "the transaction is over");
  CHECK(cursor->key() == "k");  // its own copy
  cursor->Next();
  CheckSays(cursor->status(), "the transaction is over");
}

}  // namespace
}  // namespace latchkey::close_test
