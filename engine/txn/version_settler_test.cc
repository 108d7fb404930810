// What committers drop at once beside a long snapshot, and what they must leave.
#include "engine/txn/version_settler.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <optional>
#include <string>

#include "engine/txn/testing/toy_tree.h"

namespace latchkey::version_settler_test {
namespace {

// Commits that make a snapshot a long one and give the table of known writes its memory.
constexpr int kCommitsBefore = SnapshotManager::kCommitsOfLong + 50;

/// A transaction that reads "seen" and then waits while others commit.
struct LongReader {
  ToyTree& tree;
  Txn txn;
  explicit LongReader(ToyTree& read, bool tracks_reads = false) : tree(read) {
    REQUIRE(tree.Begin(txn).ok());
    if (tracks_reads) txn.TrackReads();
    REQUIRE(tree.Get(txn, "seen") == "0");
  }
};

struct Store {
  ToyTree tree{ThreadRuntime()};
  Store() {
    tree.store.SetBound(1 << 20);
    Put("seen", "0");
    Put("other", "0");
  }
  void Put(const std::string& key, const std::string& value) { tree.PutNow(key, value); }
  void Delete(const std::string& key) { tree.DeleteNow(key); }
  void Lock(const std::string& key) {
    Txn txn;
    std::optional<std::string> value;
    REQUIRE(tree.Begin(txn).ok());
    REQUIRE(tree.GetForUpdate(txn, key, &value).ok());
    REQUIRE(tree.Commit(txn).ok());
  }
  // Afterwards it is known that "seen" was written beside the snapshots of before.
  void Age() {
    for (int i = 0; i < kCommitsBefore; ++i) Put("seen", std::to_string(i));
    REQUIRE(tree.snapshots.long_bounds().long_below != 0);
  }
  uint64_t versions() { return tree.store.stats().versions; }
  std::optional<std::string> ReadNow(const std::string& key) {
    Txn txn;
    REQUIRE(tree.Begin(txn).ok());
    std::optional<std::string> value = tree.Get(txn, key);
    REQUIRE(tree.Commit(txn).ok());
    return value;
  }
};

TEST_CASE("the version of a key that was written since the long snapshot goes at once") {
  Store s;
  LongReader reader(s.tree);
  s.Age();
  const uint64_t before = s.versions();
  for (int i = 0; i < 100; ++i) {
    s.Put("seen", fmt::format("again {}", i));
    REQUIRE(s.versions() <= before + 1);
  }
  CHECK(s.tree.Get(reader.txn, "seen") == "0");
  CHECK(s.ReadNow("seen") == "again 99");
  REQUIRE(s.tree.Commit(reader.txn).ok());
}

TEST_CASE("the first version of a key beside a long snapshot stays, and the snapshot sees it") {
  Store s;
  LongReader reader(s.tree);
  s.Age();
  const uint64_t before = s.versions();
  s.Put("other", "1");
  s.Put("other", "2");
  for (int i = 0; i < 100; ++i) s.Put("seen", "again");
  CHECK(s.versions() > before);
  CHECK(s.tree.Get(reader.txn, "other") == "0");
  REQUIRE(s.tree.Commit(reader.txn).ok());
}

TEST_CASE("a version that a short snapshot sees stays beside a long one until both have ended") {
  Store s;
  LongReader reader(s.tree);
  s.Age();
  s.Put("seen", "between");
  Txn brief;
  REQUIRE(s.tree.Begin(brief).ok());
  REQUIRE(s.tree.Get(brief, "seen") == "between");
  for (int i = 0; i < 100; ++i) {
    s.Put("seen", "after");
    REQUIRE(s.tree.Get(brief, "seen") == "between");
  }
  // It has become a long one itself: what is written now, both do without.
  for (int i = 0; i < kCommitsBefore; ++i) s.Put("seen", "after");
  CHECK(s.tree.Get(brief, "seen") == "between");
  const uint64_t kept = s.versions();
  for (int i = 0; i < 100; ++i) {
    s.Put("seen", "later");
    REQUIRE(s.versions() <= kept + 1);
  }
  CHECK(s.tree.Get(brief, "seen") == "between");
  REQUIRE(s.tree.Commit(brief).ok());
  s.Put("seen", "last");
  CHECK(s.tree.Get(reader.txn, "seen") == "0");
  REQUIRE(s.tree.Commit(reader.txn).ok());
}

TEST_CASE("a serializable transaction is checked against commits that a long snapshot lets go") {
  Store s;
  LongReader reader(s.tree);
  s.Age();
  s.Put("seen", "0");
  LongReader serializable(s.tree, /*tracks_reads=*/true);
  REQUIRE(s.tree.Put(serializable.txn, "result", "of 0").ok());
  for (int i = 0; i < 2 * kCommitsBefore; ++i) s.Put("seen", std::to_string(i));
  CHECK(s.tree.Get(serializable.txn, "seen") == "0");
  CHECK(absl::IsAborted(s.tree.Commit(serializable.txn)));
  REQUIRE(s.tree.Rollback(serializable.txn).ok());
  REQUIRE(s.tree.Commit(reader.txn).ok());
}

TEST_CASE("a writer with a long snapshot is refused by writes that left no version, and by locks") {
  Store s;
  LongReader writer(s.tree);
  s.Age();
  s.Lock("other");
  for (int i = 0; i < 100; ++i) s.Put("seen", "again");
  CHECK(absl::IsAborted(s.tree.Put(writer.txn, "seen", "lost update")));
  CHECK(absl::IsAborted(s.tree.Put(writer.txn, "other", "lost update")));
  REQUIRE(s.tree.Rollback(writer.txn).ok());
}

TEST_CASE("a key that comes and goes beside a long snapshot that saw it keeps its ghost") {
  Store s;
  LongReader reader(s.tree);
  s.Age();
  for (int i = 0; i < 100; ++i) {
    s.Delete("seen");
    s.Put("seen", "back");
  }
  s.Delete("seen");
  for (int i = 0; i < 100; ++i) s.Put("other", "x");
  CHECK(s.tree.CountGhosts() == 1);
  CHECK(s.tree.Get(reader.txn, "seen") == "0");
  REQUIRE(s.tree.Commit(reader.txn).ok());
  s.tree.store.CollectAll();
  CHECK(s.tree.CountGhosts() == 0);
  CHECK(s.versions() == 0);
}

TEST_CASE("the chain of a value that no snapshot sees goes with its version, at once") {
  Store s;
  LongReader reader(s.tree);
  s.Age();
  const std::string big(ToyTree::kLongValue, 'v');
  for (int i = 0; i < 100; ++i) {
    s.Put("seen", big + std::to_string(i));
    REQUIRE(s.tree.CountChains() <= 2);  // that of the page, and that of the newest commit
  }
  CHECK(s.tree.Get(reader.txn, "seen") == "0");
  CHECK(s.ReadNow("seen") == big + "99");
  REQUIRE(s.tree.Commit(reader.txn).ok());
}

TEST_CASE("a commit of many entries is left to settling, and loses nothing") {
  Store s;
  LongReader reader(s.tree);
  s.Age();
  Txn large;
  REQUIRE(s.tree.Begin(large).ok());
  for (int i = 0; i < 1500; ++i) REQUIRE(s.tree.Put(large, fmt::format("l{:05}", i), "v").ok());
  REQUIRE(s.tree.Put(large, "seen", "large").ok());
  REQUIRE(s.tree.Commit(large).ok());
  for (int i = 0; i < 100; ++i) s.Put("seen", "again");
  CHECK(s.versions() >= 1500);
  CHECK(s.tree.Get(reader.txn, "seen") == "0");
  CHECK_FALSE(s.tree.Get(reader.txn, "l00700"));
  REQUIRE(s.tree.Commit(reader.txn).ok());
  s.tree.store.CollectAll();
  CHECK(s.versions() == 0);
  CHECK(s.ReadNow("l01499") == "v");
}

TEST_CASE("without memory for the table of known writes versions settle as ever") {
  Store s;
  s.tree.store.SetBound(8 << 10);  // too little for a table
  LongReader reader(s.tree);
  for (int i = 0; i < kCommitsBefore; ++i) s.Put("seen", std::to_string(i));
  CHECK(s.versions() < 100);
  CHECK(s.tree.Get(reader.txn, "seen") == "0");
  REQUIRE(s.tree.Commit(reader.txn).ok());
}

}  // namespace
}  // namespace latchkey::version_settler_test
