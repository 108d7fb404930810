// The bound of the version store: which transaction pays when it is full.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/txn/testing/toy_tree.h"
#include "storage/runtime/simulated_runtime.h"

namespace latchkey::version_bound_test {
namespace {

using Value = std::optional<std::string>;
constexpr uint64_t kBound = 64 << 10;
// Records that have not settled yet, and what is free in the blocks of those that have.
constexpr uint64_t kSlack = 64 << 10;

struct Bounded {
  explicit Bounded(Runtime& runtime = ThreadRuntime()) : tree(runtime) {
    tree.store.SetBound(kBound);
  }

  void PutNow(const std::string& key, const std::string& value) { tree.PutNow(key, value); }
  // About 1 KiB each, of another key: a rewrite of one that no snapshot sees keeps nothing.
  void Churn(int commits) {
    for (int i = 0; i < commits; ++i) {
      const auto first = static_cast<char>('a' + i % 26);
      PutNow(fmt::format("{}{:0950}", first, churned++), "v");
    }
  }
  ToyTree tree;
  int churned = 0;
};

TEST_CASE("the oldest snapshot expires when the store is full, and the next one stays") {
  Bounded b;
  b.PutNow("a", "1");
  Txn oldest, next;
  Value value;
  REQUIRE(b.tree.Begin(oldest).ok());
  REQUIRE(b.tree.Read(oldest, "a", &value).ok());
  b.Churn(40);
  REQUIRE(b.tree.Begin(next).ok());
  REQUIRE(b.tree.Read(next, "a", &value).ok());
  b.Churn(40);
  const absl::Status aged = [&] {
    for (int i = 0; i < 10; ++i) {
      b.Churn(10);
      if (absl::Status read = b.tree.Read(oldest, "a", &value); !read.ok()) return read;
    }
    return absl::OkStatus();
  }();
  CHECK(absl::IsAborted(aged));
  CHECK(aged.message().find("snapshot too old") != absl::string_view::npos);
  CHECK(b.tree.Read(next, "a", &value).ok());
  CHECK(b.tree.store.stats().snapshots_expired == 1);
  CHECK(b.tree.store.stats().version_bytes <= kBound + kSlack);
  REQUIRE(b.tree.Rollback(oldest).ok());
  REQUIRE(b.tree.Commit(next).ok());
}

TEST_CASE("memory stays within the bound behind a snapshot that nobody ends") {
  Bounded b;
  b.PutNow("a", "1");
  Txn forgotten;
  Value value;
  REQUIRE(b.tree.Begin(forgotten).ok());
  REQUIRE(b.tree.Read(forgotten, "a", &value).ok());
  for (int i = 0; i < 100; ++i) {
    b.Churn(20);
    CHECK(b.tree.store.stats().version_bytes <= kBound + kSlack);
  }
  CHECK(b.tree.store.stats().snapshots_expired == 1);
  CHECK(absl::IsAborted(b.tree.Put(forgotten, "zz", "1")));
  REQUIRE(b.tree.Rollback(forgotten).ok());
}

TEST_CASE("a snapshot that is held does not expire") {
  Bounded b;
  b.PutNow("a", "1");
  Txn reader;
  Value value;
  REQUIRE(b.tree.Begin(reader).ok());
  REQUIRE(b.tree.Read(reader, "a", &value).ok());
  {
    const SnapshotHold hold(reader);
    REQUIRE(hold.held());
    b.Churn(300);
    REQUIRE(b.tree.Read(reader, "b", &value).ok());
    CHECK(value == std::nullopt);
  }
  b.Churn(16);
  CHECK(absl::IsAborted(b.tree.Read(reader, "b", &value)));
  REQUIRE(b.tree.Rollback(reader).ok());
}

TEST_CASE("who has read nothing gets a new snapshot instead of an expired one") {
  Bounded b;
  Txn writer;
  Value value;
  REQUIRE(b.tree.Begin(writer).ok());
  REQUIRE(b.tree.Put(writer, "zz", "mine").ok());
  b.PutNow("b", "v");
  b.Churn(300);
  CHECK(b.tree.store.stats().snapshots_expired >= 1);
  REQUIRE(b.tree.Put(writer, "a", "mine too").ok());
  REQUIRE(b.tree.Read(writer, "b", &value).ok());
  CHECK(value == "v");
  REQUIRE(b.tree.Commit(writer).ok());
}

// The check looked whether the snapshot had expired between its search of the entries and its search of
// the settled versions. If the snapshot expired in between, the versions that it was to find were gone,
// and the write replaced what another transaction had committed.
TEST_CASE("a snapshot that expires during a write check does not hide a conflict") {
  constexpr int kKeys = 8;
  const auto key = [](int i) { return fmt::format("key {}", i); };
  const uint64_t seed = GENERATE(range(1, 25));
  CAPTURE(seed);
  SimulatedRuntime runtime(
      {.seed = seed, .preempt_probability = 0.05, .max_preemption = kNanosPerMilli});
  const absl::Status ran = runtime.Run([&] {
    Bounded b(runtime);
    Txn writer;
    Value value;
    REQUIRE(b.tree.Begin(writer).ok());
    REQUIRE(b.tree.Read(writer, key(0), &value).ok());
    const auto others = runtime.Spawn("others", [&] {
      for (int i = 0; i < kKeys; ++i) b.PutNow(key(i), "theirs");
      while (!SnapshotManager::Expired(writer)) b.Churn(1);
    });
    while (b.tree.store.stats().version_bytes < kBound / 2) runtime.SleepFor(1);
    bool refused = true;
    for (int i = 0; refused && !SnapshotManager::Expired(writer); ++i) {
      refused = absl::IsAborted(b.tree.Put(writer, key(i % kKeys), "mine"));
    }
    CHECK(refused);
    others->Join();
    REQUIRE(b.tree.Rollback(writer).ok());
  });
  REQUIRE(ran.ok());
}

TEST_CASE("what an expired transaction has written is still committed or rolled back whole") {
  const bool commit = GENERATE(false, true);
  Bounded b;
  b.PutNow("zz", "old");
  Txn writer;
  Value value;
  REQUIRE(b.tree.Begin(writer).ok());
  REQUIRE(b.tree.Read(writer, "a", &value).ok());
  REQUIRE(b.tree.Put(writer, "zz", "new").ok());
  b.Churn(300);
  CHECK(SnapshotManager::Expired(writer));
  REQUIRE((commit ? b.tree.Commit(writer) : b.tree.Rollback(writer)).ok());
  Txn last;
  REQUIRE(b.tree.Begin(last).ok());
  CHECK(b.tree.Get(last, "zz") == (commit ? "new" : "old"));
  REQUIRE(b.tree.Commit(last).ok());
}

TEST_CASE("a transaction whose undo exceeds the bound is refused, and can be rolled back") {
  Bounded b;
  Txn large;
  REQUIRE(b.tree.Begin(large).ok());
  absl::Status status;
  int written = 0;
  for (; status.ok() && written < 10'000; ++written) {
    status = b.tree.Put(large, fmt::format("key {}", written), "v");
  }
  CHECK(status.code() == absl::StatusCode::kResourceExhausted);
  CHECK(status.message().find("version_store_bytes") != absl::string_view::npos);
  CHECK(b.tree.store.stats().version_bytes <= kBound + 2 * ChunkPool::kChunkBytes);
  b.Churn(20);  // small ones go on
  REQUIRE(b.tree.Rollback(large).ok());
  b.tree.store.CollectAll();
  CHECK(b.tree.CountRecords() == 20);
  CHECK(b.tree.store.stats().version_bytes == 0);
}

TEST_CASE("small transactions that fill the store together are told to run again") {
  Bounded b;
  constexpr size_t kUsers = 60;
  std::vector<std::unique_ptr<Txn>> running(kUsers);
  for (auto& txn : running) {
    txn = std::make_unique<Txn>();
    REQUIRE(b.tree.Begin(*txn).ok());
  }
  std::vector<size_t> refused;
  for (int round = 0; round < 40; ++round) {
    for (size_t user = 0; user < kUsers; ++user) {
      if (running[user] == nullptr) continue;
      const std::string key = fmt::format("user {} key {}", user, round);
      const absl::Status put = b.tree.Put(*running[user], key, "v");
      if (put.ok()) continue;
      INFO(put);
      REQUIRE(absl::IsAborted(put));
      REQUIRE(b.tree.Rollback(*running[user]).ok());
      running[user] = nullptr;
      refused.push_back(user);
    }
  }
  CHECK(!refused.empty());
  CHECK(refused.size() < kUsers);  // rolled back transactions made room for the others
  for (auto& txn : running) {
    if (txn != nullptr) REQUIRE(b.tree.Commit(*txn).ok());
  }
  for (const size_t user : refused) b.PutNow(fmt::format("again {}", user), "v");
}

TEST_CASE("values saved for savepoints count as undo") {
  Bounded b;
  Txn txn;
  REQUIRE(b.tree.Begin(txn).ok());
  const std::string value(20, 'v');
  for (int i = 0; i < 12; ++i) REQUIRE(b.tree.Put(txn, fmt::format("k{}", i), value).ok());
  absl::Status status;
  for (int i = 0; status.ok() && i < 10'000; ++i) {
    b.tree.store.SetSavepoint(txn);
    status = b.tree.Put(txn, "k1", value);
  }
  CHECK(status.code() == absl::StatusCode::kResourceExhausted);
  REQUIRE(b.tree.Rollback(txn).ok());
}

}  // namespace
}  // namespace latchkey::version_bound_test
