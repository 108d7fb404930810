// Serializable transactions: what a commit is refused for, and what not.
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/txn/testing/toy_tree.h"
#include "storage/base/rng.h"

namespace latchkey::serializable_test {
namespace {

using Value = std::optional<std::string>;

struct Serial {
  ToyTree tree{ThreadRuntime()};
  std::unique_ptr<Txn> Begin() {
    auto txn = std::make_unique<Txn>();
    REQUIRE(tree.Begin(*txn).ok());
    txn->TrackReads();
    return txn;
  }
  void PutNow(const std::string& key, const std::string& value) { tree.PutNow(key, value); }
  void ExpectRefused(Txn& txn) {
    const absl::Status status = tree.Commit(txn);
    CHECK(absl::IsAborted(status));
    CHECK(status.message().find("not serializable") != absl::string_view::npos);
    REQUIRE(txn.active());
    REQUIRE(tree.Rollback(txn).ok());
  }
};

TEST_CASE("write skew is refused to serializable transactions") {
  Serial s;
  s.PutNow("a", "on");
  s.PutNow("b", "on");
  auto first = s.Begin(), second = s.Begin();
  CHECK(s.tree.Get(*first, "a") == "on");
  CHECK(s.tree.Get(*first, "b") == "on");
  CHECK(s.tree.Get(*second, "a") == "on");
  CHECK(s.tree.Get(*second, "b") == "on");
  REQUIRE(s.tree.Put(*first, "a", "off").ok());
  REQUIRE(s.tree.Put(*second, "b", "off").ok());
  REQUIRE(s.tree.Commit(*first).ok());
  s.ExpectRefused(*second);
  CHECK(s.tree.store.stats().serializable_refused == 1);
}

TEST_CASE("a key found missing counts as read, and so does a failed delete") {
  Serial s;
  for (const bool by_delete : {false, true}) {
    auto txn = s.Begin();
    if (by_delete) {
      CHECK(absl::IsNotFound(s.tree.Delete(*txn, "missing 1")));
    } else {
      CHECK(s.tree.Get(*txn, "missing 0") == std::nullopt);
    }
    REQUIRE(s.tree.Put(*txn, "mine", "1").ok());
    s.PutNow(by_delete ? "missing 1" : "missing 0", "here");
    s.ExpectRefused(*txn);
  }
}

TEST_CASE("an insert or a delete in a range that was read is a phantom and refused") {
  const std::string key = GENERATE("b", "bb", "c");
  Serial s;
  s.PutNow("bb", "1");
  auto txn = s.Begin();
  s.tree.snapshots.ForReading(*txn);
  txn->reads()->AddRange(ToyTree::kTree, "b", KeyAfter("c"));
  REQUIRE(s.tree.Put(*txn, "mine", "1").ok());
  s.PutNow(key, "2");
  s.ExpectRefused(*txn);
}

TEST_CASE("changes of what was not read, locks, and rolled-back changes refuse nothing") {
  Serial s;
  s.PutNow("a", "1");
  auto txn = s.Begin();
  CHECK(s.tree.Get(*txn, "a") == "1");
  txn->reads()->AddRange(ToyTree::kTree, "f", "h");
  REQUIRE(s.tree.Put(*txn, "mine", "1").ok());
  s.PutNow("b", "2");
  s.PutNow("h", "2");
  Txn locker, quitter;
  Value value;
  REQUIRE(s.tree.Begin(locker).ok());
  REQUIRE(s.tree.GetForUpdate(locker, "a", &value).ok());
  REQUIRE(s.tree.Commit(locker).ok());
  REQUIRE(s.tree.Begin(quitter).ok());
  REQUIRE(s.tree.Put(quitter, "a", "never").ok());
  const uint64_t savepoint = s.tree.store.SetSavepoint(quitter);
  REQUIRE(s.tree.Put(quitter, "g", "never").ok());
  REQUIRE(s.tree.RollbackTo(quitter, savepoint).ok());
  REQUIRE(s.tree.Rollback(quitter).ok());
  REQUIRE(s.tree.Commit(*txn).ok());
}

TEST_CASE("who writes nothing is never refused") {
  Serial s;
  s.PutNow("a", "1");
  auto txn = s.Begin();
  CHECK(s.tree.Get(*txn, "a") == "1");
  s.PutNow("a", "2");
  CHECK(s.tree.Get(*txn, "a") == "1");
  REQUIRE(s.tree.Commit(*txn).ok());
}

TEST_CASE("own writes do not refuse the transaction that has also read the key") {
  Serial s;
  s.PutNow("a", "1");
  auto txn = s.Begin();
  CHECK(s.tree.Get(*txn, "a") == "1");
  REQUIRE(s.tree.Put(*txn, "a", "2").ok());
  CHECK(s.tree.Get(*txn, "a") == "2");
  REQUIRE(s.tree.Commit(*txn).ok());
}

TEST_CASE("a serializable transaction whose snapshot expired is refused, whatever it read") {
  Serial s;
  s.tree.store.SetBound(64 << 10);
  auto txn = s.Begin();
  CHECK(s.tree.Get(*txn, "a") == std::nullopt);
  REQUIRE(s.tree.Put(*txn, "mine", "1").ok());
  for (int i = 0; i < 300; ++i) s.PutNow("b", "v");
  const absl::Status status = s.tree.Commit(*txn);
  CHECK(absl::IsAborted(status));
  CHECK(status.message().find("snapshot too old") != absl::string_view::npos);
  REQUIRE(s.tree.Rollback(*txn).ok());
}

TEST_CASE("a read set beyond its share is coarsened: more is refused, memory stays bounded") {
  Serial s;
  s.tree.store.SetBound(256 << 10);
  auto txn = s.Begin();
  for (int i = 0; i < 50'000; ++i) s.tree.Get(*txn, std::to_string(i));
  CHECK(s.tree.store.stats().version_bytes <= 256 << 10);
  REQUIRE(s.tree.Put(*txn, "mine", "1").ok());
  s.PutNow("never read", "1");
  s.ExpectRefused(*txn);
  CHECK(s.tree.store.stats().version_bytes <= 2 * sizeof(WriteRecord));
}

TEST_CASE("the hook of a commit runs once, with the timestamp, and not when it is refused") {
  Serial s;
  s.PutNow("a", "1");
  auto txn = s.Begin(), refused = s.Begin();
  CHECK(s.tree.Get(*refused, "a") == "1");
  REQUIRE(s.tree.Put(*refused, "b", "1").ok());
  REQUIRE(s.tree.Put(*txn, "a", "2").ok());
  std::vector<CommitTs> hooked;
  const auto hook = [&](CommitTs ts) { hooked.push_back(ts); };
  const absl::StatusOr<CommitTs> ts = s.tree.store.CommitAndCollect(*txn, hook);
  REQUIRE(ts.ok());
  CHECK(hooked == std::vector<CommitTs>{*ts});
  CHECK(absl::IsAborted(s.tree.store.CommitAndCollect(*refused, hook).status()));
  CHECK(hooked.size() == 1);
  REQUIRE(s.tree.Rollback(*refused).ok());
}

// Every transaction reads all keys and writes the successor of the largest into one of them: in a
// serial order no number is written twice, so that the largest counts the commits.
TEST_CASE("concurrent transactions that read everything and write one key leave a serial result") {
  constexpr int kKeys = 4, kActors = 3, kCommitsEach = 120;
  Serial s;
  const auto key = [](uint64_t i) { return std::string(1, static_cast<char>('a' + i)); };
  for (uint64_t i = 0; i < kKeys; ++i) s.PutNow(key(i), "0");
  std::atomic<int> wrong{0};
  std::vector<std::unique_ptr<Actor>> actors;
  for (int a = 0; a < kActors; ++a) {
    actors.push_back(ThreadRuntime().Spawn("counter", [&, a] {
      Rng rng(static_cast<uint64_t>(a) + 1);
      Backoff backoff(ThreadRuntime());
      for (int done = 0; done < kCommitsEach;) {
        Txn txn;
        LATCHKEY_CHECK(s.tree.Begin(txn).ok());
        txn.TrackReads();
        uint64_t largest = 0;
        for (uint64_t i = 0; i < kKeys; ++i) {
          largest = std::max<uint64_t>(largest, std::stoull(*s.tree.Get(txn, key(i))));
        }
        const std::string target = key(rng.Below(kKeys));
        absl::Status status = s.tree.Put(txn, target, std::to_string(largest + 1));
        if (status.ok()) status = s.tree.Commit(txn);
        if (status.ok()) {
          ++done;
          continue;
        }
        if (!absl::IsAborted(status)) ++wrong;
        LATCHKEY_CHECK(s.tree.Rollback(txn).ok());
        backoff.Pause();
      }
    }));
  }
  for (auto& actor : actors) actor->Join();
  CHECK(wrong == 0);
  uint64_t largest = 0;
  auto last = s.Begin();
  for (uint64_t i = 0; i < kKeys; ++i) {
    largest = std::max<uint64_t>(largest, std::stoull(*s.tree.Get(*last, key(i))));
  }
  REQUIRE(s.tree.Commit(*last).ok());
  CHECK(largest == kActors * kCommitsEach);
}

}  // namespace
}  // namespace latchkey::serializable_test
