#include "engine/txn/version_store.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/txn/testing/toy_tree.h"

namespace latchkey::version_store_test {
namespace {

using Value = std::optional<std::string>;
const std::string kLong(100, 'L');
const std::string kLong2(100, 'M');

struct Fixture {
  ToyTree tree{ThreadRuntime()};

  std::unique_ptr<Txn> Begin() {
    auto txn = std::make_unique<Txn>();
    REQUIRE(tree.Begin(*txn).ok());
    return txn;
  }
  void PutNow(const std::string& key, const std::string& value) { tree.PutNow(key, value); }
  void DeleteNow(const std::string& key) { tree.DeleteNow(key); }
  Value GetNow(const std::string& key) {
    auto txn = Begin();
    const Value value = tree.Get(*txn, key);
    REQUIRE(tree.Commit(*txn).ok());
    return value;
  }
  void CheckQuiet() {
    tree.store.CollectAll();
    const VersionStoreStats stats = tree.store.stats();
    CHECK(stats.versions == 0);
    CHECK(stats.version_bytes == 0);
    CHECK(stats.oldest_snapshot_age == 0);
    CHECK(tree.CountGhosts() == 0);
    CHECK(tree.CountChains() == tree.CountOverflowRecords());
  }
};

TEST_CASE("a commit leaves its garbage, also that of its savepoints, to CollectAfter") {
  Fixture f;
  f.PutNow("a", "1");
  f.PutNow("b", kLong);
  auto txn = f.Begin();
  REQUIRE(f.tree.Delete(*txn, "a").ok());
  REQUIRE(f.tree.Put(*txn, "b", kLong2).ok());
  f.tree.store.SetSavepoint(*txn);
  REQUIRE(f.tree.Put(*txn, "b", "short").ok());
  const auto stamp = [](CommitTs) { return true; };
  const absl::StatusOr<Committed> commit = f.tree.store.TryCommit(*txn, stamp, [] {});
  REQUIRE(commit.ok());
  CHECK(commit->entries == 2);
  CHECK(f.tree.CountGhosts() == 1);
  CHECK(f.tree.CountChains() == 2);
  f.tree.store.CollectAfter(*commit);
  CHECK(f.tree.CountGhosts() == 0);
  CHECK(f.tree.CountChains() == 0);
  f.CheckQuiet();
}

TEST_CASE("a snapshot keeps its values while others overwrite, delete and insert") {
  Fixture f;
  f.PutNow("a", "1");
  f.PutNow("b", kLong);
  auto reader = f.Begin();
  CHECK(f.tree.Get(*reader, "a") == "1");
  f.PutNow("a", "2");
  f.PutNow("a", "3");
  f.PutNow("b", kLong2);
  f.PutNow("c", "new");
  f.DeleteNow("a");
  CHECK(f.tree.Get(*reader, "a") == "1");
  CHECK(f.tree.Get(*reader, "b") == kLong);
  CHECK(f.tree.Get(*reader, "c") == std::nullopt);
  CHECK(f.GetNow("a") == std::nullopt);
  CHECK(f.GetNow("b") == kLong2);
  CHECK(f.GetNow("c") == "new");
  CHECK(f.tree.store.stats().versions > 0);
  REQUIRE(f.tree.Commit(*reader).ok());
  f.CheckQuiet();
}

TEST_CASE("a transaction sees its own writes and others do not until it commits") {
  Fixture f;
  f.PutNow("a", "1");
  auto writer = f.Begin();
  REQUIRE(f.tree.Put(*writer, "a", "2").ok());
  REQUIRE(f.tree.Put(*writer, "b", "2").ok());
  CHECK(f.tree.Get(*writer, "a") == "2");
  CHECK(f.GetNow("a") == "1");
  CHECK(f.GetNow("b") == std::nullopt);
  REQUIRE(f.tree.Delete(*writer, "a").ok());
  CHECK(f.tree.Get(*writer, "a") == std::nullopt);
  CHECK(f.GetNow("a") == "1");
  REQUIRE(f.tree.Commit(*writer).ok());
  CHECK(f.GetNow("a") == std::nullopt);
  CHECK(f.GetNow("b") == "2");
  f.CheckQuiet();
}

TEST_CASE("rollback restores values, absences, ghosts and overflow chains") {
  Fixture f;
  f.PutNow("a", "1");
  f.PutNow("b", kLong);
  f.PutNow("g", "gone");
  auto reader = f.Begin();
  CHECK(f.tree.Get(*reader, "g") == "gone");
  f.DeleteNow("g");
  CHECK(f.tree.CountGhosts() == 1);

  auto writer = f.Begin();
  for (int round = 0; round < 3; ++round) {
    REQUIRE(f.tree.Put(*writer, "a", kLong2).ok());
    REQUIRE(f.tree.Put(*writer, "b", kLong2).ok());
    REQUIRE(f.tree.Put(*writer, "c", kLong2).ok());
    REQUIRE(f.tree.Put(*writer, "g", kLong2).ok());
    REQUIRE(f.tree.Delete(*writer, "b").ok());
  }
  REQUIRE(f.tree.Rollback(*writer).ok());
  CHECK(f.GetNow("a") == "1");
  CHECK(f.GetNow("b") == kLong);
  CHECK(f.GetNow("c") == std::nullopt);
  CHECK(f.GetNow("g") == std::nullopt);
  CHECK(f.tree.Get(*reader, "g") == "gone");
  CHECK(f.tree.Get(*reader, "b") == kLong);
  REQUIRE(f.tree.Commit(*reader).ok());
  f.CheckQuiet();
  CHECK(f.tree.CountRecords() == 2);
  CHECK(f.tree.CountChains() == 1);
}

TEST_CASE("of two that write one key, who saw the older state is aborted") {
  Fixture f;
  f.PutNow("a", "1");
  auto late = f.Begin();
  CHECK(f.tree.Get(*late, "a") == "1");
  f.PutNow("a", "2");
  const absl::Status refused = f.tree.Put(*late, "a", "3");
  CHECK(refused.code() == absl::StatusCode::kAborted);
  CHECK(f.tree.store.stats().conflicts == 1);
  REQUIRE(f.tree.Rollback(*late).ok());
  CHECK(f.GetNow("a") == "2");
  f.CheckQuiet();
}

TEST_CASE("who has read nothing moves its snapshot instead of aborting") {
  Fixture f;
  f.PutNow("a", "1");
  auto txn = f.Begin();
  REQUIRE(f.tree.Put(*txn, "b", "blind").ok());
  f.PutNow("a", "2");
  REQUIRE(f.tree.Put(*txn, "a", "3").ok());
  CHECK(f.tree.Get(*txn, "a") == "3");
  REQUIRE(f.tree.Commit(*txn).ok());
  CHECK(f.GetNow("a") == "3");
  CHECK(f.tree.store.stats().conflicts == 0);
  f.CheckQuiet();
}

TEST_CASE(
    "a locked key reads unchanged, refuses older snapshots and becomes a write when written") {
  Fixture f;
  f.PutNow("a", kLong);
  auto old = f.Begin();
  CHECK(f.tree.Get(*old, "a") == kLong);
  auto txn = f.Begin();
  Value value;
  REQUIRE(f.tree.GetForUpdate(*txn, "a", &value).ok());
  CHECK(value == kLong);
  REQUIRE(f.tree.GetForUpdate(*txn, "missing", &value).ok());
  CHECK(value == std::nullopt);
  CHECK(f.GetNow("a") == kLong);

  SECTION("committed as a lock") {
    REQUIRE(f.tree.Commit(*txn).ok());
    CHECK(f.tree.Get(*old, "a") == kLong);
    CHECK(f.tree.Put(*old, "a", "x").code() == absl::StatusCode::kAborted);
  }
  SECTION("written and committed") {
    REQUIRE(f.tree.Put(*txn, "a", kLong2).ok());
    REQUIRE(f.tree.Put(*txn, "missing", "found").ok());
    CHECK(f.GetNow("a") == kLong);
    REQUIRE(f.tree.Commit(*txn).ok());
    CHECK(f.tree.Get(*old, "a") == kLong);
    CHECK(f.tree.Get(*old, "missing") == std::nullopt);
    CHECK(f.GetNow("a") == kLong2);
  }
  SECTION("written and rolled back") {
    REQUIRE(f.tree.Put(*txn, "a", kLong2).ok());
    REQUIRE(f.tree.Put(*txn, "missing", "found").ok());
    REQUIRE(f.tree.Rollback(*txn).ok());
    CHECK(f.GetNow("a") == kLong);
    CHECK(f.GetNow("missing") == std::nullopt);
  }
  REQUIRE(f.tree.Rollback(*old).ok());
  f.CheckQuiet();
}

TEST_CASE("a ghost goes when the last version of its key goes, whatever came between") {
  Fixture f;
  f.PutNow("a", "1");
  auto reader = f.Begin();
  CHECK(f.tree.Get(*reader, "a") == "1");
  f.DeleteNow("a");

  SECTION("nothing came between") {}
  SECTION("a lock on the ghost, kept past the collection of the delete") {
    auto locker = f.Begin();
    Value value;
    REQUIRE(f.tree.GetForUpdate(*locker, "a", &value).ok());
    REQUIRE(f.tree.Commit(*reader).ok());
    f.tree.store.CollectAll();
    CHECK(f.tree.CountGhosts() == 1);
    REQUIRE(f.tree.Commit(*locker).ok());
    reader = f.Begin();
  }
  SECTION("a lock on the ghost, rolled back") {
    auto locker = f.Begin();
    Value value;
    REQUIRE(f.tree.GetForUpdate(*locker, "a", &value).ok());
    REQUIRE(f.tree.Commit(*reader).ok());
    f.tree.store.CollectAll();
    REQUIRE(f.tree.Rollback(*locker).ok());
    CHECK(f.tree.CountGhosts() == 0);
    reader = f.Begin();
  }
  SECTION("an insert over the ghost, rolled back after the delete was collected") {
    auto writer = f.Begin();
    REQUIRE(f.tree.Put(*writer, "a", "2").ok());
    REQUIRE(f.tree.Commit(*reader).ok());
    f.tree.store.CollectAll();
    REQUIRE(f.tree.Rollback(*writer).ok());
    CHECK(f.tree.CountGhosts() == 0);
    reader = f.Begin();
  }
  SECTION("an insert and another delete") {
    f.PutNow("a", "2");
    f.DeleteNow("a");
  }
  SECTION("an insert and a delete in one transaction") {
    auto writer = f.Begin();
    REQUIRE(f.tree.Put(*writer, "a", "2").ok());
    REQUIRE(f.tree.Delete(*writer, "a").ok());
    REQUIRE(f.tree.Commit(*writer).ok());
  }
  REQUIRE(f.tree.Commit(*reader).ok());
  f.CheckQuiet();
  CHECK(f.tree.CountRecords() == 0);
}

TEST_CASE("with one user every version is collected at its own commit") {
  Fixture f;
  for (int i = 0; i < 100; ++i) {
    f.PutNow(fmt::format("a{}", i % 7), std::to_string(i));
    REQUIRE(f.tree.store.stats().versions == 0);
  }
  const size_t bytes = f.tree.store.bytes();
  for (int i = 0; i < 1000; ++i) f.PutNow(fmt::format("a{}", i % 7), std::to_string(i));
  CHECK(f.tree.store.bytes() == bytes);
  CHECK(f.tree.snapshots.all_visible_below() == f.tree.snapshots.next_txn_id());
}

TEST_CASE("a quiet page answers a single read outside any transaction") {
  Fixture f;
  f.PutNow("a", "1");
  const auto quiet = f.tree.TryFastGet("a");
  REQUIRE(quiet != nullptr);
  CHECK(*quiet == "1");
  auto writer = f.Begin();
  REQUIRE(f.tree.Put(*writer, "a", "2").ok());
  CHECK(f.tree.TryFastGet("a") == nullptr);
  REQUIRE(f.tree.Rollback(*writer).ok());
  f.tree.snapshots.RefreshBounds();
  CHECK(*f.tree.TryFastGet("a") == "1");
}

TEST_CASE("a transaction larger than one collection is collected in pieces") {
  Fixture f;
  auto reader = f.Begin();
  f.tree.Get(*reader, "0");
  auto writer = f.Begin();
  for (int i = 0; i < 5000; ++i) {
    REQUIRE(f.tree.Put(*writer, std::to_string(i), i % 5 == 0 ? kLong : "v").ok());
  }
  REQUIRE(f.tree.Commit(*writer).ok());
  CHECK(f.tree.store.stats().versions == 5000);
  REQUIRE(f.tree.Commit(*reader).ok());
  const uint64_t left = f.tree.store.stats().versions;
  CHECK(left > 0);
  CHECK(left < 5000);
  for (int i = 0; i < 100; ++i) f.PutNow("x", "x");
  CHECK(f.tree.store.stats().versions == 0);
  f.CheckQuiet();
  CHECK(f.GetNow("4999") == "v");
}

TEST_CASE("a failed restore keeps the key readable at its old value and refuses writes") {
  Fixture f;
  f.PutNow("a", "1");
  f.PutNow("b", "1");
  auto writer = f.Begin();
  REQUIRE(f.tree.Put(*writer, "a", "2").ok());
  f.tree.fail_restores = true;
  CHECK(f.tree.Rollback(*writer).code() == absl::StatusCode::kUnavailable);
  CHECK_FALSE(writer->active());
  f.tree.fail_restores = false;
  f.PutNow("b", "2");
  CHECK(f.GetNow("a") == "1");
  f.tree.snapshots.RefreshBounds();
  CHECK(f.tree.TryFastGet("a") == nullptr);
  auto other = f.Begin();
  CHECK(f.tree.Put(*other, "a", "3").code() == absl::StatusCode::kUnavailable);
  REQUIRE(f.tree.Rollback(*other).ok());
}

TEST_CASE("write skew is what snapshot isolation allows") {
  Fixture f;
  f.PutNow("x", "1");
  f.PutNow("y", "1");
  auto first = f.Begin();
  auto second = f.Begin();
  CHECK(f.tree.Get(*first, "y") == "1");
  CHECK(f.tree.Get(*second, "x") == "1");
  REQUIRE(f.tree.Put(*first, "x", "0").ok());
  REQUIRE(f.tree.Put(*second, "y", "0").ok());
  REQUIRE(f.tree.Commit(*first).ok());
  REQUIRE(f.tree.Commit(*second).ok());
  f.CheckQuiet();
}

TEST_CASE("keys with bytes that do not print appear escaped and cut in a conflict's message") {
  Fixture f;
  const std::string key = std::string("k\0\xff", 3) + std::string(100, 'z');
  auto late = f.Begin();
  f.tree.Get(*late, key);
  f.PutNow(key, "1");
  const std::string message(f.tree.Put(*late, key, "2").message());
  CHECK(message.find("k\\x00\\xffzzz") != std::string::npos);
  CHECK(message.size() < 200);
  REQUIRE(f.tree.Rollback(*late).ok());
}

}  // namespace
}  // namespace latchkey::version_store_test
