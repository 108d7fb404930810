#include "engine/transaction/transaction_commit.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "engine/log/testing/logged_trees.h"

namespace latchkey::transaction_commit_test {
namespace {

// Notes at each request of the garbage collector whether all that is logged is durable.
struct WatchedTrees : LoggedTrees {
  void PurgeGhost(TreeId tree, std::string_view key, CommitTs unneeded_until) override {
    was_durable.push_back(engine_log->durable() >= log.next());
    LoggedTrees::PurgeGhost(tree, key, unneeded_until);
  }
  void FreeOverflow(TreeId tree, std::string_view reference) override {
    was_durable.push_back(engine_log->durable() >= log.next());
    LoggedTrees::FreeOverflow(tree, reference);
  }

  std::vector<bool> was_durable;
};

const std::string kLong(3000, 'x');  // goes to an overflow chain

void Require(const absl::Status& status) {
  if (!status.ok()) FAIL(status.message());
}

TEST_CASE("a commit is durable before its garbage is collected") {
  WatchedTrees db;
  TreeImpl& tree = db.NewTree();
  TransactionImpl txn(db.context);
  Require(txn.Begin());
  Require(txn.Put(tree, "key", kLong));
  Require(txn.Commit());
  CHECK(db.was_durable.empty());
  SECTION("of a deletion") {
    Require(txn.Begin());
    Require(txn.Delete(tree, "key"));
    Require(txn.Commit());
    REQUIRE(db.was_durable.size() == 2);  // the ghost, then the chain
    CHECK(db.was_durable[0]);
  }
  SECTION("of a savepoint") {
    Require(txn.Begin());
    Require(txn.Put(tree, "new", kLong));
    REQUIRE(txn.SetSavepoint().ok());
    Require(txn.Put(tree, "new", "short"));
    CHECK(db.was_durable.empty());
    Require(txn.Commit());
    REQUIRE(db.was_durable.size() == 1);
    CHECK(db.was_durable[0]);
  }
}

TEST_CASE("garbage is collected also after a commit whose outcome is unknown") {
  WatchedTrees db;
  TreeImpl& tree = db.NewTree();
  TransactionImpl txn(db.context);
  Require(txn.Begin());
  Require(txn.Put(tree, "key", "value"));
  Require(txn.Commit());
  Require(txn.Begin());
  Require(txn.Delete(tree, "key"));
  db.log.fail_flushes = true;
  CHECK(absl::IsUnavailable(txn.Commit()));
  CHECK_FALSE(txn.active());
  CHECK(db.was_durable.size() == 1);
  CHECK(db.versions.stats().versions == 0);
}

}  // namespace
}  // namespace latchkey::transaction_commit_test
