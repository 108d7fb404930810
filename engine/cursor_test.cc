#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "engine/latchkey.h"
#include "engine/testing/testing_database.h"

namespace latchkey::cursor_test {
namespace {

std::string Key(int i) { return fmt::format("key{:05}", i); }

TEST_CASE("a seek beyond the end of its range finds nothing, however many leaves there are") {
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  for (int i = 0; i < 3000; ++i) REQUIRE_OK(db->Put(tree, Key(i), "value"));
  Transaction txn = db->Begin({.read_only = true});
  for (int i = 100; i < 3000; i += 37) {
    Cursor before = txn.NewCursor(tree, {.from = std::nullopt, .to = Key(i / 2)});
    before.Seek(Key(i));
    CHECK_FALSE(before.Valid());
    before.SeekForPrev(Key(i));
    REQUIRE(before.Valid());
    CHECK(before.key() == Key(i / 2 - 1));
    Cursor after = txn.NewCursor(tree, {.from = Key(i), .to = std::nullopt});
    after.SeekForPrev(Key(i / 2));
    CHECK_FALSE(after.Valid());
    after.Seek(Key(i / 2));
    REQUIRE(after.Valid());
    CHECK(after.key() == Key(i));
  }
}

TEST_CASE("a cursor that has the memory of one before it shows its own tree and range") {
  auto db = OpenInMemory();
  const Tree first = TreeOrFail(*db, "first"), second = TreeOrFail(*db, "second");
  for (int i = 0; i < 500; ++i) {
    REQUIRE_OK(db->Put(first, Key(i), "first"));
    REQUIRE_OK(db->Put(second, Key(2 * i), std::string(i == 250 ? 200'000 : 10, 's')));
  }
  Transaction txn = db->Begin();
  for (int i = 0; i < 490; ++i) {
    const bool is_first = i % 3 != 0;
    Cursor cursor = txn.NewCursor(is_first ? first : second, {.from = Key(i), .to = Key(i + 4)});
    CHECK_FALSE(cursor.Valid());
    CHECK(cursor.status().ok());
    if (i % 5 == 0) {  // this cursor has not sought a record yet, though the one before it has
      cursor.Next();
      CHECK(absl::IsFailedPrecondition(cursor.status()));
      continue;
    }
    i % 2 == 0 ? cursor.SeekToFirst() : cursor.SeekToLast();
    const int wanted = is_first ? (i % 2 == 0 ? i : i + 3) : (i % 2 == 0 ? i : i + 3 - (i + 3) % 2);
    REQUIRE(cursor.Valid());
    CHECK(cursor.key() == Key(wanted));
    CHECK(cursor.value().size() == (is_first ? 5 : wanted == 500 ? 200'000 : 10));
  }
  Cursor last = txn.NewCursor(first), moved = txn.NewCursor(second);
  moved = std::move(last);
  REQUIRE_OK(txn.Rollback());
  moved.SeekToFirst();
  CHECK(absl::IsFailedPrecondition(moved.status()));
}

TEST_CASE("a phantom in a range that was walked refuses a serializable commit") {
  const bool forward = GENERATE(true, false);
  const int inserted = GENERATE(5, 11, 15, 25);
  CAPTURE(forward, inserted);
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  for (int i = 0; i <= 30; i += 10) REQUIRE_OK(db->Put(tree, Key(i), "value"));
  Transaction txn = db->Begin({.isolation = Isolation::kSerializable});
  Cursor cursor = txn.NewCursor(tree);
  // From 10 to 20, in one of the two directions.
  forward ? cursor.Seek(Key(10)) : cursor.SeekForPrev(Key(20));
  REQUIRE(cursor.Valid());
  forward ? cursor.Next() : cursor.Prev();
  REQUIRE(cursor.Valid());
  CHECK(cursor.key() == Key(forward ? 20 : 10));
  REQUIRE_OK(txn.Put(tree, "mine", "value"));
  REQUIRE_OK(db->Put(tree, Key(inserted), "phantom"));
  const bool was_walked = inserted > 10 && inserted < 20;
  CHECK(absl::IsAborted(txn.Commit()) == was_walked);
  CHECK(db->GetStatistics().serialization_failures == (was_walked ? 1 : 0));
}

TEST_CASE("a scan to its end has read what comes behind the last key") {
  const bool forward = GENERATE(true, false);
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  REQUIRE_OK(db->Put(tree, Key(10), "value"));
  Transaction txn = db->Begin({.isolation = Isolation::kSerializable});
  Cursor cursor = txn.NewCursor(tree, {.from = Key(5), .to = Key(15)});
  forward ? cursor.SeekToFirst() : cursor.SeekToLast();
  while (cursor.Valid()) forward ? cursor.Next() : cursor.Prev();
  REQUIRE_OK(txn.Put(tree, "mine", "value"));
  REQUIRE_OK(db->Delete(tree, Key(10)));
  REQUIRE_OK(db->Put(tree, Key(15), "outside"));
  CHECK(absl::IsAborted(txn.Commit()));

  Transaction again = db->Begin({.isolation = Isolation::kSerializable});
  Cursor empty = again.NewCursor(tree, {.from = Key(5), .to = Key(15)});
  forward ? empty.SeekToFirst() : empty.SeekToLast();
  CHECK_FALSE(empty.Valid());
  REQUIRE_OK(again.Put(tree, "mine", "value"));
  REQUIRE_OK(db->Put(tree, Key(14), "phantom"));
  CHECK(absl::IsAborted(again.Commit()));
}

TEST_CASE("a read-only transaction refuses writes and goes on reading") {
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  REQUIRE_OK(db->Put(tree, "k", "1"));
  Transaction txn = db->Begin({.read_only = true});
  std::string value;
  REQUIRE_OK(txn.Get(tree, "k", &value));
  for (const absl::Status& refused :
       {txn.Put(tree, "k", "2"), txn.Delete(tree, "k"), txn.Insert(tree, "n", "2"),
        txn.GetForUpdate(tree, "k", &value), txn.SetSavepoint().status()}) {
    CHECK(absl::IsFailedPrecondition(refused));
    CHECK(refused.message().find("read-only") != absl::string_view::npos);
  }
  REQUIRE_OK(db->Put(tree, "k", "2"));
  REQUIRE_OK(txn.Get(tree, "k", &value));
  CHECK(value == "1");
  REQUIRE_OK(txn.Commit());
}

TEST_CASE("savepoints restore small and large values, and leak no page") {
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  const std::string large(20'000, 'L'), larger(30'000, 'M');
  REQUIRE_OK(db->Put(tree, "k", large));
  for (const bool commit : {false, true}) {
    Transaction txn = db->Begin();
    REQUIRE_OK(txn.Put(tree, "k", "small"));
    REQUIRE_OK(txn.Put(tree, "n", larger));
    absl::StatusOr<Savepoint> savepoint = txn.SetSavepoint();
    REQUIRE_OK(savepoint.status());
    REQUIRE_OK(txn.Put(tree, "n", large));
    REQUIRE_OK(txn.Delete(tree, "k"));
    REQUIRE_OK(txn.RollbackTo(*savepoint));
    std::string value;
    REQUIRE_OK(txn.Get(tree, "n", &value));
    CHECK((value == larger));
    REQUIRE_OK(txn.Put(tree, "n", large));
    REQUIRE_OK(txn.Put(tree, "k", larger));
    REQUIRE_OK(commit ? txn.Commit() : txn.Rollback());
    CHECK(absl::IsFailedPrecondition(txn.RollbackTo(*savepoint)));
    REQUIRE_OK(db->Get(tree, "k", &value));
    CHECK((value == (commit ? larger : large)));
    REQUIRE_OK(db->Verify());
  }
}

TEST_CASE("A cursor meets what its transaction puts ahead of it, and not what it puts behind") {
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  for (int i = 0; i < 500; ++i) REQUIRE_OK(db->Put(tree, std::to_string(1000 + i), "old"));
  Transaction txn = db->Begin();
  Cursor row = txn.NewCursor(tree);
  row.SeekToFirst();
  REQUIRE_OK(txn.Put(tree, "0999", "behind"));
  REQUIRE_OK(txn.Put(tree, "1000", "under"));
  REQUIRE_OK(txn.Put(tree, "1000+", "ahead"));
  REQUIRE_OK(txn.Delete(tree, "1001"));
  REQUIRE_OK(txn.Put(tree, "1002", "changed"));
  REQUIRE_OK(txn.Put(tree, "1499", "changed in another leaf"));
  CHECK(row.key() == "1000");
  CHECK(row.value() == "old");  // as of the move
  row.Next();
  CHECK(row.key() == "1000+");
  row.Next();
  CHECK(row.key() == "1002");
  CHECK(row.value() == "changed");
  row.SeekToLast();
  CHECK(row.value() == "changed in another leaf");
  row.SeekToFirst();
  CHECK(row.value() == "behind");
}

TEST_CASE(
    "Loops that change the record of their cursor end, and so do the two ways to move records") {
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  constexpr int kRecords = 700;
  for (int i = 0; i < kRecords; ++i) REQUIRE_OK(db->Put(tree, std::to_string(1000 + i), "old"));
  Transaction txn = db->Begin();
  Cursor row = txn.NewCursor(tree, {.from = std::nullopt, .to = "x"});
  int met = 0;
  for (row.SeekToFirst(); row.Valid(); row.Next(), ++met) {
    REQUIRE_OK(txn.Put(tree, row.key(), std::string(300, 'n')));  // splits leaves
  }
  CHECK(met == kRecords);
  for (row.SeekToLast(); row.Valid(); row.Prev(), --met) {
    if (met % 2 == 0) REQUIRE_OK(txn.Delete(tree, row.key()));
  }
  CHECK(met == 0);
  // Records put ahead of the cursor: behind the end of its range, or after the walk.
  for (row.SeekToFirst(); row.Valid(); row.Next(), ++met) {
    REQUIRE_OK(txn.Put(tree, "x" + std::string(row.key()), row.value()));
  }
  CHECK(met == kRecords / 2);
  std::vector<std::string> keys;
  for (row.SeekToFirst(); row.Valid(); row.Next()) keys.emplace_back(row.key());
  for (const std::string& key : keys) REQUIRE_OK(txn.Put(tree, key + "+", "moved"));
  REQUIRE_OK(txn.Commit());
  CHECK(keys.size() == kRecords / 2);
  REQUIRE_OK(db->Verify());
}

TEST_CASE("The loop that the header warns of meets every record that it puts") {
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  for (int i = 0; i < 10; ++i) REQUIRE_OK(db->Put(tree, std::to_string(i), "v"));
  Transaction txn = db->Begin();
  Cursor row = txn.NewCursor(tree);
  int met = 0;
  for (row.SeekToFirst(); row.Valid() && met < 500; row.Next(), ++met) {
    REQUIRE_OK(txn.Put(tree, "x" + std::string(row.key()), row.value()));
  }
  CHECK(met == 500);
}

}  // namespace
}  // namespace latchkey::cursor_test
