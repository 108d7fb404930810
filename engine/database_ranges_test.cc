#include <catch2/catch.hpp>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/latchkey.h"
#include "engine/testing/testing_database.h"
#include "storage/base/rng.h"
#include "storage/base/sanitizers.h"
#include "storage/base/testing/temp_dir.h"
#include "storage/runtime/runtime.h"

namespace latchkey::database_ranges_test {
namespace {

std::string Key(uint64_t number) { return KeyWriter().UInt(number).key(); }

Options Logged(Durability durability = Durability::kCommit) {
  Options options;
  options.durability = durability;
  return options;
}

TEST_CASE("RunTransaction runs an aborted body again until it commits") {
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  REQUIRE_OK(db->Put(tree, "n", "0"));
  constexpr int kThreads = 4, kRounds = 50;
  std::vector<std::unique_ptr<Actor>> threads;
  std::vector<absl::Status> ends(kThreads);  // Catch2's assertions are for one thread
  for (int t = 0; t < kThreads; ++t) {
    threads.push_back(ThreadRuntime().Spawn("user", [&, t] {
      for (int i = 0; i < kRounds; ++i) {
        ends[t].Update(db->RunTransaction([&](Transaction& txn) -> absl::Status {
          std::string value;
          if (absl::Status read = txn.Get(tree, "n", &value); !read.ok()) return read;
          return txn.Put(tree, "n", std::to_string(std::stoi(value) + 1));
        }));
      }
    }));
  }
  for (const std::unique_ptr<Actor>& thread : threads) thread->Join();
  for (const absl::Status& end : ends) REQUIRE_OK(end);
  std::string value;
  REQUIRE_OK(db->Get(tree, "n", &value));
  CHECK(value == std::to_string(kThreads * kRounds));
}

TEST_CASE("RunTransaction gives up after the attempts it was allowed, and returns other errors") {
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  int attempts = 0;
  const auto aborted = [&](Transaction&) {
    ++attempts;
    return absl::AbortedError("again");
  };
  CHECK(absl::IsAborted(db->RunTransaction(aborted, {.begin = {}, .commit = {}, .most_attempts = 3})));
  CHECK(attempts == 3);
  attempts = 0;
  CHECK(absl::IsNotFound(db->RunTransaction([&](Transaction& txn) -> absl::Status {
    ++attempts;
    REQUIRE_OK(txn.Put(tree, "a", "1"));
    return absl::NotFoundError("mine");
  })));
  CHECK(attempts == 1);
  std::string value;
  CHECK(absl::IsNotFound(db->Get(tree, "a", &value)));  // it was rolled back
  CHECK(absl::IsFailedPrecondition(db->RunTransaction(
      [&](Transaction& txn) { return txn.Rollback(); })));  // its commit finds it over
}

TEST_CASE("MultiGet reads every key of one snapshot, in the order asked for") {
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  for (uint64_t i = 0; i < 2000; i += 2) REQUIRE_OK(db->Put(tree, Key(i), std::to_string(i)));
  std::vector<std::string> names;
  Rng rng(1);
  for (int i = 0; i < 900; ++i) names.push_back(Key(rng.Below(2000)));
  const std::vector<std::string_view> keys(names.begin(), names.end());
  std::vector<std::optional<std::string>> values;
  Transaction txn = db->Begin();
  std::string first;
  REQUIRE_OK(txn.Get(tree, Key(0), &first));
  REQUIRE_OK(db->Put(tree, Key(1), "later"));
  for (const bool in_transaction : {true, false}) {
    REQUIRE_OK(in_transaction ? txn.MultiGet(tree, keys, &values)
                              : db->MultiGet(tree, keys, &values));
    REQUIRE(values.size() == keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      uint64_t number = 0;
      REQUIRE_OK(KeyReader(keys[i]).UInt(&number));
      if (number == 1 && !in_transaction) {
        CHECK(values[i] == "later");
      } else if (number % 2 == 0) {
        CHECK(values[i] == std::to_string(number));
      } else {
        CHECK(!values[i].has_value());
      }
    }
  }
  CHECK(absl::IsInvalidArgument(db->MultiGet(tree, keys, nullptr)));
  CHECK(absl::IsInvalidArgument(db->MultiGet(Tree(), keys, &values)));
  const std::string too_long(Database::kMaxKeySize + 1, 'k');
  CHECK(absl::IsInvalidArgument(db->MultiGet(tree, std::vector<std::string_view>{too_long}, &values)));
}

TEST_CASE("A commit chooses its durability, and Sync makes what was committed durable") {
  auto db = OpenInMemory(Logged());
  const Tree tree = TreeOrFail(*db, "t");
  const auto put = [&](const char* key, std::optional<Durability> durability) {
    Transaction txn = db->Begin();
    REQUIRE_OK(txn.Put(tree, key, "v"));
    REQUIRE_OK(txn.Commit({.durability = durability}));
  };
  const auto syncs = [&] { return db->GetStatistics().log->syncs; };
  uint64_t before = syncs();
  for (int i = 0; i < 10; ++i) put("none", Durability::kNone);
  CHECK(syncs() == before);
  put("default", std::nullopt);
  CHECK(syncs() > before);
  put("group", Durability::kGroup);  // its flusher starts now
  before = syncs();
  put("none", Durability::kNone);
  REQUIRE_OK(db->Sync());
  CHECK(syncs() > before);
  WriteBatch batch;
  batch.Put(tree, "batch", "v");
  before = syncs();
  REQUIRE_OK(db->Write(batch, {.durability = Durability::kCommit}));
  CHECK(syncs() > before);
}

TEST_CASE("Without a log no commit can promise durability, and the transaction goes on") {
  auto db = OpenInMemory(Logged(Durability::kNone));
  const Tree tree = TreeOrFail(*db, "t");
  Transaction txn = db->Begin();
  REQUIRE_OK(txn.Put(tree, "a", "1"));
  CHECK(absl::IsFailedPrecondition(txn.Commit({.durability = Durability::kCommit})));
  CHECK(absl::IsFailedPrecondition(txn.Commit({.durability = Durability::kGroup})));
  REQUIRE_OK(txn.Commit({.durability = Durability::kNone}));
  CHECK(absl::IsFailedPrecondition(db->Sync()));
}

TEST_CASE("A renamed tree keeps its records and handles, and its new name after a reopen") {
  const TempDir dir;
  for (const Durability durability : {Durability::kCommit, Durability::kNone}) {
    const std::string path = dir.path().string() + (durability == Durability::kNone ? "/n" : "/c");
    auto db = OpenOrFail(path, Logged(durability));
    // So many names that some renames change two leaves of the catalogue.
    for (int i = 0; i < 150; ++i) TreeOrFail(*db, std::to_string(i) + std::string(40, 'x'));
    const Tree tree = TreeOrFail(*db, "old");
    REQUIRE_OK(db->Put(tree, "a", "1"));
    Transaction txn = db->Begin();
    REQUIRE_OK(txn.Put(tree, "b", "2"));
    for (int i = 0; i < 40; ++i) {
      REQUIRE_OK(db->RenameTree(i == 0 ? "old" : "n" + std::to_string(i - 1),
                                "n" + std::to_string(i)));
    }
    REQUIRE_OK(db->RenameTree("n39", "0"));
    REQUIRE_OK(db->RenameTree("0", "zz"));
    REQUIRE_OK(txn.Commit());
    CHECK(absl::IsNotFound(db->RenameTree("old", "new")));
    CHECK(absl::IsAlreadyExists(db->RenameTree("zz", "1" + std::string(40, 'x'))));
    CHECK(absl::IsAlreadyExists(db->RenameTree("zz", "zz")));
    CHECK(absl::IsInvalidArgument(db->RenameTree("zz", "")));
    CHECK(absl::IsInvalidArgument(db->RenameTree("", "a")));
    CHECK(absl::IsNotFound(db->OpenTree("old", /*create=*/false).status()));
    REQUIRE_OK(db->Verify());
    REQUIRE_OK(db->Close());
    db = OpenOrFail(path, Logged(durability));
    const absl::StatusOr<Tree> again = db->OpenTree("zz", /*create=*/false);
    REQUIRE_OK(again.status());
    std::string value;
    REQUIRE_OK(db->Get(*again, "b", &value));
    CHECK(db->ListTrees().size() == 151);
    REQUIRE_OK(db->DropTree("zz"));
    CHECK(absl::IsFailedPrecondition(db->Get(*again, "b", &value)));
    REQUIRE_OK(db->Verify());
  }
}

TEST_CASE("Estimates of ranges come near the truth and read few pages") {
  if (kThreadSanitizer) return;  // one user has no races to find
  auto db = OpenInMemory();
  const Tree tree = TreeOrFail(*db, "t");
  CHECK(*db->ApproximateCount(tree) == 0);
  REQUIRE_OK(db->Put(tree, Key(0), "v"));
  CHECK(*db->ApproximateCount(tree) == 1);
  constexpr uint64_t kRecords = 100'000;
  Rng rng(3);
  for (uint64_t i = 0; i < kRecords; i += 1000) {
    WriteBatch batch;  // values of other sizes in other parts of the tree
    for (uint64_t k = i; k < i + 1000; ++k) {
      batch.Put(tree, Key(k * 7919 % kRecords), std::string(10 + rng.Below(150), 'v'));
    }
    REQUIRE_OK(db->Write(batch));
  }
  const auto error = [](uint64_t estimate, uint64_t truth) {
    return std::abs(static_cast<double>(estimate) - static_cast<double>(truth)) /
           static_cast<double>(truth);
  };
  CHECK(error(*db->ApproximateCount(tree), kRecords) < 0.1);
  const uint64_t fixes = db->GetStatistics().fixes;
  for (const uint64_t size : {5u, 500u, 20'000u, 90'000u}) {
    const KeyRange range{.from = Key(7'777), .to = Key(7'777 + size)};
    CHECK(error(*db->ApproximateCount(tree, range), size) < (size < 1000 ? 0.01 : 0.15));
    CHECK(*db->ApproximateBytes(tree, range) > size * 40);
    CHECK(*db->ApproximateBytes(tree, range) < 4096 + size * 400);
  }
  CHECK(db->GetStatistics().fixes - fixes < 12 * 200);
  CHECK(*db->ApproximateCount(tree, {.from = "b", .to = "a"}) == 0);
  const Tree large = TreeOrFail(*db, "large");
  REQUIRE_OK(db->Put(large, "k", std::string(1 << 20, 'v')));
  CHECK(*db->ApproximateBytes(large) > (1 << 20));
  CHECK(*db->ApproximateBytes(large) < (1 << 20) + (1 << 17));
  CHECK(absl::IsInvalidArgument(db->ApproximateCount(Tree()).status()));
}

// Each write of a batch used to wait for its own page, one after the other.
TEST_CASE("A batch of writes larger than the cache reads its pages ahead of the writes") {
  if (kThreadSanitizer) return;  // one user has no races to find
  Options options;
  options.durability = Durability::kNone;
  options.in_memory_device = true;
  options.cache_bytes = 8 << 20;
  auto db = Database::Open("", options);
  REQUIRE_OK(db.status());
  const Tree tree = TreeOrFail(**db, "t");
  constexpr uint64_t kRecords = 200'000;
  WriteBatch batch;
  for (uint64_t i = 0; i < kRecords; ++i) {
    batch.Put(tree, Key(i), std::string(100, 'a'));
    if (batch.size() < 1000) continue;
    REQUIRE_OK((*db)->Write(batch));
    batch.Clear();
  }
  // The first half displaces what the load left in the cache.
  Statistics before;
  Rng rng(4);
  for (int i = 0; i < 40'000; ++i) {
    if (i == 20'000) before = (*db)->GetStatistics();
    const std::string key = Key(rng.Below(kRecords));
    i % 10 == 0 ? batch.Delete(tree, key) : batch.Put(tree, key, std::string(100, 'b'));
    if (batch.size() < 500) continue;
    REQUIRE_OK((*db)->Write(batch));
    batch.Clear();
  }
  const Statistics now = (*db)->GetStatistics();
  const uint64_t ahead = now.ahead_reads - before.ahead_reads;
  CHECK(ahead > 5'000);
  CHECK(now.demand_reads - before.demand_reads < ahead / 2);
  CHECK(now.wasted_reads - before.wasted_reads < ahead / 5);
  REQUIRE_OK((*db)->Verify());
}

// One announcement of resident pages used to make the pool skip the next 63. With one resident page
// among a few announcements, a cache that misses often read almost nothing ahead.
TEST_CASE(
    "Missing pages of announced keys are read ahead, also when the keys before were resident") {
  if (kThreadSanitizer) return;  // one user has no races to find
  Options options;
  options.durability = Durability::kNone;
  options.in_memory_device = true;
  options.cache_bytes = 8 << 20;
  options.techniques.fix = GENERATE("optimistic", "latched");
  auto db = Database::Open("", options);
  REQUIRE_OK(db.status());
  const Tree tree = TreeOrFail(**db, "t");
  constexpr uint64_t kRecords = 150'000;
  for (uint64_t i = 0; i < kRecords; ++i)
    REQUIRE_OK((*db)->Put(tree, Key(i), std::string(100, 'a')));
  REQUIRE_OK((*db)->Checkpoint());  // no read ahead waits until a dirty page is written

  Rng rng(7);
  std::string value;
  const std::string hot = Key(1);
  const Statistics before = (*db)->GetStatistics();
  for (int turn = 0; turn < 200; ++turn) {
    Transaction txn = (*db)->Begin();
    REQUIRE_OK(txn.Get(tree, hot, &value));
    txn.Prefetch(tree, std::vector<std::string_view>{hot});
    std::vector<std::string> keys;
    for (int i = 0; i < 10; ++i) keys.push_back(Key(rng.Below(kRecords)));
    txn.Prefetch(tree, std::vector<std::string_view>(keys.begin(), keys.end()));
    for (const std::string& key : keys) REQUIRE_OK(txn.Get(tree, key, &value));
    REQUIRE_OK(txn.Commit());
  }
  const Statistics now = (*db)->GetStatistics();
  const uint64_t demand = now.demand_reads - before.demand_reads;
  CHECK(now.ahead_reads - before.ahead_reads > 4 * demand);
  CHECK(now.ahead_reads - before.ahead_reads > 500);
}

}  // namespace
}  // namespace latchkey::database_ranges_test
