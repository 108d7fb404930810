// Handles that cannot be used: of dropped trees, of other databases, empty ones, objects that were
// moved from. Each call names the mistake and changes nothing.
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/testing/testing_database.h"
#include "storage/runtime/runtime.h"

namespace latchkey::handle_test {
namespace {

void CheckSays(const absl::Status& status, absl::StatusCode code, const std::string& part) {
  CHECK(status.code() == code);
  CHECK_THAT(std::string(status.message()), Catch::Contains(part));
}

// Every call that takes a tree, with one that cannot be used.
void CheckRefused(Database& db, Tree tree, absl::StatusCode code, const std::string& part) {
  std::string value;
  CheckSays(db.Get(tree, "k", &value), code, part);
  CheckSays(db.Put(tree, "k", "v"), code, part);
  CheckSays(db.Delete(tree, "k"), code, part);
  WriteBatch batch;
  batch.Put(tree, "k", "v");
  CheckSays(db.Write(batch), code, part);
  batch.Clear();
  batch.Delete(tree, "k");
  CheckSays(db.Write(batch), code, part);
  Transaction txn = db.Begin();
  CheckSays(txn.Get(tree, "k", &value), code, part);
  CheckSays(txn.GetForUpdate(tree, "k", &value), code, part);
  CheckSays(txn.Put(tree, "k", "v"), code, part);
  CheckSays(txn.Insert(tree, "k", "v"), code, part);
  CheckSays(txn.Delete(tree, "k"), code, part);
  txn.Prefetch(tree, std::vector<std::string_view>{"k"});
  txn.Prefetch(std::vector<std::pair<Tree, std::string_view>>{{tree, "k"}});
  Cursor cursor = txn.NewCursor(tree);
  CheckSays(cursor.status(), code, part);
  cursor.SeekToFirst();
  CHECK_FALSE(cursor.Valid());
  cursor.Next();
  CheckSays(cursor.status(), code, part);
  REQUIRE_OK(txn.Commit());
}

TEST_CASE("A dropped tree's handle is refused by name and writes into no other tree") {
  const Durability durability = GENERATE(values({Durability::kNone, Durability::kCommit}));
  Options options;
  options.durability = durability;
  auto db = OpenInMemory(options);
  const Tree a = TreeOrFail(*db, "a");
  REQUIRE_OK(db->Put(a, "k", "in a"));
  REQUIRE_OK(db->DropTree("a"));
  const Tree b = TreeOrFail(*db, "b");
  CHECK(a.valid());
  CheckRefused(*db, a, absl::StatusCode::kFailedPrecondition, "the tree \"a\" is dropped");
  const Tree again = TreeOrFail(*db, "a");
  CheckRefused(*db, a, absl::StatusCode::kFailedPrecondition, "the tree \"a\" is dropped");
  for (int i = 0; i < 200; ++i) {
    const std::string name = "passing " + std::to_string(i);
    TreeOrFail(*db, name);
    REQUIRE_OK(db->DropTree(name));
  }
  CheckRefused(*db, a, absl::StatusCode::kFailedPrecondition, "the tree \"a\" is dropped");
  std::string value;
  CHECK(absl::IsNotFound(db->Get(b, "k", &value)));
  CHECK(absl::IsNotFound(db->Get(again, "k", &value)));
  REQUIRE_OK(db->Verify());
}

TEST_CASE("A tree of another database is refused by name, living or closed") {
  auto db = OpenInMemory(), other = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "ours"), foreign = TreeOrFail(*other, "theirs");
  CheckRefused(*db, foreign, absl::StatusCode::kFailedPrecondition,
               "the handle to tree \"theirs\" is of another database");
  CheckRefused(*other, tree, absl::StatusCode::kFailedPrecondition,
               "the handle to tree \"ours\" is of another database");
  std::string value;
  CHECK(absl::IsNotFound(db->Get(tree, "k", &value)));
  CHECK(absl::IsNotFound(other->Get(foreign, "k", &value)));
  other.reset();
  CheckRefused(*db, foreign, absl::StatusCode::kFailedPrecondition, "of a database that is closed");
  other = OpenInMemory();
  TreeOrFail(*other, "theirs");
  CheckRefused(*other, foreign, absl::StatusCode::kFailedPrecondition,
               "of a database that is closed");
}

TEST_CASE("An empty Tree and a null output are refused as invalid arguments") {
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  REQUIRE_OK(db->Put(tree, "k", "v"));
  CheckRefused(*db, Tree(), absl::StatusCode::kInvalidArgument, "the Tree handle is empty");
  CheckSays(db->Get(tree, "k", nullptr), absl::StatusCode::kInvalidArgument, "null pointer");
  Transaction txn = db->Begin();
  CheckSays(txn.Get(tree, "k", nullptr), absl::StatusCode::kInvalidArgument, "null pointer");
  CheckSays(txn.GetForUpdate(tree, "k", nullptr), absl::StatusCode::kInvalidArgument,
            "null pointer");
  REQUIRE_OK(db->Put(tree, "k", "not locked"));
}

TEST_CASE("A tree is not dropped while a running transaction holds writes or locks in it") {
  const Durability durability = GENERATE(values({Durability::kNone, Durability::kCommit}));
  Options options;
  options.durability = durability;
  auto db = OpenInMemory(options);
  // More trees than a transaction's slot lists.
  std::vector<Tree> trees;
  for (int i = 0; i < 12; ++i) trees.push_back(TreeOrFail(*db, std::to_string(i)));
  const int end = GENERATE(0, 1, 2, 3);
  {
    Transaction txn = db->Begin();
    std::string value;
    for (size_t i = 0; i < trees.size(); ++i) {
      if (i % 3 == 0) REQUIRE_OK(txn.Put(trees[i], "k", std::string(10'000, 'v')));
      if (i % 3 == 1) REQUIRE_OK(txn.Put(trees[i], "k", "v"));
      if (i % 3 == 2) CHECK(absl::IsNotFound(txn.GetForUpdate(trees[i], "k", &value)));
    }
    for (size_t i = 0; i < trees.size(); ++i) {
      CheckSays(db->DropTree(std::to_string(i)), absl::StatusCode::kFailedPrecondition,
                "the tree \"" + std::to_string(i) + "\" holds writes or locks of a running");
    }
    TreeOrFail(*db, "untouched");
    REQUIRE_OK(db->DropTree("untouched"));
    // A refusal leaves the tree as it was.
    for (const Tree tree : trees) REQUIRE_OK(txn.Put(tree, "another", "v"));
    if (end == 0) REQUIRE_OK(txn.Commit());
    if (end == 1) REQUIRE_OK(txn.Rollback());
    if (end == 2) {
      Transaction taken = db->Begin();
      txn = std::move(taken);
    }
  }
  for (size_t i = 0; i < trees.size(); ++i) {
    std::string value;
    CHECK(db->Get(trees[i], "another", &value).ok() == (end == 0));
    REQUIRE_OK(db->DropTree(std::to_string(i)));
  }
  REQUIRE_OK(db->Verify());
}

TEST_CASE("A transaction and a cursor that have read a tree are told when it is dropped") {
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t"), other = TreeOrFail(*db, "other");
  for (int i = 0; i < 1000; ++i) REQUIRE_OK(db->Put(tree, std::to_string(10'000 + i), "value"));
  Transaction txn = db->Begin({.isolation = Isolation::kSerializable});
  std::string value;
  REQUIRE_OK(txn.Get(tree, "10005", &value));
  Cursor cursor = txn.NewCursor(tree);
  cursor.SeekToFirst();
  REQUIRE(cursor.Valid());
  REQUIRE_OK(db->DropTree("t"));
  const Tree successor = TreeOrFail(*db, "successor");
  REQUIRE_OK(db->Put(successor, "10005", "of another tree"));
  CheckSays(txn.Get(tree, "10005", &value), absl::StatusCode::kFailedPrecondition,
            "\"t\" is dropped");
  CHECK(cursor.key() == "10000");
  cursor.Next();
  CHECK_FALSE(cursor.Valid());
  CheckSays(cursor.status(), absl::StatusCode::kFailedPrecondition, "\"t\" is dropped");
  cursor.Seek("10005");
  CheckSays(cursor.status(), absl::StatusCode::kFailedPrecondition, "\"t\" is dropped");
  REQUIRE_OK(txn.Put(other, "k", "v"));
  REQUIRE_OK(txn.Commit());
  REQUIRE_OK(db->Verify());
}

TEST_CASE("Trees come and go under writers, which are refused or refuse the drop") {
  auto db = OpenInMemory();
  const Tree bystander = TreeOrFail(*db, "bystander");
  REQUIRE_OK(db->Put(bystander, "k", "untouched"));
  std::atomic<bool> stop{false};
  std::atomic<int> unexpected{0};
  std::vector<std::unique_ptr<Actor>> writers;
  for (int w = 0; w < 2; ++w) {
    writers.push_back(ThreadRuntime().Spawn("writer", [&, w] {
      for (int i = 0; !stop; ++i) {
        const auto tree = db->OpenTree("passing");
        if (!tree.ok()) ++unexpected;
        for (int k = 0; tree.ok() && k < 20; ++k) {
          Transaction txn = db->Begin();
          absl::Status done = txn.Put(*tree, std::to_string(w) + std::to_string(k), "value");
          if (done.ok()) done = (i + k) % 2 == 0 ? txn.Commit() : txn.Rollback();
          if (!done.ok() && !absl::IsFailedPrecondition(done) && !absl::IsAborted(done)) {
            ++unexpected;
          }
        }
      }
    }));
  }
  int dropped = 0;
  for (int i = 0; i < 20'000 && dropped < 50; ++i) {
    const absl::Status done = db->DropTree("passing");
    if (done.ok()) ++dropped;
    if (!done.ok() && !absl::IsFailedPrecondition(done) && !absl::IsNotFound(done)) ++unexpected;
    ThreadRuntime().SleepFor(20 * kNanosPerMicro);
  }
  stop = true;
  writers.clear();
  CHECK(dropped > 0);
  CHECK(unexpected == 0);
  std::string value;
  REQUIRE_OK(db->Get(bystander, "k", &value));
  CHECK(value == "untouched");
  REQUIRE_OK(db->Verify());
}

TEST_CASE("Objects that were moved from say so, and those moved to go on") {
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  REQUIRE_OK(db->Put(tree, "k", "v"));
  Transaction txn = db->Begin();
  REQUIRE_OK(txn.Put(tree, "l", "w"));
  Cursor cursor = txn.NewCursor(tree);
  cursor.SeekToFirst();
  Transaction moved = std::move(txn);
  std::string value;
  constexpr auto kCode = absl::StatusCode::kFailedPrecondition;
  CheckSays(txn.Get(tree, "k", &value), kCode, "the Transaction is empty");
  CheckSays(txn.Put(tree, "k", "v"), kCode, "the Transaction is empty");
  CheckSays(txn.Insert(tree, "k", "v"), kCode, "the Transaction is empty");
  CheckSays(txn.Delete(tree, "k"), kCode, "the Transaction is empty");
  CheckSays(txn.GetForUpdate(tree, "k", &value), kCode, "the Transaction is empty");
  CheckSays(txn.NewCursor(tree).status(), kCode, "the Transaction is empty");
  CheckSays(txn.SetSavepoint().status(), kCode, "the Transaction is empty");
  CheckSays(txn.RollbackTo(Savepoint()), kCode, "the Transaction is empty");
  CheckSays(txn.Commit(), kCode, "the Transaction is empty");
  CheckSays(txn.Rollback(), kCode, "the Transaction is empty");
  txn.Prefetch(tree, {});

  Cursor walking = std::move(cursor);
  CHECK_FALSE(cursor.Valid());
  CHECK(cursor.key().empty());
  CHECK(cursor.value().empty());
  cursor.SeekToFirst();
  cursor.Next();
  CheckSays(cursor.status(), kCode, "the Cursor is empty");
  walking.Next();
  CHECK(walking.key() == "l");
  cursor = std::move(walking);
  CHECK(cursor.key() == "l");
  REQUIRE_OK(moved.Commit());
  txn = db->Begin();
  REQUIRE_OK(txn.Get(tree, "l", &value));
  CHECK(value == "w");
}

TEST_CASE("A transaction that another is moved over is rolled back, though its cursor lives on") {
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  std::optional<Cursor> cursor;
  {
    Transaction txn = db->Begin();
    REQUIRE_OK(txn.Put(tree, "k", "uncommitted"));
    cursor.emplace(txn.NewCursor(tree));
    cursor->SeekToFirst();
    CHECK(cursor->key() == "k");
    txn = db->Begin();
    REQUIRE_OK(db->Put(tree, "k", "committed"));  // nothing holds the key
  }
  cursor->Next();
  CheckSays(cursor->status(), absl::StatusCode::kFailedPrecondition, "the transaction is over");
  cursor->SeekToLast();
  CHECK_FALSE(cursor->Valid());
  CheckSays(cursor->status(), absl::StatusCode::kFailedPrecondition, "the transaction is over");
}

TEST_CASE("A cursor that stands on no record names that, and finds one again") {
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  for (int i = 0; i < 300; ++i) REQUIRE_OK(db->Put(tree, std::to_string(1000 + i), "value"));
  Transaction txn = db->Begin();
  Cursor cursor = txn.NewCursor(tree);
  constexpr auto kCode = absl::StatusCode::kFailedPrecondition;
  const auto check_nowhere = [&] {
    CHECK_FALSE(cursor.Valid());
    CHECK(cursor.key().empty());
    CHECK(cursor.value().empty());
    REQUIRE_OK(cursor.status());
    for (int i = 0; i < 3; ++i) {
      i % 2 == 0 ? cursor.Next() : cursor.Prev();
      CHECK_FALSE(cursor.Valid());
      CheckSays(cursor.status(), kCode, "the cursor is not on a record");
    }
  };
  check_nowhere();  // before the first seek
  cursor.SeekToLast();
  cursor.Next();
  check_nowhere();
  cursor.SeekToFirst();
  cursor.Prev();
  check_nowhere();
  cursor.Seek(std::string(100'000, 'x'));  // longer than any key
  check_nowhere();
  cursor.SeekForPrev(std::string(100'000, 'x'));
  REQUIRE(cursor.Valid());
  CHECK(cursor.key() == "1299");
  cursor.Seek(std::string("1100") + std::string(5'000, '\0'));
  REQUIRE(cursor.Valid());
  CHECK(cursor.key() == "1101");
  Cursor odd = txn.NewCursor(tree, {.from = std::string(2'000, '2'), .to = "1"});
  for (const bool forward : {true, false}) {
    forward ? odd.SeekToFirst() : odd.SeekToLast();
    CHECK_FALSE(odd.Valid());
    REQUIRE_OK(odd.status());
  }
}

TEST_CASE("A savepoint serves its own transaction only") {
  auto db = OpenInMemory(), other_db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t"), other_tree = TreeOrFail(*other_db, "t");
  Transaction txn = db->Begin(), sibling = db->Begin(), other = other_db->Begin();
  REQUIRE_OK(txn.Put(tree, "k", "v"));
  REQUIRE_OK(other.Put(other_tree, "k", "v"));
  const Savepoint point = *txn.SetSavepoint();
  const Savepoint foreign = *other.SetSavepoint();
  REQUIRE_OK(other.Put(other_tree, "k", "w"));
  CHECK(absl::IsInvalidArgument(txn.RollbackTo(foreign)));
  CHECK(absl::IsInvalidArgument(other.RollbackTo(point)));
  CHECK(absl::IsInvalidArgument(sibling.RollbackTo(point)));
  CHECK(absl::IsInvalidArgument(txn.RollbackTo(Savepoint())));
  REQUIRE_OK(txn.RollbackTo(point));
  REQUIRE_OK(txn.Commit());
  CHECK(absl::IsFailedPrecondition(txn.RollbackTo(point)));
  txn = db->Begin();
  CHECK(absl::IsInvalidArgument(txn.RollbackTo(point)));
  std::string value;
  REQUIRE_OK(other.Get(other_tree, "k", &value));
  CHECK(value == "w");
}

TEST_CASE("Too many transactions at once: those that could not begin say why") {
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  std::vector<Transaction> running;
  for (int i = 0; i < 4096; ++i) running.push_back(db->Begin());
  Transaction refused = db->Begin();
  std::string value;
  CheckSays(refused.Get(tree, "k", &value), absl::StatusCode::kResourceExhausted, "4096");
  CheckSays(refused.Commit(), absl::StatusCode::kResourceExhausted, "4096");
  running.pop_back();
  REQUIRE_OK(db->Put(tree, "k", "v"));
}

}  // namespace
}  // namespace latchkey::handle_test
